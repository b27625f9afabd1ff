package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/redact"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// ErrIgnored says that the user's settings exclude a session: nothing of it
// is stored, by whatever way it comes in.
var ErrIgnored = errors.New("the session is never stored")

// Privacy is what a user wants kept out of the record. The zero value keeps
// out private blocks only.
type Privacy struct {
	// IgnoreSessions are patterns of session keys, and IgnoreProjects of
	// project directories or git origins, that are never stored. A * stands
	// for any characters, slashes included.
	IgnoreSessions []string
	IgnoreProjects []string
	// Redact says what becomes of secrets; empty is [redact.Off].
	Redact redact.Mode
}

// Ignored returns an error that wraps [ErrIgnored], and says which pattern it
// was, if a session is never to be stored. [Ingester.Append] and
// [Ingester.Sync] ask it before they write; a caller may ask before it makes a
// conversation.
func (p Privacy) Ignored(key string, in store.Project) error {
	for _, pattern := range p.IgnoreSessions {
		if matches(pattern, key) {
			return fmt.Errorf("%w: its key %q matches %q of ignore_session_patterns", ErrIgnored, key, pattern)
		}
	}
	for _, pattern := range p.IgnoreProjects {
		for _, place := range []string{in.Root, in.Origin} {
			if place != "" && inside(pattern, place) {
				return fmt.Errorf("%w: its project %s matches %q of ignore_project_patterns", ErrIgnored, place, pattern)
			}
		}
	}
	return nil
}

// inside reports whether a place is one that a pattern names, or lies in one.
func inside(pattern, place string) bool {
	place = filepath.ToSlash(place)
	pattern = strings.TrimSuffix(filepath.ToSlash(pattern), "/")
	return pattern != "" && (matches(pattern, place) || matches(pattern+"/*", place))
}

// matches reports whether a text matches a pattern in which * stands for any
// characters, slashes included.
func matches(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, rest, found := strings.Cut(text, piece)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// Option says more about an Ingester than [New] must know.
type Option func(*Ingester)

// WithPrivacy keeps out of the record what p says.
func WithPrivacy(p Privacy) Option { return func(in *Ingester) { in.privacy = p } }

// Forgotten says which messages were erased from the session with this key on
// the user's order, and would not be stored again; nil says that none were.
func (in *Ingester) Forgotten(ctx context.Context, key string, ms []Input) ([]bool, error) {
	ms, err := in.clean(ms)
	if err != nil {
		return nil, err
	}
	return in.forgotten(ctx, key, ms)
}

func (in *Ingester) forgotten(ctx context.Context, key string, ms []Input) ([]bool, error) {
	return in.store.Forgotten(ctx, key, func(yield func(store.Fingerprint) bool) {
		for _, m := range ms {
			if !yield(fingerprint(m.Message)) {
				return
			}
		}
	})
}

// fingerprint is what a message is known by.
func fingerprint(m llms.Message) store.Fingerprint {
	return store.Fingerprint{Native: m.ID, Said: m.Time, SHA256: recordSum(m), Content: func() (sum [sha256.Size]byte, long bool) {
		format, record, _, err := recordOf(m)
		if err != nil {
			return sum, false // it is not stored either
		}
		return store.ContentSum(format, m.Role, record)
	}}
}

// remembered leaves out what was erased.
func (in *Ingester) remembered(ctx context.Context, key string, history []Input) ([]Input, error) {
	gone, err := in.forgotten(ctx, key, history)
	if err != nil || !slices.Contains(gone, true) {
		return history, err
	}
	var left []Input
	for i, m := range history {
		if !gone[i] {
			left = append(left, m)
		}
	}
	return left, nil
}
