package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// IResponseChStarter is a call that is prepared but does not run yet. Each
// start runs it anew and returns a stream of its own.
type IResponseChStarter interface {
	// Start runs the call without a deadline of its own.
	Start() *Stream
	// StartContext runs the call until it ends or ctx does.
	StartContext(ctx context.Context) *Stream
}

// StarterFunc is a function as a prepared call. It runs in a goroutine of its own,
// reports events with emit, and returns the final answer or an error. emit is safe
// for concurrent use and drops terminal events: the stream writes the last event
// from the results of the function.
type StarterFunc func(ctx context.Context, emit func(Event)) (string, error)

// Start implements [IResponseChStarter].
func (f StarterFunc) Start() *Stream { return f.StartContext(context.Background()) }

// StartContext implements [IResponseChStarter].
func (f StarterFunc) StartContext(ctx context.Context) *Stream {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream{cancel: cancel, grown: make(chan struct{})}
	go s.run(ctx, f)
	return s
}

// ErrStopped is the cause of the error that ends a stream after Stop.
var ErrStopped = errors.New("stream was stopped by its reader")

// Stream is the log of events of one running call. It ends in exactly one
// event of kind EventDone or EventError. Any number of readers may range over
// it at any time; each sees every event in order. The log is unbounded, so the
// call never waits for a reader. Pieces of text that come after many events are
// joined to larger ones.
type Stream struct {
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	events []Event
	usage  Usage
	stop   StopReason // of the last model call of the stream's own
	ended  bool
	grown  chan struct{} // closed and replaced whenever events grew
}

// run writes the log. A panic, or a runtime.Goexit, of the body ends the
// stream with an error like any other failure: a reader must never wait for
// an end that does not come.
func (s *Stream) run(ctx context.Context, f StarterFunc) {
	text, err := "", errors.New("the call ended without an answer")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the call panicked: %v", p)
		}
		s.finish(text, err)
		s.cancel(nil)
	}()
	text, err = f(ctx, s.emit)
}

func (s *Stream) emit(e Event) {
	if e.Terminal() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return // a tool that outlived its deadline is still talking
	}
	if e.Kind == EventUsage && e.Usage != nil {
		s.usage = s.usage.Add(*e.Usage)
	}
	if e.Kind == EventUsage && len(e.From) == 0 {
		s.stop = e.Stop
	}
	s.appendLocked(e)
}

func (s *Stream) finish(text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	usage := s.usage
	last := Event{Kind: EventDone, Text: text, Stop: s.stop, Usage: &usage}
	if err != nil {
		last = Event{Kind: EventError, Err: err, Usage: &usage}
	}
	s.ended = true
	s.appendLocked(last)
}

// A stream with more than manyEvents joins pieces of text up to largePiece bytes: an event takes
// ten times as much room as the text of a token.
const (
	manyEvents = 1 << 12
	largePiece = 1 << 10
)

func (s *Stream) appendLocked(e Event) {
	if n := len(s.events); n >= manyEvents && s.events[n-1].continues(e) {
		s.events[n-1].Text += e.Text
	} else {
		s.events = append(s.events, e)
	}
	close(s.grown)
	s.grown = make(chan struct{})
}

// continues reports whether a piece of text can be joined to the event before it.
func (e Event) continues(next Event) bool {
	return (e.Kind == EventText || e.Kind == EventReasoning) && e.Kind == next.Kind && slices.Equal(e.From, next.From) && len(e.Text)+len(next.Text) <= largePiece
}

// Events returns the events from the first to the one that ends the stream,
// waiting for those that have not happened yet. Leaving the loop early stops
// the reading, not the call: see Stop.
func (s *Stream) Events() iter.Seq[Event] { return s.until(nil) }

// EventsContext is Events for a reader that may have to leave: the loop ends
// with ctx too, and then without the event that ends the stream.
func (s *Stream) EventsContext(ctx context.Context) iter.Seq[Event] { return s.until(ctx.Done()) }

func (s *Stream) until(done <-chan struct{}) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		var at place
		for {
			e, ok := s.next(&at, done)
			if !ok || !yield(e) || e.Terminal() {
				return
			}
		}
	}
}

// place is how far a reader is.
type place struct {
	events int // that it has seen
	text   int // bytes of the text of the last of them, which may grow
}

// next waits for the event after a place, or for done.
func (s *Stream) next(at *place, done <-chan struct{}) (Event, bool) {
	for {
		s.mu.Lock()
		if i := at.events - 1; i >= 0 && len(s.events[i].Text) > at.text {
			e := s.events[i]
			e.Text, at.text = e.Text[at.text:], len(e.Text)
			s.mu.Unlock()
			return e, true
		}
		if at.events < len(s.events) {
			e := s.events[at.events]
			at.events, at.text = at.events+1, len(e.Text)
			s.mu.Unlock()
			return e, true
		}
		grown := s.grown
		s.mu.Unlock()
		select {
		case <-grown:
		case <-done:
			return Event{}, false
		}
	}
}

// Wait returns the event that ends the stream, once it has.
func (s *Stream) Wait() Event {
	var last Event
	for e := range s.Events() {
		last = e
	}
	return last
}

// Text waits for the end and returns the final answer, or the error that
// ended the stream.
func (s *Stream) Text() (string, error) {
	last := s.Wait()
	return last.Text, last.Err
}

// Stop cancels the call. The stream still ends in one event, an error in most
// cases; Text waits for it.
func (s *Stream) Stop() { s.cancel(ErrStopped) }

// Fail returns a prepared call that ends in err as soon as it is started.
func Fail(err error) IResponseChStarter {
	return StarterFunc(func(context.Context, func(Event)) (string, error) { return "", err })
}
