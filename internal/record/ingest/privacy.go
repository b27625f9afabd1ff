package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Privacy selects content to keep out of the record.
type Privacy = record.Privacy

// ErrIgnored is [record.ErrIgnored].
var ErrIgnored = record.ErrIgnored

// CheckIgnored returns an error that wraps [ErrIgnored] and names the pattern if a
// session must not be stored. [Ingester.Append] and [Ingester.Sync] check it
// before they write; a caller may check it before it makes a conversation.
func CheckIgnored(p Privacy, key string, in store.Project) error {
	for _, pattern := range p.IgnoreSessions {
		if matches(pattern, key) {
			return fmt.Errorf("%w: its key %q matches %q of ignore_session_patterns", ErrIgnored, key, pattern)
		}
	}
	for _, pattern := range p.IgnoreProjects {
		if KeepsOut(pattern, in) {
			return fmt.Errorf("%w: its project %s matches %q of ignore_project_patterns", ErrIgnored, cmp.Or(in.Origin, in.Root), pattern)
		}
	}
	return nil
}

// KeepsOut reports whether a pattern of ignored or private projects matches the directory
// of a project, one above it, or its git origin. Origins are compared in any case and any
// form of their URL: a pattern that misses would publish a project.
func KeepsOut(pattern string, p store.Project) bool {
	return p.Root != "" && inside(pattern, p.Root) || p.Origin != "" && inside(plainOrigin(pattern), plainOrigin(p.Origin))
}

// plainOrigin returns the URL of a repository, or a pattern of URLs, as host/path in lower
// case: without scheme, user, port and ".git".
func plainOrigin(url string) string {
	url = strings.ToLower(strings.TrimSpace(filepath.ToSlash(url)))
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	host, path, _ := strings.Cut(url, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if name, rest, ok := strings.Cut(host, ":"); ok { // a port, or git@host:path
		host = name
		if strings.Trim(rest, "0123456789") != "" {
			path = rest + "/" + path
		}
	}
	return host + "/" + strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

// MatchesProject reports whether a pattern matches the git origin of a project or, if it
// has none, its directory. Without a * it matches this one project: what is below it needs
// a pattern that ends with /*.
func MatchesProject(pattern string, p store.Project) bool {
	name := cmp.Or(p.Origin, p.Root)
	return name != "" && matches(path.Clean(filepath.ToSlash(pattern)), path.Clean(filepath.ToSlash(name)))
}

// inside reports whether a pattern matches a directory or one above it.
func inside(pattern, dir string) bool {
	dir = filepath.ToSlash(dir)
	pattern = strings.TrimSuffix(filepath.ToSlash(pattern), "/")
	return pattern != "" && (matches(pattern, dir) || matches(pattern+"/*", dir))
}

// matches reports whether a text matches a pattern in which * matches any
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

// Option configures an Ingester.
type Option func(*Ingester)

// WithPrivacy sets the content that the user keeps out of the record.
func WithPrivacy(p Privacy) Option { return func(in *Ingester) { in.privacy = p } }

// Forgotten says for each message whether the user erased it from the session
// with this key and project, so that it would not be stored again; nil means none. It
// cleans the messages only if something was ever erased: that is most of the work of storing them.
func (in *Ingester) Forgotten(ctx context.Context, key string, p store.Project, inputs []Input) ([]bool, error) {
	var unclean error
	gone, err := in.store.Forgotten(ctx, key, p, func(yield func(store.Fingerprint) bool) {
		var ms []input
		ms, unclean = in.clean(inputs)
		fingerprints(ms)(yield)
	})
	return gone, cmp.Or(unclean, err)
}

func fingerprints(ms []input) iter.Seq[store.Fingerprint] {
	return func(yield func(store.Fingerprint) bool) {
		for _, m := range ms {
			if !yield(fingerprint(m.Message)) {
				return
			}
		}
	}
}

// fingerprint returns the hashes by which an erased message is recognised.
func fingerprint(m llms.Message) store.Fingerprint {
	return store.Fingerprint{Native: m.ID, Said: m.Time, SHA256: recordSum(m), Content: func() (sum [sha256.Size]byte, long bool) {
		format, record, _, err := recordOf(m)
		if err != nil {
			return sum, false // it is not stored either
		}
		return store.ContentSum(format, m.Role, record)
	}}
}

// remembered drops erased messages.
func (in *Ingester) remembered(ctx context.Context, c store.Conversation, history []input) ([]input, error) {
	gone, err := in.store.Forgotten(ctx, c.Key, c.Project, fingerprints(history))
	if err != nil || !slices.Contains(gone, true) {
		return history, err
	}
	i := -1
	return slices.DeleteFunc(slices.Clone(history), func(input) bool {
		i++
		return gone[i]
	}), nil
}
