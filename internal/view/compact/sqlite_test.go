package compact_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// open opens a database in a file of its own.
func open(t testing.TB) (*sqlite.DB, store.ConversationID) {
	t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Open(context.Background(), store.NewConversation{Key: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return db, c.ID
}

func appendTo(t interface{ Fatal(...any) }, db store.Store, id store.ConversationID, ms ...llms.Message) {
	var rows []store.NewMessage
	for _, m := range ms {
		record, err := wire.Encode(llms.FormatLCM, m)
		if err != nil {
			t.Fatal(err)
		}
		row := store.NewMessage{
			Role: m.Role, Tokens: llms.CountMessage(llms.Estimate, m), Format: llms.FormatLCM,
			Record: record, Size: int64(len(record)), SHA256: sha256.Sum256(record),
		}
		for _, c := range m.ToolCalls() {
			row.Calls = append(row.Calls, c.ID)
		}
		for _, r := range m.ToolResults() {
			row.Results = append(row.Results, r.CallID)
		}
		rows = append(rows, row)
	}
	err := db.Update(context.Background(), id, func(w store.Writer) error {
		_, err := w.Append(context.Background(), rows...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What holds for the model of a store holds for the real one, and the record
// stays provable.
func TestCompactionOfARealStore(t *testing.T) {
	db, _ := open(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		c, err := db.Open(ctx, store.NewConversation{Key: fmt.Sprint("conversation ", n)})
		if err != nil {
			t.Fatal(err)
		}
		budget := rapid.IntRange(4000, 8000).Draw(t, "budget")
		lim := compact.Limits{Budget: budget}
		r, err := compact.NewRunner(compact.Config{Store: db, State: db})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "turns") {
			appendTo(t, db, c.ID, turn(t, i, budget)...)
			rep, err := r.Run(ctx, c.ID, lim, compact.Hard)
			if err != nil {
				t.Fatal(err)
			}
			v, err := db.View(ctx, c.ID, store.Window{})
			if err != nil || v.Tokens != rep.TokensAfter || v.Tokens > budget*95/100 {
				t.Fatalf("%v: the view has %d tokens: %v", rep, v.Tokens, err)
			}
			checkContext(t, db, v, budget)
		}
		proof, err := db.Verify(ctx, c.ID)
		if err != nil || len(proof.Faults) > 0 {
			t.Fatalf("%v %v", proof.Faults, err)
		}
	})
}

// checkContext assembles the view, which must fit and must not cost more than
// the view says.
func checkContext(t *rapid.T, db store.Store, v store.View, budget int) {
	ctx := context.Background()
	in := assemble.Input{
		View: v, Budget: budget, Counter: llms.Estimate,
		Messages: map[store.MessageID]store.Message{}, Summaries: map[store.SummaryID]store.Summary{},
	}
	for _, it := range v.Items {
		if !it.IsSummary() {
			for m, err := range db.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{it.Message}}) {
				if err != nil {
					t.Fatal(err)
				}
				in.Messages[m.ID] = m
			}
			continue
		}
		for s, err := range db.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{it.Summary}, Sources: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if cost := assemble.SummaryTokens(llms.Estimate, s, s.Sources); cost > it.Tokens {
				t.Fatalf("%s costs %d tokens, the view says %d", s.ID, cost, it.Tokens)
			}
			in.Summaries[s.ID] = s
		}
	}
	out, err := assemble.Build(in)
	if err != nil || out.Tokens > budget || len(out.Dropped) > 0 {
		t.Fatalf("%d tokens of %d, %d dropped: %v", out.Tokens, budget, len(out.Dropped), err)
	}
}

// BenchmarkPass measures the cost of a pass beside the summariser: planning,
// loading about 20,000 tokens and folding them, all of it on disk.
func BenchmarkPass(b *testing.B) {
	db, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	conv, err := db.Open(context.Background(), store.NewConversation{Key: "pass"})
	if err != nil {
		b.Fatal(err)
	}
	id := conv.ID
	instant := &summariser{write: func(context.Context, summary.Request) (string, error) {
		return "Everything was done.\n" + summary.Footer + "how", nil
	}}
	r, err := compact.NewRunner(compact.Config{Store: db, State: db, Summariser: instant, Bounds: compact.Bounds{MaxPasses: 1000, MaxCalls: 1 << 30}})
	if err != nil {
		b.Fatal(err)
	}
	passes := 0
	for b.Loop() {
		b.StopTimer()
		for range 100 {
			var ms []llms.Message
			for range 20 {
				ms = append(ms, llms.User(text(600)), llms.Assistant(text(1000)))
			}
			appendTo(b, db, id, ms...)
		}
		b.StartTimer()
		rep, err := r.Run(context.Background(), id, compact.Limits{}, compact.Full)
		if err != nil {
			b.Fatal(err)
		}
		passes += rep.Passes
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(passes)/1e6, "ms/pass")
	b.ReportMetric(0, "ns/op")
}

// A second import knows the summaries of the first one, also those above other summaries.
func TestSummariesAreTakenOnce(t *testing.T) {
	db, id := open(t)
	for i := range 5 {
		appendTo(t, db, id, llms.User(fmt.Sprintf("Question %d. %s", i, text(400))))
	}
	var of []store.ID
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, store.ID{Message: m.ID})
	}
	given := []store.Summary{
		{ID: "a", Body: "One and two.", Sources: of[:2]},
		{ID: "b", Body: "Three and four.", Sources: of[2:4]},
		{ID: "c", Body: "One to four.", Sources: []store.ID{{Summary: "a"}, {Summary: "b"}}},
		{ID: "d", Body: "One to five.", Sources: []store.ID{{Summary: "c"}, of[4]}},
	}
	r := newRunner(t, compact.Config{Store: db, State: db})
	for n, want := range [][2]int{{4, 0}, {0, 4}} {
		if taken, known, err := r.Take(t.Context(), id, given); err != nil || [2]int{taken, known} != want {
			t.Errorf("import %d: %d taken, %d known, %v", n+1, taken, known, err)
		}
	}
}
