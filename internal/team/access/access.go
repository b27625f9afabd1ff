// Package access keeps the tokens of a team server and the audit of who changed what.
//
// A token names a user, the projects that the user may see, and the actions that are
// allowed there. [Tokens.Add] returns its text once; the store keeps its hash. A token
// has 160 random bits, so that a plain SHA-256 cannot be searched. [Tokens.Check] turns
// the text of a request into a [Token], and [Token.Scope] into the scope of a store.
//
// Tokens and audit rows are small values of [store.State]: every backend has them, and
// replicas see a change with their next request.
package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Token is a stored token.
type Token struct {
	ID   string `json:"id"` // the first digits of the hash
	User string `json:"user"`
	// Projects are patterns of git origins or directories; a * matches any
	// characters. None means all projects.
	Projects []string `json:"projects,omitempty"`
	Append   bool     `json:"append"`
	Erase    bool     `json:"erase"`

	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Covers reports whether a project is one of the token's.
func (t Token) Covers(p store.Project) bool {
	return len(t.Projects) == 0 || slices.ContainsFunc(t.Projects, func(pattern string) bool { return ingest.MatchesProject(pattern, p) })
}

// Scope returns what the token allows.
func (t Token) Scope() scope.Scope {
	s := scope.Scope{Name: "token " + t.ID, Append: t.Append, Erase: t.Erase}
	if len(t.Projects) > 0 {
		s.Covers = t.Covers
	}
	return s
}

// State says whether the token is valid at a time: "valid", "expired" or "revoked".
func (t Token) State(now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return "expired"
	}
	return "valid"
}

// Rights returns what the token allows, as people read it.
func (t Token) Rights() string {
	rights := "read"
	if t.Append {
		rights += ", append"
	}
	if t.Erase {
		rights += ", erase"
	}
	return rights
}

// ErrInvalid says that a token is unknown, revoked or expired. Its text does not say
// which, so that nobody learns of tokens by trying.
var ErrInvalid = errors.New("the token is not valid")

// Tokens are the tokens of a store.
type Tokens struct {
	State store.State
	Clock func() time.Time
}

// prefix lets people and scanners of secrets recognise a token.
const prefix = "lcm_"

// name is the form of users and machines: they become part of session keys.
var name = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidName reports whether a text can name a user or a machine.
func ValidName(text string) bool { return name().MatchString(text) }

// Add stores a new token and returns its text, which cannot be read again. by says who
// adds it.
func (s Tokens) Add(ctx context.Context, t Token, by string) (text string, added Token, err error) {
	if !ValidName(t.User) {
		return "", t, fmt.Errorf("%q cannot name a user: want letters, digits, dots, dashes and underscores, at most 64", t.User)
	}
	if slices.Contains(t.Projects, "") {
		return "", t, errors.New("a project of the token is empty")
	}
	now := s.Clock()
	if !t.Expires.IsZero() && !t.Expires.After(now) {
		return "", t, fmt.Errorf("the token would expire at %s, which is past", t.Expires.Format(time.RFC3339))
	}
	random := make([]byte, 20)
	_, _ = rand.Read(random) // it never fails
	text = prefix + hex.EncodeToString(random)
	key := hash(text)
	t.ID, t.Created, t.Revoked = key[:8], now.UTC().Truncate(time.Second), time.Time{}
	data, err := json.Marshal(t)
	if err != nil {
		return "", t, err
	}
	if err := s.audit(ctx, by, "token add", t); err != nil {
		return "", t, err
	}
	if _, err := s.State.Put(ctx, store.TokenSpace, key, data, 0, time.Time{}); err != nil {
		return "", t, fmt.Errorf("store the token: %w", err)
	}
	return text, t, nil
}

// hash is the key under which a token is stored.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// List returns all tokens, newest first.
func (s Tokens) List(ctx context.Context) ([]Token, error) {
	values, err := s.State.List(ctx, store.TokenSpace)
	if err != nil {
		return nil, err
	}
	all := make([]Token, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v.Data, &all[i]); err != nil {
			return nil, fmt.Errorf("read a token: %w", err)
		}
	}
	slices.SortStableFunc(all, func(a, b Token) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// Revoke ends a token by its id. It stays in the list.
func (s Tokens) Revoke(ctx context.Context, id, by string) (Token, error) {
	values, err := s.State.List(ctx, store.TokenSpace)
	if err != nil {
		return Token{}, err
	}
	for _, v := range values {
		var t Token
		if err := json.Unmarshal(v.Data, &t); err != nil {
			return t, fmt.Errorf("read a token: %w", err)
		}
		if t.ID != strings.ToLower(id) {
			continue
		}
		if !t.Revoked.IsZero() {
			return t, nil
		}
		if err := s.audit(ctx, by, "token revoke", t); err != nil {
			return t, err
		}
		t.Revoked = s.Clock().UTC().Truncate(time.Second)
		data, err := json.Marshal(t)
		if err != nil {
			return t, err
		}
		_, err = s.State.Put(ctx, store.TokenSpace, v.Key, data, v.Version, time.Time{})
		return t, err
	}
	return Token{}, store.Missing("token " + id)
}

// Check returns the token with a text, or ErrInvalid.
func (s Tokens) Check(ctx context.Context, text string) (Token, error) {
	var t Token
	if !strings.HasPrefix(text, prefix) {
		return t, ErrInvalid
	}
	// The store is asked for a hash: how long that takes tells nothing of a token.
	v, err := s.State.Get(ctx, store.TokenSpace, hash(text))
	if errors.Is(err, store.ErrNotFound) {
		return t, ErrInvalid
	}
	if err == nil {
		err = json.Unmarshal(v.Data, &t)
	}
	if err != nil {
		return Token{}, fmt.Errorf("check the token: %w", err)
	}
	if t.State(s.Clock()) != "valid" {
		return Token{}, ErrInvalid
	}
	return t, nil
}

func (s Tokens) audit(ctx context.Context, by, action string, t Token) error {
	projects := "all projects"
	if len(t.Projects) > 0 {
		projects = strings.Join(t.Projects, " ")
	}
	return Audit(s).Add(ctx, Entry{Who: by, Action: action, Detail: fmt.Sprintf("%s of %s: %s in %s", t.ID, t.User, t.Rights(), projects)})
}
