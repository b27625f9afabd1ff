package recall

import (
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Store is the part of a store that recall reads.
type Store interface {
	store.Reader
	store.Searcher
	store.Attachments
}

// Service answers questions about the record. It is safe for concurrent use.
type Service struct {
	store   Store
	scopes  scopeResolver
	counter llms.Counter
	countTo int
	clock   func() time.Time
}

// Option sets something of a Service.
type Option func(*Service)

// WithCounter counts tokens with c instead of estimating them.
func WithCounter(c llms.Counter) Option { return func(s *Service) { s.counter = c } }

// WithCountTo sets how many matches of a pattern are counted before an answer
// says "at least" (1,000).
func WithCountTo(n int) Option { return func(s *Service) { s.countTo = n } }

// WithClock sets the clock from which times such as "7d" count back (time.Now).
func WithClock(clock func() time.Time) Option { return func(s *Service) { s.clock = clock } }

// New returns a service on a store.
func New(s Store, options ...Option) (*Service, error) {
	if s == nil {
		return nil, errors.New("recall: no store was given")
	}
	svc := &Service{store: s, scopes: scopeResolver{s}, counter: llms.Estimate, countTo: 1000, clock: time.Now}
	for _, o := range options {
		o(svc)
	}
	if svc.counter == nil {
		return nil, errors.New("recall: the token counter is nil")
	}
	if svc.countTo < 1 {
		return nil, fmt.Errorf("recall: cannot count to %d", svc.countTo)
	}
	return svc, nil
}

// Error is a question that cannot be answered as it was asked, with a hint of
// how to ask. What it wraps tells a thing that does not exist
// ([store.ErrNotFound]) from one that is out of scope ([ErrOutOfScope]).
type Error struct {
	Err  error
	Hint string
}

// Error returns what is wrong and, after a semicolon, what to do about it.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v; %s", e.Err, e.Hint)
}

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }

// ErrOutOfScope says that something exists, but not where it was looked for.
var ErrOutOfScope = errors.New("out of scope")

// refuse returns an Error.
func refuse(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint}
}
