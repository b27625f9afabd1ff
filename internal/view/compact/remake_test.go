package compact_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

func (w memoryWriter) Reword(_ context.Context, id store.SummaryID, to store.Wording) (store.Summary, error) {
	s := w.s.summaries[id]
	s.Body, s.Tokens, s.Level, s.Method = to.Body, to.Tokens, to.Level, to.Method
	w.s.summaries[id] = s
	w.s.reworded = append(w.s.reworded, s)
	return s, nil
}

// Damaged summaries are written anew from what is left of their sources, without a model.
func TestRemake(t *testing.T) {
	s := erasing{conversation(120), map[store.MessageID]bool{}}
	sum := &summariser{write: func(context.Context, summary.Request) (string, error) { return "lost\n" + summary.Footer + "x", nil }}
	r := newRunner(t, compact.Config{Store: s, Summariser: sum, Bounds: compact.Bounds{MaxPasses: 100}})
	run(t, r, compact.Full)
	calls, depths := sum.calls.Load(), map[int]bool{}
	var ids []store.SummaryID
	var erased, empty store.SummaryID
	for id, made := range s.summaries {
		ids = append(ids, id)
		depths[made.Depth] = true
		if made.Depth == 0 && erased == "" {
			erased = id
			s.gone[s.sources[id][0].Message] = true
		} else if made.Depth == 0 && empty == "" {
			empty = id
			s.sources[id] = nil
		}
	}
	if err := r.Remake(t.Context(), 1, ids); err != nil {
		t.Fatal(err)
	}
	if len(depths) < 2 || len(s.reworded) != len(ids)-2 || sum.calls.Load() != calls {
		t.Errorf("%d of %d summaries of %d depths are written anew, with %d calls", len(s.reworded), len(ids), len(depths), sum.calls.Load()-calls)
	}
	for i, made := range s.reworded {
		if made.ID == erased || made.ID == empty || strings.HasPrefix(made.Body, "lost") || made.Level != summary.Fallback || made.Tokens == 0 {
			t.Errorf("%s: %+v", made.ID, made)
		}
		if i > 0 && made.Depth < s.reworded[i-1].Depth {
			t.Error("a summary is written anew before its sources")
		}
	}
}

// A summary that can say nothing is written anew once.
func TestRemakeOfShortMessages(t *testing.T) {
	s := newMemory()
	s.append(llms.User("a"), llms.Assistant("b"))
	s.summaries["sum_a"], s.sources["sum_a"] = store.Summary{ID: "sum_a", Body: "lost"}, []store.ID{{Message: 1}, {Message: 2}}
	r := newRunner(t, compact.Config{Store: s})
	for range 2 {
		if err := r.Remake(t.Context(), 1, []store.SummaryID{"sum_a"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.reworded) != 1 || s.reworded[0].Body != summary.Footer+"all of it (2 messages)" || s.reworded[0].Tokens == 0 {
		t.Errorf("written anew: %+v", s.reworded)
	}
}
