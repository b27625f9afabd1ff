package compact_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// rows counts the items that are read of views.
type rows struct {
	*memory
	read *atomic.Int64
}

func (s rows) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	v, err := s.memory.View(ctx, id, w)
	s.read.Add(int64(len(v.Items)))
	return v, err
}

// TestALongViewIsReadOnce folds views that are longer than what is read of them
// at a time: of messages of which a few make a leaf and of which thousands do,
// left alone and growing meanwhile.
func TestALongViewIsReadOnce(t *testing.T) {
	compact.ReadOldest(t, 512)
	const messages = 1500
	for _, size := range []int{1, 200, 1000} {
		for _, grows := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d characters, grows=%v", size, grows), func(t *testing.T) {
				s := newMemory()
				for i := range messages / 2 {
					s.append(llms.User(fmt.Sprint(i, text(size))), llms.Assistant(fmt.Sprint(i, text(size))))
				}
				folds := 0
				s.onFold = func() {
					if folds++; grows && folds%5 == 0 {
						s.append(llms.User(fmt.Sprint("meanwhile ", folds)))
					}
				}
				c := rows{s, new(atomic.Int64)}
				r := newRunner(t, compact.Config{Store: c, Summariser: &witness{}, Bounds: compact.Bounds{MaxPasses: 10_000, MaxCalls: 10_000}})
				rep, err := r.Run(t.Context(), 1, compact.Limits{Budget: 16_000}, compact.Full)
				if err != nil {
					t.Fatal(err)
				}
				list := s.covered()
				for i, id := range list {
					if id != store.MessageID(i+1) {
						t.Fatalf("%s is shown in the place of message %d", id, i+1)
					}
				}
				if len(list) != len(s.messages) || rep.Stale != 0 || len(s.items) > 400 {
					t.Errorf("%d of %d messages in %d items, %d folds in vain", len(list), len(s.messages), len(s.items), rep.Stale)
				}
				if read := c.read.Load(); !grows && read > 2*messages || read > 6*messages {
					t.Errorf("%d items were read of a view of %d", read, messages)
				} else {
					t.Logf("%d items read, %d passes, %d items left", read, rep.Passes, len(s.items))
				}
			})
		}
	}
}

// A fold keeps a call with its result, also where that was not read yet, up to a quarter of what is read behind it.
func TestAResultFarBehindItsCall(t *testing.T) {
	compact.ReadOldest(t, 1024)
	for _, mode := range []compact.Mode{compact.Soft, compact.Hard} {
		s := newMemory()
		for i := range 1500 {
			switch {
			case i == 900:
				s.append(llms.Calls(text(300), llms.ToolCall{ID: "far", Name: "task", Arguments: "{}"}))
			case i == 1100:
				s.append(llms.Result("far", "task", text(300), false))
			case i%20 == 0:
				s.append(llms.User(text(300)))
			default:
				s.append(llms.Assistant(text(300)))
			}
		}
		rep, err := newRunner(t, compact.Config{Store: s, Fallback: &witness{}}).Run(t.Context(), 1, compact.Limits{Budget: 16_000}, mode)
		if err != nil || rep.Folds() == 0 {
			t.Fatalf("%v, %v", rep, err)
		}
		folded := false
		for id, nodes := range s.sources {
			call := slices.ContainsFunc(nodes, func(n store.ID) bool { return n.Message == 901 })
			result := slices.ContainsFunc(nodes, func(n store.ID) bool { return n.Message == 1101 })
			if folded = folded || call; call != result {
				t.Errorf("%s: %s of %s to %s parts the call from its result", mode, id, nodes[0], nodes[len(nodes)-1])
			}
		}
		if !folded {
			t.Errorf("%s: the call was not folded", mode)
		}
	}
}

// miscounted is a store whose views are said to have more items than they have.
type miscounted struct {
	*memory
	by int
}

func (s miscounted) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	v, err := s.memory.View(ctx, id, w)
	v.Count += s.by
	if w != (store.Window{}) {
		v.Skipped += s.by
		v.Gap = min(v.Gap, max(0, len(v.Items)-w.Newest))
	}
	return v, err
}

// A count that is wrong neither folds the tail nor keeps a run from ending.
func TestAWrongCount(t *testing.T) {
	for _, by := range []int{1, 40, 63, 64, 65, 127, 128, 129, 200, 256, 5000, 100_000} {
		s := newMemory()
		for i := range 1500 {
			s.append(llms.User(fmt.Sprint(i, text(300))), llms.Assistant(fmt.Sprint(i, text(300))))
		}
		r := newRunner(t, compact.Config{Store: miscounted{s, by}, Summariser: &witness{}, Bounds: compact.Bounds{MaxPasses: 10_000, MaxCalls: 10_000}})
		rep, err := r.Run(t.Context(), 1, compact.Limits{Budget: 128_000}, compact.Full)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, it := range s.items {
			if !it.IsSummary() {
				whole++
			}
		}
		if whole < 64 || rep.Stale > 0 || len(s.covered()) != len(s.messages) {
			t.Errorf("by %d: %d whole messages are left, %d folds were in vain, %d of %d messages covered", by, whole, rep.Stale, len(s.covered()), len(s.messages))
		}
	}
}
