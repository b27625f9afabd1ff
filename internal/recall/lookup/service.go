package lookup

import (
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
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
	countTo int // how many matches are counted before an answer says "at least"
	clock   func() time.Time
}

// Option sets something of a Service.
type Option func(*Service)

// WithCounter counts tokens with c instead of estimating them.
func WithCounter(c llms.Counter) Option { return func(s *Service) { s.counter = c } }

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
	return svc, nil
}

// refuse returns an error of kind ErrRefused.
func refuse(advice, format string, args ...any) error {
	return &hint.Error{Err: fmt.Errorf(format, args...), Hint: advice, Kind: recall.ErrRefused}
}
