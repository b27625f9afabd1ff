// Package spend records and limits the use of models. A [Meter] wraps a model. It records
// the tokens of every call by purpose, model and day, and refuses calls once a cap is
// reached. All state is in the store, so that a restart does not forget the tokens used.
//
// The counts are the sums of the providers' own figures. A stream that was cut off
// before it reported usage is estimated; the estimate counts towards the cap and is
// recorded separately.
package spend

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Limits bound the calls of a Meter.
type Limits struct {
	// TokensPerDay caps the input and output tokens of all purposes per day (UTC).
	// 0 is no cap.
	TokensPerDay int64
}

// Meter is a model whose calls are recorded and limited.
type Meter struct {
	engine llms.Model
	account
}

// account records and limits the calls of one model for one purpose.
type account struct {
	name    string // of the model, with its provider
	state   store.State
	purpose string
	limits  Limits
	clock   func() time.Time
	// turn is held during a change. Many calls at once would only make each other repeat it.
	turn *sync.Mutex
}

var _ llms.Model = (*Meter)(nil)

// NewMeter returns engine, metered for a purpose such as "summary".
func NewMeter(engine llms.Model, state store.State, purpose string, limits Limits, clock func() time.Time) (*Meter, error) {
	if engine == nil || state == nil {
		return nil, errors.New("spend: a meter needs a model and a store")
	}
	return &Meter{engine, newAccount(engine.Name(), state, purpose, limits, clock)}, nil
}

func newAccount(name string, state store.State, purpose string, limits Limits, clock func() time.Time) account {
	if clock == nil {
		clock = time.Now
	}
	return account{name: name, state: state, purpose: purpose, limits: limits, clock: clock, turn: new(sync.Mutex)}
}

// Name implements [llms.Model].
func (m *Meter) Name() string { return m.engine.Name() }

// Stream implements [llms.Model].
func (m *Meter) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		hold, err := m.allow(ctx, int64(sent(r)+r.MaxTokens)) // the most that it may use
		if err != nil {
			yield(llms.Event{}, err)
			return
		}
		var used llms.Usage
		var heard strings.Builder
		var failure error
		left := false // the reader has stopped
		crashed := true
		defer func() {
			if crashed { // release the reservation; the panic continues
				_ = m.record(context.WithoutCancel(ctx), m.modelOf(r), hold, used, false, errCrashed)
			}
		}()
		for event, err := range m.engine.Stream(ctx, r) {
			if err != nil {
				failure = err
				used = largest(used, usageOf(err))
				break
			}
			if event.Kind == llms.EventUsage || event.Kind == llms.EventEnd {
				used = largest(used, event.Usage)
			}
			heard.WriteString(event.Text)
			if event.Call != nil {
				heard.WriteString(event.Call.Arguments)
			}
			if left = !yield(event, nil); left {
				break
			}
		}
		crashed = false
		guessed := used == llms.Usage{} && heard.Len() > 0
		if guessed { // it was cut off, and some providers report the usage only at the end
			used = llms.Usage{InputTokens: sent(r), OutputTokens: llms.Estimate.Count(heard.String())}
		}
		// Tokens are recorded even if the caller has gone.
		err = m.record(context.WithoutCancel(ctx), m.modelOf(r), hold, used, guessed, failure)
		if failure == nil {
			failure = err
		}
		if failure != nil && !left {
			yield(llms.Event{}, failure)
		}
	}
}

// errCrashed is the recorded error if a model or its reader panicked.
var errCrashed = errors.New("the call crashed")

// usageOf returns the known usage of a failed call.
func usageOf(err error) llms.Usage {
	var failed *llms.Error
	if errors.As(err, &failed) {
		return failed.Usage
	}
	return llms.Usage{}
}

// largest returns the later of two totals of one call: totals only grow.
func largest(a, b llms.Usage) llms.Usage {
	return llms.Usage{InputTokens: max(a.InputTokens, b.InputTokens), OutputTokens: max(a.OutputTokens, b.OutputTokens)}
}

// allow refuses a call if it could exceed the day's cap. Otherwise it reserves the most
// that the call may use.
func (m *account) allow(ctx context.Context, estimate int64) (hold string, err error) {
	if m.limits.TokensPerDay == 0 {
		return "", nil
	}
	now := m.clock()
	hold = rand.Text()
	var refused error
	err = change(ctx, m, store.SpendDaySpace, day(now), func(d *dayTotal) {
		refused = nil
		taken := d.Used
		for id, h := range d.Held {
			if now.After(h.Until) { // its process has ended
				delete(d.Held, id)
				continue
			}
			taken += h.Tokens
		}
		if taken+estimate > m.limits.TokensPerDay {
			refused = &llms.Error{Class: llms.ClassQuota, Provider: m.name, Message: fmt.Sprintf(
				"%d tokens were spent today, this call may cost %d, and the cap is %d", taken, estimate, m.limits.TokensPerDay)}
			return
		}
		if d.Held == nil {
			d.Held = map[string]held{}
		}
		d.Held[hold] = held{Tokens: estimate, Until: now.Add(holdTime)}
	})
	return hold, errors.Join(refused, err)
}

// holdTime is how long the reservation of a call that never ended counts.
const holdTime = 10 * time.Minute

// sent estimates the tokens of a request.
func sent(r llms.Request) int {
	tokens := llms.Estimate.Count(r.System)
	for _, msg := range r.Messages {
		tokens += llms.CountMessage(llms.Estimate, msg)
	}
	for _, t := range r.Tools {
		tokens += llms.Estimate.Count(t.Description) + llms.Estimate.Count(string(t.Parameters))
	}
	return tokens
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// dayTotal holds the usage of all models on one day, and the reservations of
// running calls.
type dayTotal struct {
	Used int64           `json:"used"`
	Held map[string]held `json:"held,omitempty"`
}

type held struct {
	Tokens int64     `json:"tokens"`
	Until  time.Time `json:"until"`
}

// record records the usage and the result of a call.
func (m *account) record(ctx context.Context, model, hold string, used llms.Usage, guessed bool, failure error) error {
	entry := Entry{Purpose: m.purpose, Model: model, Day: day(m.clock())}
	errs := []error{change(ctx, m, store.SpendSpace, entry.key(), func(e *Entry) {
		e.Purpose, e.Model, e.Day = entry.Purpose, entry.Model, entry.Day
		e.Calls++
		if failure != nil {
			e.Failures++
		}
		if guessed {
			e.EstimatedTokens += int64(used.InputTokens + used.OutputTokens)
			return
		}
		e.InputTokens += int64(used.InputTokens)
		e.OutputTokens += int64(used.OutputTokens)
	})}
	errs = append(errs, change(ctx, m, store.SpendDaySpace, entry.Day, func(d *dayTotal) {
		d.Used += int64(used.InputTokens + used.OutputTokens)
		delete(d.Held, hold)
	}))
	return errors.Join(errs...)
}

// modelOf returns the model of a request.
func (m *Meter) modelOf(r llms.Request) string {
	name := m.name
	if r.Model == "" {
		return name
	}
	provider, _, _ := strings.Cut(name, "/")
	return provider + "/" + r.Model
}

// Entry is the usage of one model for one purpose on one day.
type Entry struct {
	Day          string `json:"day"` // 2006-01-02, UTC
	Purpose      string `json:"purpose"`
	Model        string `json:"model"`
	Calls        int64  `json:"calls"`
	Failures     int64  `json:"failures,omitempty"`
	InputTokens  int64  `json:"inputTokens"`
	OutputTokens int64  `json:"outputTokens"`
	// EstimatedTokens is the estimated usage of streams that were cut off before
	// they reported it, or that never report it. The other counts exclude it.
	EstimatedTokens int64 `json:"estimatedTokens,omitempty"`
}

func (e Entry) key() string { return strings.Join([]string{e.Day, e.Purpose, e.Model}, "/") }

// Usage returns all recorded usage, by day, purpose and model.
func Usage(ctx context.Context, state store.State) ([]Entry, error) {
	values, err := state.List(ctx, store.SpendSpace)
	if err != nil {
		return nil, fmt.Errorf("read the recorded usage: %w", err)
	}
	all := make([]Entry, 0, len(values))
	for _, v := range values {
		var e Entry
		if err := json.Unmarshal(v.Data, &e); err != nil {
			return nil, fmt.Errorf("usage entry %s: %w", v.Key, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// maxRaces is how often a change is retried because another process was faster.
const maxRaces = 100

// change applies fn to a value in state with compare-and-set.
func change[T any](ctx context.Context, m *account, space, key string, fn func(*T)) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	for range maxRaces {
		var value T
		v, err := m.state.Get(ctx, space, key)
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
		if _, err = m.state.Put(ctx, space, key, data, v.Version, time.Time{}); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s/%s kept changing", space, key)
}
