package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Every match is reached by cursor, once, however few fit one answer. That no
// answer is longer than the bound, client.call checks.
func TestGrepPagesThroughEverything(t *testing.T) {
	r := newRecord(t)
	const total = 120
	var said []llms.Message
	for i := range total {
		// Quotes and line breaks cost more in JSON than in the text.
		said = append(said, user("needle %d %s", i, strings.Repeat("\"quoted\"\n", 40)))
	}
	r.say("claude:s1", r.dir, time.Hour, said...)
	c := r.connect(r.serve(r.config()), clientOptions{})
	for _, a := range []args{
		{"pattern": "needle", "limit": 200},
		{"pattern": "needle", "limit": 50, "context": 3},
		{"pattern": "needle quoted", "mode": "full_text", "limit": 200},
	} {
		seen := map[string]bool{}
		pages := 0
		for cursor := ""; ; pages++ {
			if a["cursor"] = cursor; cursor == "" {
				delete(a, "cursor")
			}
			got := into[found](t, c.call("lcm_grep", a))
			for _, m := range got.Matches {
				if seen[m.ID] {
					t.Fatalf("%v: %s came twice", a, m.ID)
				}
				seen[m.ID] = true
			}
			if len(got.Matches) == 0 && got.NextCursor != "" {
				t.Fatalf("%v: an empty page", a)
			}
			if cursor = got.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != total || pages < 2 {
			t.Errorf("%v: %d of %d matches in %d pages", a, len(seen), total, pages+1)
		}
	}
}

// A message, a file and a summary are put together again from their pages.
func TestDescribePagesThroughEverything(t *testing.T) {
	r := newRecord(t)
	long := strings.Repeat("a \"line\" with <marks> and 漢字\n", 3000)
	id := r.say("claude:s1", r.dir, time.Hour, llms.Assistant("Here it comes."), llms.Result("c1", "cat", long, false),
		user("control characters cost six times as much in JSON: %s", strings.Repeat("\x01\x02", 400)))
	c := r.connect(r.serve(r.config()), clientOptions{})
	var ids []string
	for m, err := range r.db.Messages(t.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID.String())
		files, err := r.db.Attached(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			ids = append(ids, string(f))
		}
	}
	if len(ids) != 5 {
		t.Fatalf("there are not two files among %v", ids)
	}
	for _, id := range ids {
		parsed, err := store.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := r.engine.Describe(t.Context(), recall.DescribeRequest{ID: parsed, Where: recall.Where{AllConversations: true}})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for a := (args{"id": id}); ; {
			got := into[recall.DescribeAnswer](t, c.call("lcm_describe", a))
			b.WriteString(got.Content)
			if got.NextCursor == "" {
				break
			}
			if !got.Truncated || !strings.Contains(strings.Join(got.Notes, "\n"), "cursor") {
				t.Fatalf("%s is cut without saying so: %+v", id, got.Notes)
			}
			a["cursor"] = got.NextCursor
		}
		if b.String() != whole.Content {
			t.Errorf("%s: %d of %d bytes", id, b.Len(), len(whole.Content))
		}
	}
}

// fold makes a summary of everything in a conversation's view.
func (r *record) fold(c store.ConversationID, body string) store.Summary {
	r.t.Helper()
	v, err := r.db.View(r.t.Context(), c, store.Window{})
	if err != nil {
		r.t.Fatal(err)
	}
	var sum store.Summary
	err = r.db.Update(r.t.Context(), c, func(w store.Writer) (err error) {
		sum, err = w.Fold(r.t.Context(), store.NewSummary{Over: v.Items, Wording: store.Wording{Body: body, Tokens: len(body) / 4, Method: "test"}})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return sum
}

// A summary of a thousand messages names some of them, says how many there are
// and how to reach the others.
func TestLongListsAreCutAndSaySo(t *testing.T) {
	r := newRecord(t)
	var said []llms.Message
	for i := range 1500 {
		said = append(said, user("message %d", i))
	}
	id := r.say("claude:s1", r.dir, time.Hour, said...)
	body := strings.Repeat("Much was \"said\" and little was decided.\n", 700) // longer than an answer
	sum := r.fold(id, body)
	c := r.connect(r.serve(r.config()), clientOptions{})
	var b strings.Builder
	a := args{"id": string(sum.ID)}
	for {
		got := into[recall.DescribeAnswer](t, c.call("lcm_describe", a))
		b.WriteString(got.Content)
		notes := strings.Join(got.Notes, "\n")
		if n := len(got.SourceMessageIDs); n < 1500 && !strings.Contains(notes, fmt.Sprintf("sourceMessageIds has %d of 1500 ids", n)) {
			t.Errorf("%d ids: %s", n, notes)
		}
		if got.NextCursor == "" {
			break
		}
		a["cursor"] = got.NextCursor
	}
	if b.String() != body {
		t.Errorf("%d of %d bytes", b.Len(), len(body))
	}
}

func TestAnAnswerToAQuestionFits(t *testing.T) {
	r := newRecord(t)
	var said []llms.Message
	for i := range 400 {
		said = append(said, user("deployment %d: \"make ship\"\n\"--to=%d\"", i, i))
	}
	r.say("claude:s1", r.dir, time.Hour, said...)
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := into[recall.Answer](t, c.call("lcm_expand_query", args{"prompt": "How is the deployment made?", "query": "deployment ship", "maxTokens": 16000}))
	if got.Method != recall.MethodEvidence || len(got.CitedIDs) == 0 {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(strings.Join(got.Notes, "\n"), "maxTokens was lowered to 4000") {
		t.Errorf("what was asked for is not given, and nothing is said: %q", got.Notes)
	}
	none := into[recall.Answer](t, c.call("lcm_expand_query", args{"prompt": "What of the zebra?", "query": "zebra"}))
	if none.Method != recall.MethodNone {
		t.Errorf("got %+v", none)
	}
}

func TestTheBoundIsASetting(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Hour, user("%s", strings.Repeat("a needle in much hay, ", 2000)))
	for _, most := range []int{1000, 20_000} {
		config := r.config()
		config.MaxTokens = most
		c := r.connect(r.serve(config), clientOptions{})
		got, err := c.CallTool(t.Context(), callOf("lcm_describe", args{"id": "msg_1", "maxTokens": 100_000}))
		if err != nil {
			t.Fatal(err)
		}
		n := llms.Estimate.Count(mustJSON(t, got.StructuredContent))
		if n > most || n < most/2 {
			t.Errorf("an answer of at most %d tokens has %d", most, n)
		}
	}
	config := r.config()
	config.MaxTokens = 10
	if _, err := mcpserver.New(t.Context(), config); err == nil {
		t.Error("a bound of 10 tokens is accepted")
	}
}
