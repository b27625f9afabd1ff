package compact_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// witness writes summaries that say which sources they were made from. A call
// that was given up may still be under way when the next one is made.
type witness struct {
	mu       sync.Mutex
	previous map[string]string // what came before, by text
}

func (w *witness) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	var ids []string
	for _, s := range r.Sources {
		ids = append(ids, s.ID)
	}
	text := testimony(ids)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.previous == nil {
		w.previous = map[string]string{}
	}
	w.previous[text] = r.Previous
	return summary.Result{Text: text, Method: "witness"}, nil
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

// TestEachFoldIsToldOfItsOwnSources holds what summaries were made from to what
// was folded, also where the view moves under a run.
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
						Body: testimony([]string{s.items[at].ID.String(), s.items[at+1].ID.String()}), Tokens: 50}})
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
			for body := range bodies {
				if p := w.previous[body]; !bodies[p] {
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

// late is a store that takes its time, or does not take everything.
type late struct {
	*memory
	update func(write int) error // before each
}

func (s late) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	if err := s.update(s.writes + 1); err != nil {
		s.writes++
		return err
	}
	return s.memory.Update(ctx, id, fn)
}

func compactAll(t *testing.T, s compact.Store) (compact.Report, error) {
	r := newRunner(t, compact.Config{Store: s, Summariser: &witness{}, Bounds: compact.Bounds{MaxPasses: 1000, MaxCalls: 1000}})
	return r.Run(t.Context(), 1, compact.Limits{Budget: 16_000}, compact.Full)
}

// A store that fails ends the run with its error, and what the report counts is
// what was written.
func TestAFoldThatCannotBeWritten(t *testing.T) {
	full := errors.New("the disk is full")
	for write := 1; write < 12; write++ {
		s := conversation(600)
		rep, err := compactAll(t, late{s, func(n int) error {
			if n >= write {
				return full
			}
			return nil
		}})
		if !errors.Is(err, full) {
			t.Fatalf("write %d: %v", write, err)
		}
		if rep.Folds() != len(s.summaries) || len(s.summaries) < write-1 || rep.Reason == compact.Done {
			t.Errorf("write %d: %d folds reported, %d written, reason %q", write, rep.Folds(), len(s.summaries), rep.Reason)
		}
		if len(s.covered()) != len(s.messages) || rep.TokensAfter != sumTokens(s.items) {
			t.Errorf("write %d: %d of %d messages are covered, with %d tokens where the report says %d", write, len(s.covered()), len(s.messages),
				sumTokens(s.items), rep.TokensAfter)
		}
	}
}

// Where no fold can be written, a run says so, after a bounded number of calls.
func TestAViewThatMovesUnderAModel(t *testing.T) {
	for _, n := range []int{600, 60, 40} {
		s, c := conversation(n), hostile()["good"]
		stale := late{s, func(int) error { return store.ErrStale }}
		r := newRunner(t, compact.Config{Store: stale, Summariser: c, Bounds: compact.Bounds{MaxPasses: 1000, MaxCalls: 1000}})
		rep, err := r.Run(t.Context(), 1, compact.Limits{Budget: 16_000, Soft: sumTokens(s.items) * 8 / 10}, compact.Soft)
		if err != nil || rep.Reason != compact.Moving || rep.Folds() != 0 || rep.TokensAfter != sumTokens(s.items) {
			t.Errorf("%d: %v, %v", n, rep, err)
		}
		if calls := c.calls.Load(); calls != int64(rep.Stale) || calls > 9 {
			t.Errorf("%d: %d calls for %d folds", n, calls, rep.Stale)
		}
	}
}

// A fold that could not be written costs one pass.
func TestOneWriteInVain(t *testing.T) {
	s := conversation(600)
	once := late{s, func(n int) error {
		if n == 1 {
			return store.ErrStale
		}
		return nil
	}}
	rep, err := newRunner(t, compact.Config{Store: once, Fallback: &witness{}}).Run(t.Context(), 1, compact.Limits{Budget: 16_000}, compact.Soft)
	if err != nil || rep.Stale != 1 || rep.Passes != 32 || rep.Folds() != 31 {
		t.Errorf("%v, %d in vain, %v", rep, rep.Stale, err)
	}
}

// erasing is a store whose messages can vanish.
type erasing struct {
	*memory
	gone map[store.MessageID]bool
}

func (s erasing) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for m, err := range s.memory.Messages(ctx, q) {
			if s.gone[m.ID] {
				yield(store.Message{}, store.Missing(m.ID.String()))
				return
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// Messages that vanish under a run are planned around.
func TestMessagesThatVanish(t *testing.T) {
	s := erasing{conversation(600), map[store.MessageID]bool{}}
	s.onFold = func() {
		s.onFold = nil
		s.mu.Lock()
		defer s.mu.Unlock()
		s.items = slices.DeleteFunc(s.items, func(it store.Item) bool {
			gone := it.Message > 2 && it.Message < 150
			if gone {
				s.gone[it.Message] = true
			}
			return gone
		})
	}
	rep, err := compactAll(t, s)
	if err != nil || rep.Stale == 0 || rep.Reason != compact.Done {
		t.Errorf("%v, %d in vain, %v", rep, rep.Stale, err)
	}
}

// A panic of the store is the caller's to recover from.
func TestAPanicOfTheStore(t *testing.T) {
	defer func() {
		if p := recover(); p != "broken" {
			t.Errorf("recovered %v", p)
		}
	}()
	_, err := compactAll(t, late{conversation(600), func(n int) error {
		if n == 3 {
			panic("broken")
		}
		return nil
	}})
	t.Errorf("the run returned %v", err)
}

// twice is a database that runs each transaction a second time, as a store may.
type twice struct {
	*sqlite.DB
	folds int
}

type countingWriter struct {
	store.Writer
	folds *int
}

func (w countingWriter) Fold(ctx context.Context, n store.NewSummary) (store.Summary, error) {
	*w.folds++
	return w.Writer.Fold(ctx, n)
}

func (s *twice) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	undo := errors.New("once more")
	try := func(folds *int, result error) error {
		return s.DB.Update(ctx, id, func(w store.Writer) error { return errors.Join(fn(countingWriter{w, folds}), result) })
	}
	if err := try(new(int), undo); !errors.Is(err, undo) {
		return err
	}
	return try(&s.folds, nil)
}

// A transaction that is run twice is counted once.
func TestATransactionThatIsRunTwice(t *testing.T) {
	db, id := open(t)
	for i := range 300 {
		appendTo(t, db, id, llms.Text([]llms.Role{llms.RoleUser, llms.RoleAssistant}[i%2], fmt.Sprint(i, text(400))))
	}
	s := &twice{DB: db}
	r := newRunner(t, compact.Config{Store: s, Summariser: &witness{}, Policy: compact.Policy{LeafChunkTokens: 1000}})
	rep, err := r.Run(t.Context(), id, compact.Limits{Budget: 30_000}, compact.Full)
	if err != nil || rep.Leaves < 8 || rep.Stale > 0 {
		t.Fatalf("%v, %v", rep, err)
	}
	c, err := db.Conversation(t.Context(), id)
	if err != nil || s.folds != rep.Folds() || c.Summaries != int64(s.folds) || rep.TokensAfter != c.ViewTokens {
		t.Errorf("%d folds written, %d in the store, %v, %v", s.folds, c.Summaries, rep, err)
	}
	if v, err := db.Verify(t.Context(), id); err != nil || len(v.Faults) > 0 {
		t.Errorf("%v, %v", v.Faults, err)
	}
}
