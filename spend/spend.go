// Package spend keeps an eye on what models cost. A [Meter] wraps a model and
// writes down what every call used, by purpose, model and day; it refuses
// calls once a cap is reached, and stops asking a provider that keeps refusing
// the key. Everything it knows is in the store, so that a restart neither
// forgets what was spent nor begins to hammer a provider again.
//
// What a provider does not report is not guessed: the ledger equals the sum of
// what providers said.
package spend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

// The spaces of store.State that this package uses.
const (
	ledgerSpace  = "spend"
	breakerSpace = "breaker"
)

// Limits bound what a Meter lets through. Zero fields have the defaults given
// with them.
type Limits struct {
	// TokensPerDay caps input and output tokens of all purposes in a day
	// (UTC). 0 is no cap.
	TokensPerDay int64
	// Failures is how many refusals of the key in a row open the circuit: 5.
	Failures int
	// Cooldown is how long it stays open: 30 minutes.
	Cooldown time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Failures <= 0 {
		l.Failures = 5
	}
	if l.Cooldown <= 0 {
		l.Cooldown = 30 * time.Minute
	}
	return l
}

// Meter is a model whose calls are counted and bounded.
type Meter struct {
	engine  llms.Engine
	state   store.State
	purpose string
	limits  Limits
	clock   func() time.Time
}

var _ llms.Engine = (*Meter)(nil)

// NewMeter returns engine, metered for a purpose such as "summary".
func NewMeter(engine llms.Engine, state store.State, purpose string, limits Limits, clock func() time.Time) (*Meter, error) {
	if engine == nil || state == nil {
		return nil, errors.New("spend: a meter needs a model and a store")
	}
	if clock == nil {
		clock = time.Now
	}
	return &Meter{engine: engine, state: state, purpose: purpose, limits: limits.withDefaults(), clock: clock}, nil
}

// Name implements [llms.Engine].
func (m *Meter) Name() string { return m.engine.Name() }

// Stream implements [llms.Engine].
func (m *Meter) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		if err := m.allow(ctx); err != nil {
			yield(llms.Event{}, err)
			return
		}
		var used llms.Usage
		var failure error
		for event, err := range m.engine.Stream(ctx, r) {
			if err != nil {
				failure = err
				break
			}
			if event.Kind == llms.EventEnd {
				used = used.Add(event.Usage)
			}
			if !yield(event, nil) {
				break
			}
		}
		// What was spent was spent, also where the caller has gone.
		if err := m.record(context.WithoutCancel(ctx), used, failure); err != nil && failure == nil {
			failure = err
		}
		if failure != nil {
			yield(llms.Event{}, failure)
		}
	}
}

// allow refuses a call if the circuit is open or the day's cap is reached.
func (m *Meter) allow(ctx context.Context) error {
	b, err := m.breaker(ctx)
	if err != nil {
		return err
	}
	if wait := b.OpenUntil.Sub(m.clock()); wait > 0 {
		return &llms.Error{Class: llms.ClassAuth, Provider: m.engine.Name(), Message: fmt.Sprintf(
			"the key was refused %d times in a row; no further call is made for %s", b.Failures, wait.Round(time.Second))}
	}
	if m.limits.TokensPerDay == 0 {
		return nil
	}
	day := m.clock().UTC().Format(time.DateOnly)
	spent, err := Ledger(ctx, m.state)
	if err != nil {
		return err
	}
	var today int64
	for _, e := range spent {
		if e.Day == day {
			today += e.InputTokens + e.OutputTokens
		}
	}
	if today >= m.limits.TokensPerDay {
		return &llms.Error{Class: llms.ClassQuota, Provider: m.engine.Name(), Message: fmt.Sprintf(
			"%d tokens were spent today and the cap is %d", today, m.limits.TokensPerDay)}
	}
	return nil
}

// record writes down what a call used and how it ended.
func (m *Meter) record(ctx context.Context, used llms.Usage, failure error) error {
	entry := Entry{Purpose: m.purpose, Model: m.engine.Name(), Day: m.clock().UTC().Format(time.DateOnly)}
	err := change(ctx, m.state, ledgerSpace, entry.key(), func(e *Entry) {
		e.Purpose, e.Model, e.Day = entry.Purpose, entry.Model, entry.Day
		e.Calls++
		if failure != nil {
			e.Failures++
		}
		e.InputTokens += int64(used.InputTokens)
		e.OutputTokens += int64(used.OutputTokens)
	})
	refused := llms.ClassOf(failure) == llms.ClassAuth
	if failure != nil && !refused {
		return err // says nothing about the key
	}
	b, berr := m.breaker(ctx)
	if berr != nil || !refused && b == (breaker{}) {
		return errors.Join(err, berr)
	}
	return errors.Join(err, change(ctx, m.state, breakerSpace, m.engine.Name(), func(b *breaker) {
		if !refused {
			*b = breaker{}
			return
		}
		if b.Failures++; b.Failures >= m.limits.Failures {
			b.OpenUntil = m.clock().Add(m.limits.Cooldown)
		}
	}))
}

// breaker is what is known of how a provider receives the key.
type breaker struct {
	Failures  int       `json:"failures,omitempty"`
	OpenUntil time.Time `json:"openUntil,omitzero"`
}

func (m *Meter) breaker(ctx context.Context) (b breaker, err error) {
	v, err := m.state.Get(ctx, breakerSpace, m.engine.Name())
	if errors.Is(err, store.ErrNotFound) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(v.Data, &b)
	}
	return b, err
}

// Reset closes the circuit of a model, after its key was mended.
func Reset(ctx context.Context, state store.State, model string) error {
	return change(ctx, state, breakerSpace, model, func(b *breaker) { *b = breaker{} })
}

// Entry is what one model was used for on one day.
type Entry struct {
	Day          string `json:"day"` // 2006-01-02, UTC
	Purpose      string `json:"purpose"`
	Model        string `json:"model"`
	Calls        int64  `json:"calls"`
	Failures     int64  `json:"failures,omitempty"`
	InputTokens  int64  `json:"inputTokens"`
	OutputTokens int64  `json:"outputTokens"`
}

func (e Entry) key() string { return strings.Join([]string{e.Day, e.Purpose, e.Model}, "/") }

// Ledger returns everything that was spent, by day, purpose and model.
func Ledger(ctx context.Context, state store.State) ([]Entry, error) {
	values, err := state.List(ctx, ledgerSpace)
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	all := make([]Entry, 0, len(values))
	for _, v := range values {
		var e Entry
		if err := json.Unmarshal(v.Data, &e); err != nil {
			return nil, fmt.Errorf("ledger entry %s: %w", v.Key, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// maxRaces is how often a change is tried again because another process was
// faster.
const maxRaces = 100

// change applies fn to a value in state, whoever else changes it meanwhile.
func change[T any](ctx context.Context, state store.State, space, key string, fn func(*T)) error {
	for range maxRaces {
		var value T
		v, err := state.Get(ctx, space, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		default:
			if err := json.Unmarshal(v.Data, &value); err != nil {
				return fmt.Errorf("%s/%s: %w", space, key, err)
			}
		}
		fn(&value)
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if _, err = state.Put(ctx, space, key, data, v.Version, time.Time{}); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s/%s kept changing", space, key)
}
