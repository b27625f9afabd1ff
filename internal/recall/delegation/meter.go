package delegation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

func addUsage(u, v recall.Usage) recall.Usage {
	return recall.Usage{Calls: u.Calls + v.Calls, InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens}
}

// maxIdle is how many calls of the model in a row may go by without anything
// being read. Each call sends the whole transcript again: a sub-agent that
// went on asking after its grant was spent once cost 871,150 input tokens.
const maxIdle = 3

// Why a meter refuses a call of the model. They begin the reason that the
// caller of Ask reads.
var (
	errBudget = errors.New("budget")
	errLoop   = errors.New("loop")
)

// Meter counts the tokens sent to the model of one sub-agent and refuses calls
// beyond its budget. It also ends a sub-agent that calls its model again and
// again without reading anything.
type Meter struct {
	budget int // input tokens
	count  func(string) int

	mu    sync.Mutex
	used  recall.Usage
	size  int     // of the last request and its answer, as count sees it
	ratio float64 // how many tokens the provider counts for one of ours
	fed   int     // tokens that tools returned since the last request
	idle  int     // calls since something was read
	read  int     // tokens of the record that tools returned
	stop  error   // why a call was refused

	// window is how many tokens the model takes in one request, as far as it has refused
	// larger ones; 0 is not known. narrowed says that it has just become known.
	window   int
	narrowed bool
}

// safety allows for a provider that counts one request differently from the last.
const safety = 1.05

func newMeter(budget, window int, count func(string) int) *Meter {
	return &Meter{budget: budget, window: window, count: count, ratio: 1}
}

// Engine returns e with its calls counted and bounded. A [Runner] runs the
// sub-agent's model through it.
func (m *Meter) Engine(e llms.Model) llms.Model { return meteredEngine{e, m} }

type meteredEngine struct {
	llms.Model
	meter *Meter
}

// Stream implements [llms.Model].
func (e meteredEngine) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		size, err := e.meter.begin(r)
		if err != nil {
			yield(llms.Event{}, err)
			return
		}
		var cost llms.Usage
		defer func() { e.meter.end(size, cost) }()
		for event, err := range e.Model.Stream(ctx, r) {
			var failure *llms.Error
			switch {
			case llms.ClassOf(err) == llms.ClassContextLength:
				e.meter.refuse(size)
				size = 0 // it was not read
			case errors.As(err, &failure) && failure.Usage != (llms.Usage{}):
				cost = failure.Usage
			case err == nil && (event.Kind == llms.EventUsage || event.Kind == llms.EventEnd):
				cost = event.Usage
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// begin admits a call, or says why not. It returns the size of the request as
// the counter sees it.
func (m *Meter) begin(r llms.Request) (int, error) {
	size := m.sizeOf(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	expected := m.expected(size)
	switch {
	case m.idle >= maxIdle:
		m.stop = fmt.Errorf("%w: the sub-agent called its model %d times without reading anything", errLoop, m.idle)
	case m.used.InputTokens+expected > m.budget:
		m.stop = fmt.Errorf("%w: the next call of the model would exceed the %d input tokens that a question may cost (LCM_MAX_MODEL_TOKENS): %d are spent and it needs about %d",
			errBudget, m.budget, m.used.InputTokens, expected)
	default:
		m.used.Calls++
		m.idle++
		m.size, m.fed = size, 0
		return size, nil
	}
	return 0, m.stop
}

// refuse notes that a request was too large for the model. Nobody says how much too large:
// half of it is tried next, unless nothing of it was read and could be left out.
func (m *Meter) refuse(size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window, m.narrowed = int(float64(size)*m.ratio)/2, m.read > 0
}

// again prepares another attempt with smaller pages and returns the window for it, or 0 if
// none would help. What was read so far was read in vain.
func (m *Meter) again() (window int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.narrowed {
		return 0
	}
	m.narrowed, m.read, m.idle = false, 0, 0
	return m.window
}

// end adds the cost of a call. A provider that names none is charged with the
// estimate.
func (m *Meter) end(size int, cost llms.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cost.InputTokens == 0 {
		cost.InputTokens = size
	}
	m.used = addUsage(m.used, recall.Usage{InputTokens: cost.InputTokens, OutputTokens: cost.OutputTokens})
	m.size = size + cost.OutputTokens // the next request repeats both
	if size > 0 {
		m.ratio = float64(cost.InputTokens) / float64(size)
	}
}

// expected is the provider's count for a request of a size.
func (m *Meter) expected(size int) int { return int(float64(size) * m.ratio * safety) }

// sizeOf counts the tokens of a request.
func (m *Meter) sizeOf(r llms.Request) int {
	n := m.count(r.System)
	for _, t := range r.Tools {
		n += m.count(t.Name) + m.count(t.Description) + m.count(string(t.Parameters))
	}
	for _, message := range r.Messages {
		n += m.count(message.Render())
	}
	return n
}

// room returns how many tokens a tool may return so that the model can still be called
// twice: to read them, and to answer if it asks for more instead.
func (m *Meter) room() int { return m.roomAfter(0) }

// lastPage reports whether no tool may return anything after the next call of the
// model, which reads what was returned so far.
func (m *Meter) lastPage() bool { return m.roomAfter(1) < minPage }

// roomAfter returns the room that there is after some more calls.
func (m *Meter) roomAfter(calls int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used.Calls == 0 { // a runner without a model
		return m.budget
	}
	// What the next request repeats. The text around a page and what the model says
	// when it asks for the next one come on top.
	next := m.size + m.fed + 128 + m.budget/64
	left := int(float64(m.budget-m.used.InputTokens) / (m.ratio * safety))
	room := (left-calls*next)/2 - next
	if m.window > 0 { // an eighth is for the answer
		room = min(room, int(float64(m.window)/(m.ratio*safety))*7/8-m.size-m.fed-128)
	}
	return room
}

// feed counts the result of a tool, and how many tokens of the record are in it:
// searches that find nothing do not keep a sub-agent going.
func (m *Meter) feed(tokens, read int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fed += tokens
	m.read += read
	if read > 0 {
		m.idle = 0
	}
}

// spent returns the cost so far, and how many tokens of the record were read for it.
func (m *Meter) spent() (cost recall.Usage, read int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.read
}

// stopped returns why a call of the model was refused, if one was.
func (m *Meter) stopped() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stop
}
