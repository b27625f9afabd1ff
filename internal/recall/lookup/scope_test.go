package lookup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// projects are two projects with sessions of two agents each.
type projects struct {
	*fixture
	here, there store.Project
	current     store.ConversationID
}

func newProjects(t *testing.T) *projects {
	p := &projects{fixture: newFixture(t), here: store.Project{Root: "/src/here"}, there: store.Project{Root: "/src/there"}}
	in := func(key, agent string, at store.Project, ms ...llms.Message) store.ConversationID {
		c, err := p.db.Open(t.Context(), store.NewConversation{Key: key, Agent: agent, Project: at})
		if err != nil {
			t.Fatal(err)
		}
		p.say(c.ID, ms...)
		return c.ID
	}
	in("claude:1", "claude", p.here, llms.User("which port?"), llms.Assistant("The proxy listens on 8473 now."))
	in("codex:2", "codex", p.here, llms.User("the proxy is slow"), llms.Assistant("The proxy waits for DNS."), llms.User("the proxy again"))
	in("claude:3", "claude", p.there, llms.User("a walrus?"), llms.Assistant("The walrus job moves parcels through the tunnel every night."))
	p.current = in("claude:4", "claude", p.here, llms.User("does the proxy know the walrus, and its tunnel of parcels?"))
	return p
}

func (p *projects) where() recall.Where {
	return recall.Where{Current: p.current, InTurn: true, Projects: []store.Project{p.here}, Widen: true}
}

func TestProjectScope(t *testing.T) {
	p := newProjects(t)
	only := p.where()
	only.Widen = false
	current := p.where()
	current.CurrentOnly = true
	several := only
	several.Also = []store.ConversationID{1, 2}
	outside := recall.Where{Projects: []store.Project{{Root: "/elsewhere"}}, Widen: true}
	for _, c := range []struct {
		what    string
		request recall.GrepRequest
		ids     string
		scope   string // its kind
		widened string // inScope/elsewhere
		mode    store.Mode
	}{
		{"all sessions of the project, without the prompt", recall.GrepRequest{Pattern: "proxy", Where: p.where()},
			"msg_5 msg_4 msg_3 msg_2", recall.ScopeProject, "", store.Regex},
		{"with the prompt", recall.GrepRequest{Pattern: "proxy", Where: p.where(), Everything: true},
			"msg_8 msg_5 msg_4 msg_3 msg_2", recall.ScopeProject, "", store.Regex},
		{"little here, more elsewhere", recall.GrepRequest{Pattern: "walrus", Where: p.where()}, "msg_7 msg_6", recall.ScopeAll, "0/2", store.Regex},
		{"little, and not widened", recall.GrepRequest{Pattern: "walrus", Where: only}, "", recall.ScopeProject, "", store.Regex},
		{"the current conversation alone", recall.GrepRequest{Pattern: "walrus", Where: current}, "", recall.ScopeCurrent, "", store.Regex},
		{"a clearly better match elsewhere", recall.GrepRequest{Pattern: "how does the proxy relate to the walrus tunnel of parcels", Mode: store.FullText, Where: p.where(), Limit: 2},
			"msg_3 msg_5", recall.ScopeProject, "", store.FullText}, // never displaces those of the project
		{"a clearly better match elsewhere, on a page of one", recall.GrepRequest{Pattern: "how does the proxy relate to the walrus tunnel of parcels", Mode: store.FullText, Where: p.where(), Limit: 1},
			"msg_3", recall.ScopeProject, "", store.FullText},
		{"words that stand apart", recall.GrepRequest{Pattern: "proxy dns", OrWords: true, Where: only, Limit: 1}, "msg_4", recall.ScopeProject, "", store.FullText},
		{"words that stand apart, as a regex", recall.GrepRequest{Pattern: "proxy dns", Where: only}, "", recall.ScopeProject, "", store.Regex},
		{"an expression stays one", recall.GrepRequest{Pattern: "proxy.dns", OrWords: true, Where: only}, "", recall.ScopeProject, "", store.Regex},
		{"exact elsewhere before words elsewhere", recall.GrepRequest{Pattern: "walrus job", OrWords: true, Where: p.where()}, "msg_7", recall.ScopeAll, "0/1", store.Regex},
		{"of several current ones, a prompt that was answered", recall.GrepRequest{Pattern: "which port", Where: several}, "msg_1", recall.ScopeProject, "", store.Regex},
		{"of several current ones, a prompt that was not", recall.GrepRequest{Pattern: "the proxy again", Where: several}, "", recall.ScopeProject, "", store.Regex},
		{"outside any project", recall.GrepRequest{Pattern: "listens", Where: outside}, "msg_2", recall.ScopeAll, "", store.Regex},
	} {
		a := p.grep(c.request)
		widened := ""
		if a.Widened != nil {
			widened = fmt.Sprintf("%d/%d", a.Widened.InScope, a.Widened.Elsewhere)
		}
		if ids(a) != c.ids || a.Scope.Kind != c.scope || widened != c.widened || a.Mode != c.mode {
			t.Errorf("%s: %q in %s, widened %q, %s; want %q in %s, %q, %s", c.what, ids(a), a.Scope.Kind, widened, a.Mode, c.ids, c.scope, c.widened, c.mode)
		}
	}
	far := p.grep(recall.GrepRequest{Pattern: "walrus job", Where: p.where()})
	if m := far.Matches[0]; m.Project != "/src/there" || m.Host != "claude" || m.Session() != "session 3 · claude · project /src/there" {
		t.Errorf("a match of another project says %q", m.Session())
	}
	if _, err := p.Describe(t.Context(), recall.DescribeRequest{ID: far.Matches[0].ID, Where: p.where()}); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	if _, err := p.Describe(t.Context(), recall.DescribeRequest{ID: far.Matches[0].ID, Where: only}); err == nil {
		t.Error("it is read although the project was asked for alone")
	}
}

// Matches from elsewhere never push those of the project out, and the cursor
// goes on in the project.
func TestWidenedPages(t *testing.T) {
	p := newProjects(t)
	there, err := p.db.Open(t.Context(), store.NewConversation{Key: "claude:3", Project: p.there})
	if err != nil {
		t.Fatal(err)
	}
	p.say(p.current, llms.Assistant("The relay is green."), llms.Assistant("The relay is blue."), llms.User("go on"))
	for i := range 20 {
		p.say(there.ID, llms.Assistant(fmt.Sprintf("The relay of number %d is red, and it is the relay that counts.", i)))
	}
	for _, mode := range []store.Mode{store.Regex, store.FullText} {
		a := p.grep(recall.GrepRequest{Pattern: "relay", Mode: mode, Where: p.where(), Limit: 10})
		text := a.Text()
		matches := slices.DeleteFunc(slices.Clone(a.Matches), func(m recall.Match) bool { return m.Beside })
		if len(matches) != 10 || !strings.Contains(text, "green") || !strings.Contains(text, "blue") || !strings.Contains(text, "red") {
			t.Errorf("%s: %d matches:\n%s", mode, len(a.Matches), text)
		}
		if want := "2 matches in project here (3 sessions); widened to all conversations: 20 matches elsewhere"; a.Headline() != want {
			t.Errorf("%s: %q, want %q", mode, a.Headline(), want)
		}
	}
	if a := p.grep(recall.GrepRequest{Pattern: "relay", Where: p.where(), Limit: 1}); ids(a) != "msg_10" || a.Elsewhere == nil || a.NextCursor == "" {
		t.Errorf("a page of one: %s, %+v, cursor %q", ids(a), a.Elsewhere, a.NextCursor)
	}
}

// A word that only other conversations have is not guessed from the words of the
// project: "storm" is not "store". A mistyped word is guessed, and the matches of
// the project come first.
func TestGuessesDoNotHideMatchesElsewhere(t *testing.T) {
	p := newProjects(t)
	there, err := p.db.Open(t.Context(), store.NewConversation{Key: "claude:3", Project: p.there})
	if err != nil {
		t.Fatal(err)
	}
	p.say(there.ID, llms.Assistant("The storm raised the alarm."), llms.Assistant("A database of birds."))
	p.say(p.current, llms.Assistant("The store is full."), llms.Assistant("The store again."), llms.Assistant("A store of nails."), llms.Assistant("The database is slow."))
	for pattern, want := range map[string]string{
		"storm":      "msg_9 elsewhere 1 notes []",
		"the alarm?": "msg_9 elsewhere 1 notes []",
		"databse":    "msg_14 msg_10 elsewhere 1 notes [databse: also database]",
	} {
		for _, mode := range []store.Mode{store.FullText, store.Regex} {
			a := p.grep(recall.GrepRequest{Pattern: pattern, Mode: mode, OrWords: true, Where: p.where()})
			a.Notes = slices.DeleteFunc(a.Notes, func(n string) bool { return strings.HasPrefix(n, "no exact match") })
			if a.Widened == nil {
				t.Errorf("%s: not widened: %s", pattern, a.Text())
			} else if got := fmt.Sprintf("%s elsewhere %d notes %v", ids(a), a.Widened.Elsewhere, a.Notes); got != want {
				t.Errorf("%s, %s: got %s, want %s", pattern, mode, got, want)
			}
		}
	}
}

// Words are recognised although an expression could be written like them.
func TestWordsThatLookLikeExpressions(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	f.say(c, llms.Assistant("The test in store.go shows a timeout error. C++ builds are slow: DNS."))
	for _, pattern := range []string{"which error did the test in store.go show?", "C++ build", "(?i)TIMEOUT dns", "server.go DNS", "Timeout?", "Store.go"} {
		if a := f.grep(recall.GrepRequest{Pattern: pattern, OrWords: true, Where: recall.Where{Current: c}}); ids(a) != "msg_1" || a.Mode != store.FullText {
			t.Errorf("%q finds %q in %s", pattern, ids(a), a.Mode)
		}
	}
	if a := f.grep(recall.GrepRequest{Pattern: "DNS", OrWords: true, Where: recall.Where{Current: c}}); len(a.Notes) != 0 {
		t.Errorf("notes %q", a.Notes)
	}
	for _, pattern := range []string{`timeout\.error`, "store|server", "^The.*slow$", "test .* nothing"} {
		if a := f.grep(recall.GrepRequest{Pattern: pattern, OrWords: true, Where: recall.Where{Current: c}}); a.Mode != store.Regex {
			t.Errorf("%q was read as words", pattern)
		}
	}
}

// The answer stands some messages after the words of the question.
func TestFillShowsWhatFollows(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	f.say(c, llms.User("The importer fails on the checksums."))
	for i := range 8 {
		f.say(c, llms.Assistant(fmt.Sprintf("Step %d of looking at it.", i)))
	}
	f.say(c, llms.Assistant("It was the byte order."))
	a := f.grep(recall.GrepRequest{Pattern: "importer", Where: recall.Where{Current: c}, Compact: true, Fill: 500})
	if !strings.Contains(a.Text(), "byte order") || len(a.Matches) != 1 {
		t.Errorf("not shown:\n%s", a.Text())
	}
	short := f.grep(recall.GrepRequest{Pattern: "importer", Where: recall.Where{Current: c}, Compact: true, Fill: 50})
	if n := llms.Estimate.Count(short.Text()); n > 90 || !strings.Contains(short.Text(), "byte order") || strings.Contains(short.Text(), "Step") {
		t.Errorf("%d tokens:\n%s", n, short.Text())
	}
}

// Beside a call that matches stands its output.
func TestFillShowsWhatToolsDid(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	f.say(c, llms.User("how many stations may I ask for?"), llms.Calls("", llms.ToolCall{ID: "2", Name: "Bash", Arguments: `{"command":"curl limits.json"}`}),
		llms.Result("2", "", "up to 50 stations for each request, 5 MB at most", false))
	a := f.grep(recall.GrepRequest{Pattern: "limits", Where: recall.Where{Current: c}, Compact: true, Fill: 170})
	contains(t, "limits", a.Text(), "50 stations")
}

// The matches of a prompt and of what followed it are one result, with the sentences that
// have the words.
func TestAnExchangeIsOneResult(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	filler := strings.Repeat("This sentence is about something else. ", 20)
	f.say(c, llms.User("which codec do the thumbnails have?"),
		llms.Calls("", llms.ToolCall{ID: "1", Name: "Bash", Arguments: `{"command":"identify thumbnails"}`}), llms.Result("1", "", "thumbnails/1: codec webp, 210x210, quality 80, without metadata", false),
		llms.Assistant(filler+"The codec of the thumbnails is webp. "+filler),
		llms.User("then let us look at the invoices"), llms.Assistant("They are stored as PDF."))
	a := f.grep(recall.GrepRequest{Pattern: "codec of the thumbnails", Mode: store.FullText, Where: recall.Where{Current: c}, Compact: true, Fill: 300, Snippet: 120})
	if len(a.Matches) != 1 {
		t.Fatalf("%d results:\n%s", len(a.Matches), a.Text())
	}
	contains(t, "exchange", a.Text(), "which codec do the thumbnails have?", "The codec of the thumbnails is webp.", "codec webp, 210x210")
	if n := llms.Estimate.Count(a.Text()); n > 350 {
		t.Errorf("%d tokens:\n%s", n, a.Text())
	}
}

// A message that a host copied into a forked session is shown once. The same words in
// sessions that have nothing to do with each other are shown each time.
func TestACopyOfAForkIsShownOnce(t *testing.T) {
	f := newFixture(t)
	named := func(id, text string) llms.Message {
		m := llms.User(text)
		m.ID = id
		return m
	}
	at := f.now
	for i := range 5 {
		f.now = at
		f.say(f.open(fmt.Sprint("fork", i)), named("gauges", "the gauges are read every minute"))
		f.now = at // one import gives messages without times the same one
		f.say(f.open(fmt.Sprint("other", i)), llms.User("The zeppelin backup failed."))
		f.now = at.Add(time.Duration(i) * time.Hour)
		f.say(f.open(fmt.Sprint("later", i)), named("1", "the invoices are late"))
	}
	for pattern, want := range map[string]int{"gauges": 1, "zeppelin": 5, "invoices": 5} {
		a := f.grep(recall.GrepRequest{Pattern: pattern, Mode: store.FullText, Where: recall.Where{AllConversations: true}, Compact: true, Fill: 300})
		if len(a.Matches) != want {
			t.Errorf("%s: %d results instead of %d:\n%s", pattern, len(a.Matches), want, a.Text())
		}
	}
}

// All matches of an exchange are shown, also where there is no room beside the best one,
// and those that say the same.
func TestAllMatchesOfAnExchangeAreShown(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	said := []llms.Message{llms.User("please deploy all of the services")}
	for i := range 38 {
		id := fmt.Sprint(i)
		said = append(said, llms.Assistant(fmt.Sprintf("I deploy service number %d. %s", i, strings.Repeat("It takes a while. ", 10))),
			llms.Calls("", llms.ToolCall{ID: id, Name: "Bash", Arguments: `{"command":"make"}`}), llms.Result(id, "", "deploy ok", false))
	}
	f.say(c, said...)
	for _, fill := range []int{1, 1000} {
		r := recall.GrepRequest{Pattern: "deploy", Mode: store.FullText, Limit: 50, Where: recall.Where{Current: c}, Compact: true, Fill: fill}
		shown := map[store.MessageID]bool{}
		for more := true; more; more = r.Cursor != "" {
			a := f.grep(r)
			r.Cursor = a.NextCursor
			for _, m := range a.Matches {
				shown[m.ID.Message] = true
				if m.Context != nil {
					for _, n := range slices.Concat(m.Context.Before, m.Context.After) {
						shown[n.ID] = true
					}
				}
			}
		}
		for i, m := range said {
			if id := store.MessageID(i + 1); !shown[id] && len(m.ToolCalls()) == 0 {
				t.Errorf("fill %d: msg_%d is not shown", fill, id)
			}
		}
	}
}

// A search does not find itself: neither it nor the searches before it in the same
// turn are matches, and the note about records that are left out does not count them.
func TestASearchDoesNotFindItself(t *testing.T) {
	f := newFixture(t)
	c := f.open("turn")
	f.say(c, llms.User("Have we met a zebra?"),
		llms.Calls("I look for the zebra.", llms.ToolCall{ID: "1", Name: "lcm_grep", Arguments: `{"pattern":"zebra"}`}),
		llms.Result("1", "lcm_grep", `{"pattern":"zebra","matches":[]}`, false),
		llms.Calls("", llms.ToolCall{ID: "2", Name: "mcp__lcm__lcm_grep", Arguments: `{"pattern":"zebra"}`}))
	ask := recall.GrepRequest{Pattern: `"pattern":"zebra|for.the.zebra`, Where: recall.Where{Current: c, InTurn: true}}
	for name, at := range map[string]recall.Where{
		"current": ask.Where, "all": {Current: c, InTurn: true, AllConversations: true}, "by number": {Current: c, InTurn: true, ConversationID: c},
	} {
		ask.Where = at
		if a := f.grep(ask); len(a.Matches) != 0 || len(a.Notes) != 0 {
			t.Errorf("%s: found %s, notes %q", name, ids(a), a.Notes)
		}
	}
	// The prompt is left out as well, and is counted: it may be the only place.
	a := f.grep(recall.GrepRequest{Pattern: "met a zebra", Where: recall.Where{Current: c, InTurn: true}})
	contains(t, "the note", strings.Join(a.Notes, "\n"), "1 match among the records that searches leave out")
	// Other calls of the turn are found, and in later turns the text is too.
	f.say(c, llms.Result("2", "mcp__lcm__lcm_grep", "nothing", false),
		llms.Calls("", llms.ToolCall{ID: "3", Name: "shell", Arguments: `{"cmd":"ls zebra"}`}, llms.ToolCall{ID: "4", Name: "lcm_grep", Arguments: `{"pattern":"zebra"}`}))
	ask.Where = recall.Where{Current: c, InTurn: true}
	if got := ids(f.grep(ask)); got != "msg_6" {
		t.Errorf("with another call: found %s", got)
	}
	f.say(c, llms.User("Go on."))
	if got := ids(f.grep(ask)); got != "msg_6 msg_2" {
		t.Errorf("a turn later: found %s", got)
	}
}

// Some models give their calls no ids, or the same ids in each message. The result
// of another tool is found although a call of lcm has its id.
func TestASearchFindsResultsOfOtherToolsWithItsID(t *testing.T) {
	for _, id := range []string{"", "call_0"} {
		f := newFixture(t)
		c := f.open("turn")
		f.say(c, llms.User("What lives here?"),
			llms.Calls("", llms.ToolCall{ID: id, Name: "shell", Arguments: `{"cmd":"ls"}`}),
			llms.Result(id, "shell", "okapi lives here", false),
			llms.Calls("", llms.ToolCall{ID: id, Name: "lcm_grep", Arguments: `{"pattern":"giraffe"}`}))
		if got := ids(f.grep(recall.GrepRequest{Pattern: "okapi", Where: recall.Where{Current: c, InTurn: true}})); got != "msg_3" {
			t.Errorf("calls with the id %q: found %q", id, got)
		}
	}
}

// An anchor that matches no message but a line says how to match lines.
func TestAnchorsOfLines(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	f.say(c, llms.Assistant("#417 one\n#418 Resize\n#419 three"))
	a := f.grep(recall.GrepRequest{Pattern: `^#418 +Resize$`, Where: recall.Where{Current: c}})
	contains(t, "the note", strings.Join(a.Notes, "\n"), "begin the pattern with (?m) for lines")
	if a := f.grep(recall.GrepRequest{Pattern: `(?m)^#418 +Resize$`, Where: recall.Where{Current: c}}); ids(a) != "msg_1" {
		t.Errorf("found %q", ids(a))
	}
}
