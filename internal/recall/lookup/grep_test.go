package lookup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

func TestGrepParameters(t *testing.T) {
	s := newStory(t)
	leaf := string(s.leaf.ID)
	for _, c := range []struct {
		what string
		r    recall.GrepRequest
		ids  string
	}{
		{"a pattern, newest first, both kinds", recall.GrepRequest{Pattern: "deployment", Where: s.here()}, "msg_6 msg_5 " + leaf + " msg_1"},
		{"explicitly", recall.GrepRequest{Pattern: "deployment", Mode: "regex", Kinds: "both", Sort: "recency", Limit: 50, Where: s.here()}, "msg_6 msg_5 " + leaf + " msg_1"},
		{"messages", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Where: s.here()}, "msg_6 msg_5 msg_1"},
		{"summaries", recall.GrepRequest{Pattern: "deployment", Kinds: "summaries", Where: s.here()}, leaf},
		{"a payload belongs to its message", recall.GrepRequest{Pattern: "marm.lade", Where: s.here()}, "msg_4"},
		{"case flags", recall.GrepRequest{Pattern: "(?i)tls_cert", Where: s.here()}, "msg_3"},
		{"tool arguments", recall.GrepRequest{Pattern: `make \w+_staging`, Where: s.here()}, "msg_2"},
		{"reasoning", recall.GrepRequest{Pattern: "certificate moved", Where: s.here()}, "msg_5"},
		{"another script", recall.GrepRequest{Pattern: "配置", Where: s.here()}, "msg_1"},
		{"one conversation", recall.GrepRequest{Pattern: "friday", Where: recall.Where{ConversationID: s.b}}, "msg_7"},
		{"one conversation wins over all", recall.GrepRequest{Pattern: "friday", Where: recall.Where{ConversationID: s.b, AllConversations: true, Current: s.a}}, "msg_7"},
		{"all conversations win over the current one", recall.GrepRequest{Pattern: "friday", Where: recall.Where{AllConversations: true, Current: s.a}}, "msg_7 msg_6"},
		{"a time without seconds, with a zone", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Since: "2026-02-18 10:05+01:00", Where: s.here()}, "msg_6"},
		{"since is inclusive", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Since: "2026-02-18T09:05:00Z", Where: s.here()}, "msg_6"},
		{"before is exclusive", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Before: "2026-02-18T09:05:00Z", Where: s.here()}, "msg_5 msg_1"},
		{"another zone", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Since: "2026-02-18T10:05:00+01:00", Where: s.here()}, "msg_6"},
		{"a day", recall.GrepRequest{Pattern: "deployment", Kinds: "messages", Since: "2026-02-18", Before: "2026-02-19", Where: s.here()}, "msg_6 msg_5 msg_1"},
		{"a role", recall.GrepRequest{Pattern: "deploy", Role: "assistant", Where: s.here()}, "msg_5 msg_2"},
		{"a tool", recall.GrepRequest{Pattern: "e", Tool: "shell", Where: s.here()}, "msg_3 msg_2"},
		{"a limit over both kinds", recall.GrepRequest{Pattern: "deployment", Limit: 3, Where: s.here()}, "msg_6 msg_5 " + leaf},
		{"words", recall.GrepRequest{Pattern: "postponed", Mode: "full_text", Where: s.here()}, "msg_6"},
		{"words by recency", recall.GrepRequest{Pattern: "+deployment", Mode: "full_text", Sort: "recency", Kinds: "messages", Where: s.here()}, "msg_6 msg_5 msg_1"},
		{"part of an identifier", recall.GrepRequest{Pattern: "cert", Mode: "full_text", Kinds: "messages", Where: recall.Where{ConversationID: s.a}}, "msg_3"},
		{"a question of stop words alone", recall.GrepRequest{Pattern: "why does the", Mode: "full_text", Kinds: "messages", Where: s.here(), Limit: 1}, "msg_1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.ids, ids(s.grep(c.r))); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrepAnswersInTheSeedsWords(t *testing.T) {
	s := newStory(t)
	b, err := json.Marshal(s.grep(recall.GrepRequest{Pattern: "Why|Somebody|marmalade", Where: s.here()}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Matches []map[string]any }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"id": "msg_4", "type": "message", "conversationId": 1.0, "createdAt": "2026-02-18T09:03:00Z", "role": "user", "truncated": true, "fileIds": []any{s.file}},
		{"id": string(s.leaf.ID), "type": "summary", "conversationId": 1.0, "createdAt": "2026-02-18T09:08:00Z", "depth": 0.0, "kind": "leaf",
			"summaryId": string(s.leaf.ID), "earliestAt": "2026-02-18T09:00:00Z", "latestAt": "2026-02-18T09:01:00Z",
			"snippet": "Somebody asked why the deployment fails.\nExpand for details about: the command", "matchRanges": []any{[]any{0.0, 8.0}}},
		{"id": "msg_1", "type": "message", "conversationId": 1.0, "createdAt": "2026-02-18T09:00:00Z", "role": "user", "coveredBy": string(s.leaf.ID),
			"snippet": "Why does the deployment fail? 配置文件 is missing", "matchRanges": []any{[]any{0.0, 3.0}}},
	}
	delete(got.Matches[0], "snippet")
	delete(got.Matches[0], "matchRanges")
	if diff := cmp.Diff(want, got.Matches); diff != "" {
		t.Errorf("matches (-want +got):\n%s", diff)
	}
}

func TestGrepDefaults(t *testing.T) {
	s := newStory(t)
	a := s.grep(recall.GrepRequest{Pattern: "deployment", Where: s.here()})
	want := recall.GrepAnswer{
		Matches: a.Matches, Pattern: "deployment", Mode: "regex", Sort: "recency", Kinds: "both", Tier: "index", Total: 4, InSummaries: 1,
		Scope: recall.Scope{Kind: "current", ConversationIDs: []store.ConversationID{s.a}},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.grep(recall.GrepRequest{Pattern: "deployment", Mode: "full_text", Where: s.here()}).Sort; got != "relevance" {
		t.Errorf("words are sorted by %s", got)
	}
	if got := s.grep(recall.GrepRequest{Pattern: "[0-9]", Where: s.here()}).Tier; got != "scan" {
		t.Errorf("a pattern with nothing to look up was answered by %s", got)
	}
	c := s.open("many")
	s.say(c, messages(70, number)...)
	a = s.grep(recall.GrepRequest{Pattern: "number", Where: recall.Where{Current: c}})
	if len(a.Matches) != 50 || a.Total != 70 || a.NextCursor == "" {
		t.Errorf("%d matches of %d, cursor %q; want 50 of 70 and a cursor", len(a.Matches), a.Total, a.NextCursor)
	}
}

func TestGrepLooksInTheWholeFamily(t *testing.T) {
	f := newFixture(t)
	old := f.open("session")
	f.say(old, llms.User("the heron was first"))
	if err := f.db.Archive(t.Context(), old, "reset"); err != nil {
		t.Fatal(err)
	}
	c := f.open("session")
	f.say(c, llms.User("the heron came back"))
	other := f.open("other")
	f.say(other, llms.User("another heron"))
	fork, err := f.db.Fork(t.Context(), c, 2, store.NewConversation{Key: "fork"})
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[store.ConversationID]string{c: "msg_2 msg_1", old: "msg_2 msg_1", other: "msg_3", fork.ID: "msg_2 msg_1"} {
		if got := ids(f.grep(recall.GrepRequest{Pattern: "heron", Where: recall.Where{Current: where}})); got != want {
			t.Errorf("in conversation %d: found %s, want %s", where, got, want)
		}
	}
}

// With summaryId only the messages beneath that summary are searched, at any depth.
func TestGrepBeneathASummary(t *testing.T) {
	f := newFixture(t)
	c := f.open("session")
	f.say(c, messages(8, func(i int) string { return fmt.Sprintf("heron number %d of the lake", i+1) })...)
	leaf := f.fold(c, 1, 2, "Two herons.")
	f.fold(c, 2, 3, "Two more herons.")
	top := f.fold(c, 1, 2, "Four herons.")
	fork, err := f.db.Fork(t.Context(), c, 8, store.NewConversation{Key: "fork"})
	if err != nil {
		t.Fatal(err)
	}
	own := f.fold(fork.ID, 2, 3, "Herons of the fork.")
	for _, test := range []struct {
		beneath store.SummaryID
		mode    store.Mode
		where   recall.Where
		want    string
	}{
		{leaf.ID, store.Regex, recall.Where{Current: c}, "msg_3 msg_2"},
		{top.ID, store.Regex, recall.Where{AllConversations: true}, "msg_5 msg_4 msg_3 msg_2"},
		{top.ID, store.FullText, recall.Where{ConversationID: c}, "msg_2 msg_3 msg_4 msg_5"},
		{own.ID, store.Regex, recall.Where{Current: fork.ID}, "msg_7 msg_6"},
	} {
		a := f.grep(recall.GrepRequest{Pattern: "heron", Mode: test.mode, SummaryID: test.beneath, Where: test.where})
		got := strings.Fields(ids(a))
		if test.mode == store.FullText {
			slices.Sort(got)
		}
		if strings.Join(got, " ") != test.want || a.Total != len(got) {
			t.Errorf("beneath %s: %v of %d, want %s", test.beneath, got, a.Total, test.want)
		}
	}
	for _, r := range []recall.GrepRequest{
		{Pattern: "heron", SummaryID: leaf.ID, Where: recall.Where{Current: f.open("other")}},
		{Pattern: "heron", SummaryID: "sum_ffffffffffffffff", Where: recall.Where{Current: c}},
	} {
		if _, err := f.Grep(t.Context(), r); !errors.Is(err, recall.ErrRefused) {
			t.Errorf("%s: %v", r.SummaryID, err)
		}
	}
}

func TestGrepRefuses(t *testing.T) {
	s := newStory(t)
	for _, c := range []struct {
		what string
		r    recall.GrepRequest
		says []string
	}{
		{"nothing", recall.GrepRequest{Pattern: " ", Where: s.here()}, []string{"empty"}},
		{"an invalid regex", recall.GrepRequest{Pattern: "ab(c", Where: s.here()}, []string{"invalid pattern", "at byte 0", "missing closing )", "full_text"}},
		{"a bad repetition", recall.GrepRequest{Pattern: "abc**", Where: s.here()}, []string{"at byte 3", "**"}},
		{"a huge pattern", recall.GrepRequest{Pattern: strings.Repeat("x", 1<<20), Where: s.here()}, []string{"1048576", "limit"}},
		{"a huge question", recall.GrepRequest{Pattern: strings.Repeat("word ", 1<<18), Mode: "full_text", Where: s.here()}, []string{"limit"}},
		{"no words", recall.GrepRequest{Pattern: "?!", Mode: "full_text", Where: s.here()}, []string{"no words"}},
		{"only what must not be", recall.GrepRequest{Pattern: "-word", Mode: "full_text", Where: s.here()}, []string{"no words"}},
		{"a mode", recall.GrepRequest{Pattern: "x", Mode: "fuzzy", Where: s.here()}, []string{"fuzzy", "regex or full_text"}},
		{"a scope", recall.GrepRequest{Pattern: "x", Kinds: "world", Where: s.here()}, []string{"world", "messages, summaries or both"}},
		{"a sort", recall.GrepRequest{Pattern: "x", Sort: "size", Where: s.here()}, []string{"size", "recency or relevance"}},
		{"a role", recall.GrepRequest{Pattern: "x", Role: "narrator", Where: s.here()}, []string{"narrator", "user, assistant, system or tool"}},
		{"too many", recall.GrepRequest{Pattern: "x", Limit: 201, Where: s.here()}, []string{"201", "from 1 to 200"}},
		{"too few", recall.GrepRequest{Pattern: "x", Limit: -1, Where: s.here()}, []string{"-1", "from 1 to 200"}},
		{"too much context", recall.GrepRequest{Pattern: "x", Context: 21, Where: s.here()}, []string{"from 0 to 20"}},
		{"a time", recall.GrepRequest{Pattern: "x", Since: "the day before", Where: s.here()}, []string{"since", "the day before", "2026-02-19T00:00:00Z"}},
		{"a day that is not", recall.GrepRequest{Pattern: "x", Before: "2026-02-30", Where: s.here()}, []string{"before", "2026-02-30"}},
		{"since after before", recall.GrepRequest{Pattern: "x", Since: "2026-03-01", Before: "2026-02-01", Where: s.here()}, []string{"2026-03-01", "2026-02-01", "earlier"}},
		{"since equal before", recall.GrepRequest{Pattern: "x", Since: "2026-03-01", Before: "2026-03-01", Where: s.here()}, []string{"nothing can match"}},
		{"the role of a summary", recall.GrepRequest{Pattern: "x", Kinds: "summaries", Role: "user", Where: s.here()}, []string{"summary"}},
		{"nowhere", recall.GrepRequest{Pattern: "x"}, []string{"current", "conversationId", "allConversations: true"}},
		{"no such conversation", recall.GrepRequest{Pattern: "x", Where: recall.Where{ConversationID: 99}}, []string{"99", "not found"}},
		{"a damaged cursor", recall.GrepRequest{Pattern: "x", Cursor: "?!", Where: s.here()}, []string{"cursor", "nextCursor"}},
		{"a cursor that is not one", recall.GrepRequest{Pattern: "x", Cursor: "e30", Where: s.here()}, []string{"cursor"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := s.Grep(t.Context(), c.r)
			var refused *hint.Error
			if !errors.As(err, &refused) || !errors.Is(err, recall.ErrRefused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			contains(t, "the error", err.Error(), c.says...)
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestGrepSaysWhatAWiderSearchWouldFind(t *testing.T) {
	s := newStory(t)
	a := s.grep(recall.GrepRequest{Pattern: "zeppelins", Where: s.here()})
	want := &recall.Elsewhere{Hits: 1, How: "ask again with allConversations: true"}
	if diff := cmp.Diff(want, a.Elsewhere); diff != "" || len(a.Matches) != 0 {
		t.Errorf("%d matches, elsewhere (-want +got):\n%s", len(a.Matches), diff)
	}
	if a := s.grep(recall.GrepRequest{Pattern: "nowhere at all", Where: s.here()}); a.Elsewhere != nil {
		t.Errorf("elsewhere %+v", a.Elsewhere)
	} else {
		contains(t, "the note", strings.Join(a.Notes, "\n"), "full_text")
	}
}

func TestGrepShowsNeighbours(t *testing.T) {
	s := newStory(t)
	a := s.grep(recall.GrepRequest{Pattern: "TLS_CERT", Context: 2, Where: s.here()})
	var got []string
	for _, n := range append(a.Matches[0].Context.Before, a.Matches[0].Context.After...) {
		got = append(got, n.ID.String())
	}
	if diff := cmp.Diff([]string{"msg_1", "msg_2", "msg_4", "msg_5"}, got); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
}

func TestGrepLeavesItsOwnEchoOut(t *testing.T) {
	f := newFixture(t)
	c := f.open("echo")
	f.say(c, llms.User("where is the walrus?"), llms.Calls("", llms.ToolCall{ID: "1", Name: "lcm_grep", Arguments: "{}"}), llms.Result("1", "lcm_grep", "the walrus was found", false))
	where := recall.Where{Current: c}
	if got := ids(f.grep(recall.GrepRequest{Pattern: "walrus", Where: where})); got != "msg_1" {
		t.Errorf("found %s", got)
	}
	if got := ids(f.grep(recall.GrepRequest{Pattern: "walrus", Everything: true, Where: where})); got != "msg_3 msg_1" {
		t.Errorf("with echo: found %s", got)
	}
}

func TestGrepSnippets(t *testing.T) {
	f := newFixture(t)
	c := f.open("snippets")
	f.say(c,
		llms.User(strings.Repeat("漢字 ", 200)+"NEEDLE and NEEDLE"+strings.Repeat(" かな", 200)),
		llms.User("start STRAW"+strings.Repeat(" x", 300)),
		llms.User("bad \xff\xfe bytes around HAY\xff end"),
		llms.User(strings.Repeat("y", 1000)+"\n"),
	)
	for _, c2 := range []struct {
		pattern, mode string
		marked        []string
	}{
		{"NEEDLE", "regex", []string{"«NEEDLE» and «NEEDLE»"}},
		{"needle", "full_text", []string{"«NEEDLE» and «NEEDLE»"}},
		{"STRAW", "regex", []string{"start «STRAW» x"}},
		{"HAY", "regex", []string{"bad \ufffd\ufffd bytes around «HAY»\ufffd end"}},
		{"y{1000}", "regex", []string{"«yyyy", "y»"}},
		{`\n$`, "regex", []string{"y«\n»"}},
	} {
		a := f.grep(recall.GrepRequest{Pattern: c2.pattern, Mode: store.Mode(c2.mode), Where: recall.Where{Current: c}})
		if len(a.Matches) == 0 {
			t.Errorf("%s: nothing found", c2.pattern)
			continue
		}
		m := a.Matches[0]
		contains(t, c2.pattern, m.Mark("«", "»", nil), c2.marked...)
		if n := utf8.RuneCountInString(m.Snippet); n > 320 || !utf8.ValidString(m.Snippet) {
			t.Errorf("%s: the snippet has %d characters, valid: %t", c2.pattern, n, utf8.ValidString(m.Snippet))
		}
	}
}

func TestGrepHonoursTheDeadline(t *testing.T) {
	f := newFixture(t)
	c := f.open("slow")
	f.say(c, messages(3000, number)...)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, mode := range []store.Mode{store.Regex, store.FullText} {
		a, err := f.Grep(ctx, recall.GrepRequest{Pattern: "number", Mode: mode, Where: recall.Where{AllConversations: true}})
		if err == nil && !a.Unfinished || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %+v, %v", mode, a, err)
		}
	}
}

// A match longer than any snippet is marked to the end of the snippet, and the
// files that it reaches into are named.
func TestLongMatchIsMarked(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	f.say(c, llms.User("first ALPHA "+strings.Repeat("x ", 100)+strings.Repeat("y", 20_000)+" OMEGA"))
	for _, pattern := range []string{`(?s)ALPHA.*OMEGA`, `ALPHA [xy ]+ O`} {
		a := f.grep(recall.GrepRequest{Pattern: pattern, Where: recall.Where{Current: c}})
		if len(a.Matches) != 1 {
			t.Fatalf("%s: %+v", pattern, a.Matches)
		}
		m := a.Matches[0]
		if want := [][2]int{{strings.Index(m.Snippet, "ALPHA"), utf8.RuneCountInString(m.Snippet)}}; !cmp.Equal(want, m.MatchRanges) || want[0][0] < 0 {
			t.Errorf("%s: marked %v of %q, want %v", pattern, m.MatchRanges, m.Snippet, want)
		}
	}
}

// A match that begins in a message's own words and ends in its payload names
// the file, though the snippet ends before it.
func TestMatchIntoAFile(t *testing.T) {
	s := newStory(t)
	a := s.grep(recall.GrepRequest{Pattern: `(?s)\A.*marmalade is here`, Kinds: recall.InMessages, Where: s.here()})
	for _, m := range a.Matches {
		if m.ID.String() == "msg_4" && cmp.Equal(texts(m.FileIDs), []string{s.file}) && len(m.MatchRanges) > 0 {
			return
		}
	}
	t.Errorf("msg_4 does not name %s: %+v", s.file, a.Matches)
}

// A snippet begins and ends between words, is a piece of the text, keeps its matches,
// and says at which end it was cut.
func TestSnippetsAreCutBetweenWords(t *testing.T) {
	f := newFixture(t)
	c := f.open("words")
	words := strings.Repeat("several quite ordinary words ", 30)
	text := "First " + words + "the otter swims " + words + "last"
	dense := strings.Repeat("a1", 60) + "otter" + strings.Repeat("b2", 60) // no place to cut
	f.say(c, llms.User(text), llms.User(dense))
	for _, r := range []recall.GrepRequest{
		{Pattern: "otter", Mode: store.Regex}, {Pattern: "otter swims", Mode: store.FullText}, {Pattern: `(?s)^.*`, Mode: store.Regex}, {Pattern: `swims (?s:.*)$`, Mode: store.Regex},
	} {
		for runes := 40; runes < 80; runes++ {
			r.Where, r.Snippet = recall.Where{Current: c}, runes
			for _, m := range f.grep(r).Matches {
				if m.Beside {
					continue
				}
				whole := text
				if m.ID.String() == "msg_2" {
					whole = dense
				}
				at := strings.Index(whole, m.Snippet)
				if at < 0 || len(m.MatchRanges) == 0 {
					t.Fatalf("%s, %d: %q is not in the text, or nothing is marked", r.Pattern, runes, m.Snippet)
				}
				if m.CutBefore != !strings.HasPrefix(whole, m.Snippet) || m.CutAfter != !strings.HasSuffix(whole, m.Snippet) {
					t.Errorf("%s, %d: %q: cut before %t, after %t", r.Pattern, runes, m.Snippet, m.CutBefore, m.CutAfter)
				}
				marked := m.MatchRanges[len(m.MatchRanges)-1][1] == len(m.Snippet) // the match goes on
				if m.ID.String() == "msg_1" && !marked && !strings.Contains(" "+text+" ", " "+m.Snippet+" ") {
					t.Errorf("%s, %d: %q cuts a word", r.Pattern, runes, m.Snippet)
				}
			}
		}
	}
}

// searches counts the searches of a store.
type searches struct {
	store.Store
	n int
}

func (s *searches) Search(ctx context.Context, q store.Search) (store.Found, error) {
	s.n++
	return s.Store.Search(ctx, q)
}

// A pattern with few matches is searched for once in each lane: a second search in any
// case decoded every candidate, and took twice as long as the first.
func TestFewMatchesAreSearchedForOnce(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	f.say(c, llms.User("read the internal queue"), llms.Assistant("Read the internal queue again"))
	counted := &searches{Store: f.db}
	service, err := lookup.New(counted)
	if err != nil {
		t.Fatal(err)
	}
	a, err := service.Grep(t.Context(), recall.GrepRequest{Pattern: "read the internal", Mode: store.Regex, OrWords: true, Where: recall.Where{AllConversations: true}})
	if err != nil || ids(a) != "msg_1" || counted.n != 2 {
		t.Errorf("found %q in %d searches, %v", ids(a), counted.n, err)
	}
}
