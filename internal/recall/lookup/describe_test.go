package lookup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

func (f *fixture) describe(r recall.DescribeRequest) recall.DescribeAnswer {
	f.t.Helper()
	a, err := f.Describe(f.t.Context(), r)
	if err != nil {
		f.t.Fatalf("describe %+v: %v", r, err)
	}
	return a
}

// fields returns an answer as an agent reads it.
func fields(t testing.TB, a any) map[string]any {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDescribeSummaryInTheSeedsWords(t *testing.T) {
	f := newFixture(t)
	c, left, right, top := deep(f)
	above := f.fold(c, 0, 1, "one to eight")
	got := fields(t, f.describe(recall.DescribeRequest{ID: idOf(string(top.ID)), Where: recall.Where{Current: c}}))
	want := map[string]any{
		"id": string(top.ID), "type": "summary", "conversationId": 1.0, "content": "one to seven", "byteSize": 12.0,
		"depth": 1.0, "kind": "condensed", "tokenCount": 7.0, "createdAt": "2026-02-18T09:12:00Z",
		"earliestAt": "2026-02-18T09:00:00Z", "latestAt": "2026-02-18T09:06:00Z", "descendantCount": 2.0, "messageCount": 7.0,
		"parentIds": []any{string(left.ID), string(right.ID)}, "childIds": []any{string(above.ID)}, "sourceMessageIds": []any{"msg_4"},
		"sourceTokens": float64(top.SourceTokens), "messageTokens": float64(top.MessageTokens), "level": "normal", "method": "extractive",
		"scope": map[string]any{"kind": "current", "conversationIds": []any{1.0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"msg_1", "msg_2", "msg_3"}, texts(f.describe(recall.DescribeRequest{ID: idOf(string(left.ID)), Where: recall.Where{Current: c}}).SourceMessageIDs)); diff != "" {
		t.Errorf("the messages of a leaf (-want +got):\n%s", diff)
	}
}

func TestDescribeFileInTheSeedsWords(t *testing.T) {
	s := newStory(t)
	got := fields(t, s.describe(recall.DescribeRequest{ID: idOf(s.file), Where: s.here()}))
	content, _ := got["content"].(string)
	if !strings.Contains(content, "the marmalade is here\n") || float64(len(content)) != got["byteSize"] {
		t.Errorf("content of %d bytes, byteSize %v", len(content), got["byteSize"])
	}
	for _, key := range []string{"fileName", "mimeType", "byteSize", "explorationSummary", "storagePath", "sha256", "tokenCount", "messageIds", "createdAt"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
	if got["storagePath"] != "lcm://file/"+s.file || got["type"] != "file" {
		t.Errorf("storagePath %v, type %v", got["storagePath"], got["type"])
	}
}

// However content is bounded, its pages add up to it.
func TestContentPages(t *testing.T) {
	f := newFixture(t)
	c := f.open("content")
	texts := []string{
		strings.Repeat("漢字かな 🧵 and some words\n", 300), strings.Repeat("plain lines of text\n", 400), "short", "",
		strings.Repeat("\xff\xfe\x00bytes", 700),
	}
	of := map[string]string{}
	for i, text := range texts {
		f.say(c, llms.User(text))
		attached, err := f.db.Attached(t.Context(), store.MessageID(i+1))
		if err != nil {
			t.Fatal(err)
		}
		of[fmt.Sprintf("msg_%d", i+1)] = text
		for _, p := range attached {
			of[string(p)] = text
		}
	}
	all := slices.Sorted(maps.Keys(of))
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.SampledFrom(all).Draw(rt, "id")
		r := recall.DescribeRequest{ID: idOf(id), Where: recall.Where{Current: c}, MaxTokens: rapid.IntRange(100, 4000).Draw(rt, "tokens")}
		got := ""
		for {
			a, err := f.Describe(t.Context(), r)
			if err != nil {
				rt.Fatal(err)
			}
			if int(a.Offset) != len(got) || llms.Estimate.Count(a.Content) > r.MaxTokens {
				rt.Fatalf("a page of %d bytes at %d, %d came before", len(a.Content), a.Offset, len(got))
			}
			got += a.Content
			if r.Cursor = a.NextCursor; r.Cursor == "" {
				break
			}
		}
		if got != of[id] {
			rt.Fatalf("the pages of %s hold %d bytes of %d", id, len(got), len(of[id]))
		}
	})
}

func TestDescribeMessage(t *testing.T) {
	s := newStory(t)
	got := fields(t, s.describe(recall.DescribeRequest{ID: idOf("msg_2"), Where: s.here()}))
	record, err := s.db.Record(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "msg_2", "type": "message", "conversationId": 1.0, "createdAt": "2026-02-18T09:01:00Z", "role": "assistant", "seq": 2.0, "format": "lcm",
		"content": "I look at it.\n→ shell({\"cmd\":\"make deploy_staging\"})", "contentSize": 54.0, "byteSize": float64(len(record)),
		"sha256": got["sha256"], "tokenCount": got["tokenCount"], "storedAt": "2026-02-18T09:06:00Z",
		"previous":    map[string]any{"id": "msg_1", "role": "user", "createdAt": "2026-02-18T09:00:00Z", "snippet": "Why does the deployment fail? 配置文件 is missing"},
		"next":        map[string]any{"id": "msg_3", "role": "tool", "createdAt": "2026-02-18T09:02:00Z", "snippet": "← error: exit status 2: missing TLS_CERT_PATH"},
		"coveringIds": []any{string(s.leaf.ID)},
		"scope":       map[string]any{"kind": "current", "conversationIds": []any{1.0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := s.describe(recall.DescribeRequest{ID: idOf("msg_4"), Where: s.here()}); !strings.Contains(a.Content, "marmalade") || len(a.FileIDs) != 1 {
		t.Errorf("a message with a file: %d bytes, files %v", len(a.Content), a.FileIDs)
	}
}

func TestDescribeRefuses(t *testing.T) {
	s := newStory(t)
	there := recall.Where{Current: s.b}
	foreign := []string{fmt.Sprintf("conversationId: %d", s.a), "allConversations: true", "conversation 1"}
	for _, x := range []struct {
		what string
		r    recall.DescribeRequest
		is   error
		says []string
	}{
		{"no such summary", recall.DescribeRequest{ID: idOf("sum_0000"), Where: s.here()}, store.ErrNotFound, []string{"sum_0000", "lcm_grep"}},
		{"no such file", recall.DescribeRequest{ID: idOf("file_0000"), Where: s.here()}, store.ErrNotFound, []string{"file_0000"}},
		{"no such message", recall.DescribeRequest{ID: idOf("msg_999"), Where: s.here()}, store.ErrNotFound, []string{"msg_999"}},
		{"another's summary", recall.DescribeRequest{ID: idOf(string(s.leaf.ID)), Where: there}, recall.ErrOutOfScope, foreign},
		{"another's file", recall.DescribeRequest{ID: idOf(s.file), Where: there}, recall.ErrOutOfScope, foreign},
		{"another's message", recall.DescribeRequest{ID: idOf("msg_1"), Where: there}, recall.ErrOutOfScope, foreign},
		{"nowhere", recall.DescribeRequest{ID: idOf("msg_1")}, nil, []string{"current", "allConversations: true"}},
		{"negative tokens", recall.DescribeRequest{ID: idOf(s.file), MaxTokens: -1, Where: s.here()}, nil, []string{"negative"}},
		{"a cursor", recall.DescribeRequest{ID: idOf(s.file), Cursor: "nonsense", Where: s.here()}, nil, []string{"cursor"}},
	} {
		_, err := s.Describe(t.Context(), x.r)
		var refused *hint.Error
		if !errors.As(err, &refused) || !errors.Is(err, recall.ErrRefused) || x.is != nil && !errors.Is(err, x.is) {
			t.Errorf("%s: got %v", x.what, err)
			continue
		}
		contains(t, x.what, err.Error(), x.says...)
	}
	for _, where := range []recall.Where{{AllConversations: true}, {ConversationID: s.a}} {
		for _, id := range []string{"msg_1", s.file, string(s.leaf.ID)} {
			s.describe(recall.DescribeRequest{ID: idOf(id), Where: where})
		}
	}
}

// A host takes only so much in one answer: a summary of any length is shown in
// pages.
func TestALongSummaryPagesAsAFileDoes(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	f.say(c, llms.User("first"), llms.User("second"), llms.User("third"))
	body := strings.Repeat("Everything was decided twice. ", 200)
	f.fold(c, 0, 1, body)
	top := f.fold(c, 0, 0, body+"The end.")
	r := recall.DescribeRequest{ID: idOf(string(top.ID)), Where: recall.Where{Current: c}, MaxTokens: 300}
	var text strings.Builder
	for page := 0; ; page++ {
		a, err := f.Describe(t.Context(), r)
		if err != nil {
			t.Fatalf("page %d: %v", page, err)
		}
		text.WriteString(a.Content)
		if r.Cursor = a.NextCursor; r.Cursor == "" {
			break
		}
		if page > 100 {
			t.Fatal("it does not end")
		}
	}
	if text.String() != top.Body {
		t.Errorf("the pages hold %d bytes of %d", text.Len(), len(top.Body))
	}
}

func TestTwoCurrentConversationsAreBothLookedAt(t *testing.T) {
	f := newFixture(t)
	a, b, other := f.open("a"), f.open("b"), f.open("c")
	for _, c := range []store.ConversationID{a, b, other} {
		f.say(c, llms.User("the needle"))
	}
	got, err := f.Grep(t.Context(), recall.GrepRequest{Pattern: "needle", Where: recall.Where{Current: a, Also: []store.ConversationID{b}}, Limit: 1})
	if err != nil || got.Total != 2 || got.Scope.Kind != recall.ScopeCurrent || len(got.Scope.ConversationIDs) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	r := recall.GrepRequest{Pattern: "needle", Where: recall.Where{Current: a}, Limit: 1, Cursor: got.NextCursor}
	if _, err := f.Grep(t.Context(), r); err == nil {
		t.Error("a cursor over both goes on in one")
	}
}

func TestParseIDRefuses(t *testing.T) {
	for text, want := range map[string]string{"the thing": "no id", "msg_1 msg_2": "2 ids", "msg_abc": "not the id of a message"} {
		if _, err := lookup.ParseID(text); !errors.Is(err, recall.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestDescribeLines: some lines of a message come with their numbers.
func TestDescribeLines(t *testing.T) {
	f := newFixture(t)
	c := f.open("s")
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "row %d\n", i+1)
	}
	f.say(c, llms.User(b.String()))
	ask := func(r recall.DescribeRequest) (string, error) {
		r.ID, r.Where = idOf("msg_1"), recall.Where{Current: c}
		a, err := f.Describe(t.Context(), r)
		return a.Content, err
	}
	for want, r := range map[string]recall.DescribeRequest{
		"7: row 7\n8: row 8\n":   {Lines: "7-8"},
		"50: row 50\n":           {Lines: "50-"},
		"9: row 9\n":             {Lines: " 9 "},
		"5: row 5\n15: row 15\n": {Lines: "1-20", Pattern: "5$"},
		"":                       {Pattern: "no such row"},
		"20: row 20\n":           {Pattern: "row 2", Lines: "20", MaxTokens: 100},
	} {
		if got, err := ask(r); err != nil || got != want {
			t.Errorf("%+v: %q, %v", r, got, err)
		}
	}
	for _, r := range []recall.DescribeRequest{{Lines: "0-4"}, {Lines: "9-4"}, {Lines: "a"}, {Pattern: "("}, {Lines: "1", Cursor: "x"}} {
		got, err := ask(r)
		if _, what := hint.Split(err); err == nil || what == "" {
			t.Errorf("%+v: %q, %v", r, got, err)
		}
	}
}
