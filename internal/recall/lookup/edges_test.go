package lookup_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// runes counts a token for each character.
type runes struct{}

func (runes) Count(text string) int { return utf8.RuneCountInString(text) }

// A page is filled to its last token. A message is begun at the end of a page only if more than a few
// words of it fit, and always if it is the first.
func TestPagesAreFilled(t *testing.T) {
	f := newFixture(t, lookup.WithCounter(runes{}))
	for name, c := range map[string]struct {
		sizes []int
		limit int
		want  string // message:offset+length of each page
	}{
		"just full":         {[]int{68, 32}, 100, "1:0+68 2:0+32"},
		"one too many":      {[]int{69, 32}, 100, "1:0+69|2:0+32"},
		"enough is left":    {[]int{68, 40}, 100, "1:0+68 2:0+32|2:32+8"},
		"too little":        {[]int{69, 40}, 100, "1:0+69|2:0+40"},
		"longer than pages": {[]int{250}, 100, "1:0+100|1:100+100|1:200+50"},
		"full, then empty":  {[]int{100, 0}, 100, "1:0+100|2:0+0"},
		"tiny pages":        {[]int{2, 1}, 1, "1:0+1|1:1+1|2:0+1"},
	} {
		t.Run(name, func(t *testing.T) {
			c0 := f.open(name)
			ids := f.say(c0, messages(len(c.sizes), func(i int) string { return strings.Repeat("x", c.sizes[i]) })...)
			sum := f.fold(c0, 0, len(c.sizes)-1, "summary")
			r := recall.ExpandRequest{SummaryIDs: []store.SummaryID{sum.ID}, TokenCap: c.limit, Where: recall.Where{Current: c0}}
			var pages []string
			for {
				a := f.expand(r)
				var pieces []string
				tokens := 0
				for _, p := range a.Pieces {
					pieces = append(pieces, fmt.Sprintf("%d:%d+%d", p.ID.Message-ids[0]+1, p.Offset, len(p.Text)))
					tokens += p.Tokens
				}
				if a.Tokens != tokens || a.Truncated != (a.NextCursor != "") || (len(a.Notes) > 0) != a.Truncated {
					t.Errorf("%d tokens of %d, %v, %q, %q", a.Tokens, tokens, a.Truncated, a.NextCursor, a.Notes)
				}
				pages = append(pages, strings.Join(pieces, " "))
				if r.Cursor = a.NextCursor; r.Cursor == "" {
					break
				}
			}
			if got := strings.Join(pages, "|"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A page has a bounded number of messages, however short they are.
func TestPagesOfShortMessages(t *testing.T) {
	f := newFixture(t)
	c := f.open("c")
	f.say(c, messages(1001, func(int) string { return "x" })...)
	r := recall.ExpandRequest{SummaryIDs: []store.SummaryID{f.fold(c, 0, 1000, "all").ID}, TokenCap: 1 << 20, Where: recall.Where{Current: c}}
	a := f.expand(r)
	r.Cursor = a.NextCursor
	if b := f.expand(r); len(a.Pieces) != 1000 || len(b.Pieces) != 1 || b.NextCursor != "" {
		t.Errorf("%d and %d messages", len(a.Pieces), len(b.Pieces))
	}
}

// A summary that was reworded between two pages is not continued in the middle of other words.
func TestRewordedBetweenPages(t *testing.T) {
	f := newFixture(t)
	c := f.open("c")
	f.say(c, messages(2, number)...)
	sum := f.fold(c, 0, 1, strings.Repeat("Everything was decided twice. ", 100))
	r := recall.DescribeRequest{ID: idOf(string(sum.ID)), Where: recall.Where{Current: c}, MaxTokens: 100}
	r.Cursor = f.describe(r).NextCursor
	if err := f.db.Update(t.Context(), c, func(w store.Writer) error {
		_, err := w.Reword(t.Context(), sum.ID, store.Wording{Body: strings.Repeat("It was decided otherwise. ", 200), Tokens: 7, Level: sum.Level, Method: sum.Method})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Describe(t.Context(), r); err == nil || !strings.Contains(err.Error(), "reworded") {
		t.Errorf("got %v", err)
	}
}

// Messages and files are opened by their ids, before summaries; one of another conversation is refused, and a
// file that is no text is only named.
func TestExpandIDs(t *testing.T) {
	s := newStory(t)
	s.say(s.b, llms.User(strings.Repeat("\xff\xfe\x00bytes", 700)))
	files, err := s.db.Attached(t.Context(), 9)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file, bytes := idOf(s.file), idOf(string(files[0]))
	a := s.expand(recall.ExpandRequest{IDs: []store.ID{file, idOf("msg_6")}, SummaryIDs: []store.SummaryID{s.leaf.ID}, TokenCap: 1 << 30, Where: s.here()})
	if want := fmt.Sprintf("0:%s 0:msg_6 1:msg_1 1:msg_2", file); shape(a) != want || a.Pieces[0].Type != "file" || !strings.Contains(a.Pieces[0].Text, "marmalade") || a.Pieces[0].ConversationID != s.a {
		t.Errorf("%s, want %s", shape(a), want)
	}
	a = s.expand(recall.ExpandRequest{IDs: []store.ID{bytes, idOf("msg_8")}, Where: recall.Where{Current: s.b}})
	if shape(a) != fmt.Sprintf("0:%s 0:msg_8", bytes) || a.Pieces[0].Text != "" || !a.Pieces[0].Complete || !strings.Contains(strings.Join(a.Notes, " "), "holds no text") {
		t.Errorf("%+v", a)
	}
	for _, id := range []store.ID{idOf("msg_8"), bytes, idOf("msg_99"), idOf("file_0000")} {
		if _, err := s.Expand(t.Context(), recall.ExpandRequest{IDs: []store.ID{id}, Where: s.here()}); err == nil {
			t.Errorf("%s was opened", id)
		}
	}
}

// The scope of a search is the nearest one that the caller named.
func TestScopeOfASearch(t *testing.T) {
	p := newProjects(t)
	for name, c := range map[string]struct {
		where recall.Where
		want  string // the kind and the conversations, or nothing for a refusal
	}{
		"nothing":                     {recall.Where{}, ""},
		"no such conversation":        {recall.Where{ConversationID: -1, AllConversations: true}, ""},
		"outside any project":         {recall.Where{Widen: true}, "all []"},
		"there is no current one":     {recall.Where{Widen: true, CurrentOnly: true}, ""},
		"the current one of projects": {recall.Where{Current: 1, Projects: []store.Project{p.here}, CurrentOnly: true}, "current [1]"},
		"the current one":             {recall.Where{Current: 1, Widen: true}, "current [1]"},
		"the project":                 {recall.Where{Current: 1, Projects: []store.Project{p.here}}, "project [1 2 4]"},
		"the session was moved":       {recall.Where{Current: 1, Projects: []store.Project{p.there}}, "project [1 3]"},
		"only the session is known":   {recall.Where{Current: 1, Projects: []store.Project{{Root: "/new"}}}, "project [1]"},
		"an unknown project":          {recall.Where{Projects: []store.Project{{Root: "/new"}}}, ""},
		"several projects":            {recall.Where{Projects: []store.Project{p.here, p.there}, AllConversations: false}, "project [1 2 3 4]"},
		"not stored yet":              {recall.Where{Unstored: true}, "current [0]"},
		"not stored, and all":         {recall.Where{Unstored: true, AllConversations: true}, "all []"},
	} {
		a, err := p.Grep(t.Context(), recall.GrepRequest{Pattern: "proxy", Where: c.where})
		got := ""
		if err == nil {
			if a.Widened != nil {
				a.Scope = a.Widened.Home
			}
			got = fmt.Sprintf("%s %v", a.Scope.Kind, a.Scope.ConversationIDs)
		}
		if got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if name == "only the session is known" && a.Scope.Project != "/new" {
			t.Errorf("%s: the project is %q", name, a.Scope.Project)
		}
	}
}

// The prompt that asks is no answer, however much the agent has done since. One with a file stays, and so does
// the prompt of a conversation that is named.
func TestThePromptIsNoAnswer(t *testing.T) {
	f := newFixture(t)
	long, with := f.open("long"), f.open("with")
	f.say(long, llms.User("where is the walrus?"))
	steps := make([]llms.Message, 70)
	for i := range steps {
		steps[i] = llms.Assistant(fmt.Sprint("step ", i))
	}
	f.say(long, steps...)
	f.say(with, llms.User("where is the walrus?\n"+strings.Repeat("a line of a file\n", 700)))
	for name, c := range map[string]struct {
		where recall.Where
		want  int
	}{
		"far back":    {recall.Where{Current: long, InTurn: true}, 0},
		"not in turn": {recall.Where{Current: long}, 1},
		"named":       {recall.Where{ConversationID: long, Current: long, InTurn: true}, 1},
		"with a file": {recall.Where{Current: with, InTurn: true}, 1},
	} {
		a := f.grep(recall.GrepRequest{Pattern: "walrus", Where: c.where})
		if len(a.Matches) != c.want {
			t.Errorf("%s: %s", name, ids(a))
		}
		if says := strings.Contains(strings.Join(a.Notes, " "), "everything: true finds it"); says != (c.want == 0) {
			t.Errorf("%s: notes %q", name, a.Notes)
		}
	}
}

// Three matches are enough: other conversations are searched if there are fewer.
func TestWidenedIfThereIsLittle(t *testing.T) {
	p := newProjects(t)
	for n := 1; n <= 4; n++ {
		p.say(p.current, llms.Assistant(fmt.Sprintf("Parcels of number %d.", n)), llms.User("go on"))
		a := p.grep(recall.GrepRequest{Pattern: "(?i)parcels of|parcels through", Where: p.where()})
		if (a.Widened != nil) != (n < 3) || a.Total != n {
			t.Errorf("%d matches: widened %+v, total %d", n, a.Widened, a.Total)
		}
	}
}

// A summary that is not what was written is named to who reads a message beneath it, or a summary beside it.
func TestDamagedSummariesAreNamed(t *testing.T) {
	f := newFixture(t)
	c, left, _, top := deep(f)
	f.sql("UPDATE summaries SET body = 'one to nine' WHERE id = '" + string(left.ID) + "'")
	for id, want := range map[string]string{
		"msg_1": "a summary above it is not what was written", string(top.ID): "a source is not what was written", "msg_5": "",
	} {
		a := f.describe(recall.DescribeRequest{ID: idOf(id), Where: recall.Where{Current: c}})
		notes := strings.Join(a.Notes, " ")
		if a.Damaged != (want != "") || want != "" && !strings.Contains(notes, want) {
			t.Errorf("%s: damaged %v, %q", id, a.Damaged, notes)
		}
	}
	f.sql("UPDATE summaries SET body = 'all' WHERE id = '" + string(top.ID) + "'")
	a := f.describe(recall.DescribeRequest{ID: idOf("msg_4"), Where: recall.Where{Current: c}})
	if diff := cmp.Diff([]store.SummaryID{top.ID}, a.CoveringIDs); diff != "" || !a.Damaged {
		t.Errorf("damaged %v, %s", a.Damaged, diff)
	}
}

// A session that was pushed to a team's server says whose it is.
func TestDescribeNamesTheMachine(t *testing.T) {
	f := newFixture(t)
	for agent, want := range map[string]string{"claude@bob@laptop": "from a session of claude@bob@laptop", "claude": ""} {
		c, err := f.db.Open(t.Context(), store.NewConversation{Key: agent, Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		id := f.say(c.ID, llms.User("x"))[0]
		a := f.describe(recall.DescribeRequest{ID: store.ID{Message: id}, Where: recall.Where{Current: c.ID}})
		if got := strings.Join(a.Notes, " "); got != want {
			t.Errorf("%s: %q", agent, got)
		}
	}
}

// A role narrows a search to messages, and says so if summaries were asked for too.
func TestRolesAreOfMessages(t *testing.T) {
	s := newStory(t)
	for kinds, noted := range map[string]bool{"": true, recall.InBoth: true, recall.InMessages: false} {
		a := s.grep(recall.GrepRequest{Pattern: "deployment", Kinds: kinds, Role: llms.RoleUser, Where: recall.Where{ConversationID: s.a}})
		if ids(a) != "msg_6 msg_1" && ids(a) != "msg_1 msg_6" || strings.Contains(strings.Join(a.Notes, " "), "summaries were not searched") != noted {
			t.Errorf("%q: %s, %v", kinds, ids(a), a.Notes)
		}
	}
	if _, err := s.Grep(t.Context(), recall.GrepRequest{Pattern: "x", Kinds: recall.InSummaries, Role: llms.RoleUser}); err == nil {
		t.Error("summaries of a role are searched for")
	}
}
