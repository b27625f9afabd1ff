package spend_test

import (
	"context"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
)

// model is an engine that answers, or fails, and counts its calls.
type model struct {
	mu    sync.Mutex
	calls int
	fail  *llms.Error
	cut   bool // breaks off after reporting the input tokens
}

func (m *model) Name() string { return "test/model" }

func (m *model) Stream(context.Context, llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		m.mu.Lock()
		m.calls++
		fail := m.fail
		m.mu.Unlock()
		if m.cut {
			if yield(llms.Event{Kind: llms.EventUsage, Usage: llms.Usage{InputTokens: 70}}, nil) {
				yield(llms.Event{}, &llms.Error{Class: llms.ClassTransient, Provider: "test", Usage: llms.Usage{InputTokens: 70, OutputTokens: 10}})
			}
			return
		}
		if fail != nil {
			yield(llms.Event{}, fail)
			return
		}
		if yield(llms.Event{Kind: llms.EventText, Text: "hello"}, nil) {
			yield(llms.Event{Kind: llms.EventEnd, Stop: llms.StopEnd, Usage: llms.Usage{InputTokens: 70, OutputTokens: 30}}, nil)
		}
	}
}

type bed struct {
	db    *sqlite.DB
	model *model
	now   time.Time
}

func newBed(t *testing.T) *bed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &bed{db: db, model: &model{}, now: time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC)}
}

// meter is a new one each time, as after a restart.
func (b *bed) meter(t *testing.T, l spend.Limits) *spend.Meter {
	t.Helper()
	m, err := spend.NewMeter(b.model, b.db, "summary", l, func() time.Time { return b.now })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (b *bed) call(t *testing.T, l spend.Limits) error {
	t.Helper()
	return b.ask(t, l, llms.Request{})
}

func (b *bed) ask(t *testing.T, l spend.Limits, r llms.Request) error {
	t.Helper()
	_, err := llms.Complete(t.Context(), b.meter(t, l), r)
	return err
}

// Many calls at once, of two processes, are all recorded: none fails because others are faster.
func TestManyCallsAtOnce(t *testing.T) {
	const meters, callers, calls = 2, 40, 10
	path := filepath.Join(t.TempDir(), "lcm.db")
	var wg sync.WaitGroup
	for range meters {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		m, err := spend.NewMeter(&model{}, db, "map", spend.Limits{TokensPerDay: 1e9}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range callers {
			wg.Go(func() {
				for range calls {
					if _, err := llms.Complete(t.Context(), m, llms.Request{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		defer func() {
			if all, err := spend.Usage(t.Context(), db); err != nil || len(all) == 0 || all[0].Calls != meters*callers*calls {
				t.Errorf("%+v, %v", all, err)
			}
		}()
	}
	wg.Wait()
}

func TestTheLedgerIsWhatTheProviderSaid(t *testing.T) {
	b := newBed(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := b.call(t, spend.Limits{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.now = b.now.Add(24 * time.Hour)
	if err := b.call(t, spend.Limits{}); err != nil {
		t.Fatal(err)
	}
	all, err := spend.Usage(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Calls != 40 || all[0].InputTokens != 2800 || all[0].OutputTokens != 1200 || all[1].Calls != 1 {
		t.Errorf("the ledger says %+v", all)
	}
}

func TestTheCapHoldsAcrossRestartsUntilTheNextDay(t *testing.T) {
	b := newBed(t)
	limits := spend.Limits{TokensPerDay: 350}
	for range 3 {
		if err := b.call(t, limits); err != nil {
			t.Fatal(err)
		}
	}
	err := b.ask(t, limits, llms.Request{MaxTokens: 60})
	if llms.ClassOf(err) != llms.ClassQuota || !strings.Contains(err.Error(), "300 tokens") {
		t.Errorf("over the cap: %v", err)
	}
	if b.model.calls != 3 {
		t.Errorf("the model was called %d times", b.model.calls)
	}
	b.now = b.now.Add(24 * time.Hour)
	if err := b.call(t, limits); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

// Calls at the same time cannot exceed the cap together.
func TestTheCapHoldsForCallsAtTheSameTime(t *testing.T) {
	b := newBed(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { b.ask(t, spend.Limits{TokensPerDay: 300}, llms.Request{MaxTokens: 100}) })
	}
	wg.Wait()
	if b.model.calls > 3 {
		t.Errorf("%d calls of 100 tokens went through a cap of 300", b.model.calls)
	}
}

// A call that breaks off is recorded with its known usage.
func TestBrokenCallsAreCounted(t *testing.T) {
	b := newBed(t)
	b.model.cut = true
	if err := b.call(t, spend.Limits{}); err == nil {
		t.Fatal("the call did not break off")
	}
	for range b.meter(t, spend.Limits{}).Stream(t.Context(), llms.Request{}) {
		break // the reader leaves after the first event
	}
	all, err := spend.Usage(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Calls != 2 || all[0].InputTokens != 140 || all[0].OutputTokens != 10 {
		t.Errorf("the ledger says %+v", all)
	}
}

// A stream that is cut before it reports its usage is estimated, and marked as an estimate.
func TestStreamsThatDoNotSayAreEstimated(t *testing.T) {
	b := newBed(t)
	limits := spend.Limits{TokensPerDay: 2000}
	for range b.meter(t, limits).Stream(t.Context(), llms.Request{System: strings.Repeat("many words ", 500)}) {
		break // the reader leaves after "hello", and the usage comes at the end
	}
	all, err := spend.Usage(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].InputTokens+all[0].OutputTokens != 0 || all[0].EstimatedTokens < 900 || all[0].EstimatedTokens > 1200 {
		t.Errorf("the ledger says %+v", all)
	}
	err = b.ask(t, limits, llms.Request{System: strings.Repeat("many words ", 500)})
	if llms.ClassOf(err) != llms.ClassQuota {
		t.Errorf("the estimate does not count towards the cap: %v", err)
	}
}

// A crash, of a model or of its reader, leaves nothing held.
func TestACrashLeavesNothingHeld(t *testing.T) {
	b := newBed(t)
	limits := spend.Limits{TokensPerDay: 1000}
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			for range b.meter(t, limits).Stream(t.Context(), llms.Request{MaxTokens: 600}) {
				panic("the reader crashed")
			}
		}()
	}
	if err := b.ask(t, limits, llms.Request{MaxTokens: 600}); err != nil {
		t.Errorf("what crashed calls might have cost is still held: %v", err)
	}
	all, err := spend.Usage(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Calls != 4 || all[0].Failures != 3 {
		t.Errorf("the ledger says %+v", all)
	}
}

// A reader that leaves is not called again, whatever goes wrong afterwards.
func TestAReaderThatLeavesIsLeftAlone(t *testing.T) {
	b := newBed(t)
	meter := b.meter(t, spend.Limits{})
	for range meter.Stream(t.Context(), llms.Request{}) {
		if err := b.db.Close(); err != nil { // the ledger cannot be written
			t.Fatal(err)
		}
		break
	}
}
