package compact_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// marks are limits with a low threshold.
var marks = compact.Limits{Budget: 16_000, Soft: 12_000, Hard: 15_200, Low: 5_000}

func runTo(t *testing.T, r *compact.Runner, lim compact.Limits, mode compact.Mode) compact.Report {
	t.Helper()
	rep, err := r.Run(t.Context(), 1, lim, mode)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// A run goes down to the mark, or as far as the fresh tail allows, in one write, and the next one begins only when the
// view has grown to the soft threshold again.
func TestRunsGoDownToTheLowWaterMark(t *testing.T) {
	s := newMemory()
	r := newRunner(t, compact.Config{Store: s})
	turn := func(i int) {
		s.append(llms.User(fmt.Sprintf("Question %d. %s", i, text(400))), llms.Assistant(fmt.Sprintf("Answer %d. %s", i, text(400))))
	}
	folded := 0
	for i := range 200 {
		turn(i)
		before, _ := s.View(t.Context(), 1, store.Window{})
		writes := s.writes
		rep := runTo(t, r, marks, compact.Soft)
		switch {
		case before.Tokens < marks.Soft && (rep.Reason != compact.Below || s.writes != writes):
			t.Fatalf("turn %d, below the soft threshold: %v", i, rep)
		case before.Tokens >= marks.Soft:
			folded++
			after, _ := s.View(t.Context(), 1, store.Window{})
			down := after.Tokens < marks.Low || compact.Plan(after, marks, compact.Policy{}).Fold == nil
			if rep.Reason != compact.Done || !down || rep.Folds() < 2 || s.writes != writes+1 {
				t.Fatalf("turn %d: %v in %d writes", i, rep, s.writes-writes)
			}
		}
	}
	if folded < 4 {
		t.Errorf("folded %d times", folded)
	}
	for i, id := range s.covered() {
		if id != store.MessageID(i+1) {
			t.Fatalf("message %d of the view's sources is %s", i+1, id)
		}
	}
}

// A view of thousands of items is folded in one write too.
func TestALongViewIsFoldedInOneWrite(t *testing.T) {
	db, id := open(t)
	var ms []llms.Message
	for i := range 4_000 {
		ms = append(ms, llms.Text([]llms.Role{llms.RoleUser, llms.RoleAssistant}[i%2], fmt.Sprint(i, " ", text(60))))
	}
	appendTo(t, db, id, ms...)
	s := &updates{Store: db}
	r := newRunner(t, compact.Config{Store: s})
	c, err := db.Conversation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	budget := c.ViewTokens * 5 / 4
	rep, err := r.Run(t.Context(), id, compact.Limits{Budget: budget, Low: budget * 3 / 10}, compact.Soft)
	if err != nil || rep.Reason != compact.Done || rep.Folds() < 3 || s.n != 1 {
		t.Fatalf("%v in %d writes, %v", rep, s.n, err)
	}
	c, err = db.Conversation(t.Context(), id)
	if err != nil || c.ViewTokens != rep.TokensAfter {
		t.Errorf("the view has %d tokens, the report says %v, %v", c.ViewTokens, rep, err)
	}
	if v, err := db.Verify(t.Context(), id); err != nil || len(v.Faults) > 0 {
		t.Errorf("%v, %v", v.Faults, err)
	}
}

// updates counts transactions.
type updates struct {
	compact.Store
	n int
}

func (s *updates) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	s.n++
	return s.Store.Update(ctx, id, fn)
}

// A summariser that names its sources names summaries that exist, although they
// are written together with its own text.
func TestABatchNamesSummariesByTheirFinalIDs(t *testing.T) {
	db, id := open(t)
	for i := range 200 {
		appendTo(t, db, id, llms.Text([]llms.Role{llms.RoleUser, llms.RoleAssistant}[i%2], fmt.Sprint(i, " ", text(400))))
	}
	naming := &summariser{write: func(_ context.Context, r summary.Request) (string, error) {
		var ids []string
		for _, s := range r.Sources {
			if strings.HasPrefix(s.ID, "sum_") {
				ids = append(ids, s.ID)
			}
		}
		return "From " + strings.Join(ids, ", ") + "\n" + summary.Footer + "the rest", nil
	}}
	r := newRunner(t, compact.Config{Store: db, Summariser: naming, Policy: compact.Policy{LeafChunkTokens: 1000, Fanout: 3, SummaryPrefixTokens: 300}})
	rep, err := r.Run(t.Context(), id, compact.Limits{Budget: 24_000, Low: 4_000}, compact.Soft)
	if err != nil || rep.Condensed == 0 {
		t.Fatalf("%v, %v", rep, err)
	}
	named := 0
	known := map[string]bool{}
	var bodies []string
	for s, err := range db.Summaries(t.Context(), store.SummaryQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		known[string(s.ID)] = true
		bodies = append(bodies, s.Body)
	}
	for _, body := range bodies {
		for _, name := range regexp.MustCompile(`sum_[0-9a-f]+`).FindAllString(body, -1) {
			if named++; !known[name] {
				t.Errorf("%s is no summary: %s", name, body)
			}
		}
	}
	if named == 0 {
		t.Error("no summary was named")
	}
}

// A batch that another process has overtaken is planned again.
func TestAStaleBatchIsMadeAgain(t *testing.T) {
	s := conversation(60)
	moved := false
	s.onFold = func() {
		if !moved {
			moved = true
			s.mu.Lock()
			s.items = s.items[2:] // as a rewind or an erasure would
			s.mu.Unlock()
		}
	}
	rep := runTo(t, newRunner(t, compact.Config{Store: s}), marks, compact.Soft)
	v, _ := s.View(t.Context(), 1, store.Window{})
	if rep.Stale != 1 || rep.Reason != compact.Done || rep.TokensAfter != v.Tokens || rep.Folds() != len(s.summaries) {
		t.Errorf("%v, stale %d; the view has %d tokens and %d summaries were made", rep, rep.Stale, v.Tokens, len(s.summaries))
	}
}

// An interrupted run keeps the folds that it has made.
func TestAnInterruptedBatchIsKept(t *testing.T) {
	s := conversation(120)
	ctx, cancel := context.WithCancel(t.Context())
	sum := &summariser{}
	sum.write = func(ctx context.Context, r summary.Request) (string, error) {
		if sum.calls.Load() == 3 {
			cancel()
			return "", ctx.Err()
		}
		return cut(ctx, r)
	}
	rep, err := newRunner(t, compact.Config{Store: s, Summariser: sum}).Run(ctx, 1, marks, compact.Soft)
	if err == nil || rep.Folds() != 2 || len(s.summaries) != 2 || s.writes != 1 {
		t.Errorf("%v, %v; %d summaries in %d writes", rep, err, len(s.summaries), s.writes)
	}
}

// Where the fresh tail leaves little to fold, the beginning of the view is left
// alone until the hard threshold.
func TestAFoldThatDoesNotPayWaits(t *testing.T) {
	s := newMemory()
	r := newRunner(t, compact.Config{Store: s, Policy: compact.Policy{Policy: assemble.Policy{FreshTail: 1000, FreshTailTokens: 11_000}}})
	for tokens := 0; tokens < marks.Soft; tokens = sumTokens(s.items) {
		s.append(llms.User(text(400)), llms.Assistant(text(400)))
	}
	if rep := runTo(t, r, marks, compact.Soft); rep.Folds() != 0 || rep.Reason != compact.Exhausted || !strings.Contains(rep.Detail, "pays") {
		t.Errorf("above the soft threshold: %v", rep)
	}
	for tokens := 0; tokens < marks.Hard; tokens = sumTokens(s.items) {
		s.append(llms.User(text(400)), llms.Assistant(text(400)))
	}
	if rep := runTo(t, r, marks, compact.Hard); rep.Folds() == 0 || rep.TokensAfter >= marks.Hard {
		t.Errorf("above the hard threshold: %v", rep)
	}
}

// A full run folds at least as much as any other, under every budget, but for the rounding of a
// summary's target.
func TestFullFoldsAtLeastAsMuch(t *testing.T) {
	for _, budget := range []int{2_000, 4_000, 16_000, 128_000} {
		after := map[compact.Mode]int{}
		for _, mode := range []compact.Mode{compact.Hard, compact.Full} {
			s := newMemory()
			for i := range 60 {
				s.append(llms.User(fmt.Sprint(i, text(budget/30))), llms.Assistant(fmt.Sprint(i, text(budget/30))))
			}
			r := newRunner(t, compact.Config{Store: s, Bounds: compact.Bounds{MaxPasses: 1000}})
			after[mode] = runTo(t, r, compact.Limits{Budget: budget, Low: budget * 3 / 10}, mode).TokensAfter
		}
		if after[compact.Full] > after[compact.Hard]+1 {
			t.Errorf("budget %d: a full run leaves %d tokens, another %d", budget, after[compact.Full], after[compact.Hard])
		}
	}
}
