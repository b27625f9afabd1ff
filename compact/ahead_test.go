package compact_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm/compact"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/summary"
)

// witness writes summaries that say which sources they were made from.
type witness struct{ previous []string }

func (w *witness) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	w.previous = append(w.previous, r.Previous)
	var ids []string
	for _, s := range r.Sources {
		ids = append(ids, s.ID)
	}
	return summary.Result{Text: testimony(ids), Method: "witness"}, nil
}

func testimony(ids []string) string {
	return fmt.Sprintf("%x\n%severything", sha256.Sum256([]byte(fmt.Sprint(ids))), summary.Footer)
}

// counted counts how often each message is loaded.
type counted struct {
	*memory
	loads map[store.MessageID]int
}

func (s counted) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	for _, id := range q.IDs {
		s.loads[id]++
	}
	return s.memory.Messages(ctx, q)
}

// TestEachFoldIsToldOfItsOwnSources holds what was loaded ahead to what was
// folded, also where the view moves under a run.
func TestEachFoldIsToldOfItsOwnSources(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprintf("moves=%v", moves), func(t *testing.T) {
			s := conversation(200)
			folds := 0
			s.onFold = func() {
				if folds++; moves && folds%3 == 0 {
					// Another process folds the next messages first.
					s.mu.Lock()
					defer s.mu.Unlock()
					at := 0
					for s.items[at].IsSummary() {
						at++
					}
					at++ // not the first: what is being folded begins there
					_, err := memoryWriter{s: s}.Fold(t.Context(), store.NewSummary{Over: s.items[at : at+2], Wording: store.Wording{
						Body: testimony([]string{s.items[at].Node.String(), s.items[at+1].Node.String()}), Tokens: 50}})
					if err != nil {
						t.Error(err)
					}
				}
			}
			w := &witness{}
			c := counted{s, map[store.MessageID]int{}}
			rep := run(t, newRunner(t, compact.Config{Store: c, Summariser: w, Bounds: compact.Bounds{MaxPasses: 100, MaxCalls: 1000}}), compact.Hard)
			if rep.Folds() < 6 || moves != (rep.Stale > 0) {
				t.Fatalf("%d folds, %d of them anew", rep.Folds(), rep.Stale)
			}
			bodies := map[string]bool{"": true}
			for id, made := range s.summaries {
				var ids []string
				for _, n := range s.sources[id] {
					ids = append(ids, n.String())
				}
				if want := testimony(ids); made.Body != want {
					t.Errorf("%s was made from other sources than it has: %q, want %q", id, made.Body, want)
				}
				bodies[made.Body] = true
			}
			for _, p := range w.previous {
				if !bodies[p] {
					t.Errorf("a fold was told that %q came before it", p)
				}
			}
			for id, n := range c.loads {
				if !moves && n > 1 {
					t.Errorf("%s was loaded %d times", id, n)
				}
			}
		})
	}
}

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
	const messages = 6000
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
	for _, by := range []int{1, 40, 200, 250, 256, 5000, 100_000} {
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
