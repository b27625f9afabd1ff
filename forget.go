package lcm

import (
	"github.com/lossless-context/lcm/ingest"
	"github.com/lossless-context/lcm/store"
)

// WithPrivacy keeps out of the record what p says: sessions and projects that
// are never stored, and secrets. Whatever comes in through an Engine goes
// through it.
func WithPrivacy(p ingest.Privacy) Option {
	return func(s *settings) error { s.privacy = p; return nil }
}

// Ignored returns an error that wraps [ingest.ErrIgnored] if the session with
// this key, in this project, is never to be stored.
func (e *Engine) Ignored(key string, in store.Project) error {
	return e.settings.privacy.Ignored(key, in)
}

// Ignored returns an error that wraps [ingest.ErrIgnored] if the session is
// never to be stored. Everything that would write to it returns the same.
func (s *Session) Ignored() error { return s.engine.Ignored(s.open.Key, s.open.Project) }
