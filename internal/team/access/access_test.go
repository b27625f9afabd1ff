package access_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/llms"
)

func TestTokens(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "lcm.db")
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tokens := access.Tokens{State: db, Clock: clock}
	text, added, err := tokens.Add(ctx, access.Token{User: "alice", Projects: []string{"github.com/acme/*"}, Append: true, Expires: now.Add(time.Hour)}, "root")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := tokens.Add(ctx, access.Token{User: "bob", Erase: true}, "root")
	if err != nil || other == text {
		t.Fatal(other, err)
	}
	if got, err := tokens.Check(ctx, text); err != nil || got.User != "alice" || got.ID != added.ID || !got.Append || got.Erase {
		t.Errorf("check: %+v, %v", got, err)
	}
	for _, wrong := range []string{"", "lcm_", text + "0", strings.ToUpper(text), added.ID, strings.TrimPrefix(text, "lcm_")} {
		if got, err := tokens.Check(ctx, wrong); !errors.Is(err, access.ErrInvalid) || got.User != "" {
			t.Errorf("%q: %+v, %v", wrong, got, err)
		}
	}
	// The text of a token is in no file of the database.
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || bytes.Contains(b, []byte(text[4:])) {
			t.Errorf("%s has the token: %v", f, err)
		}
	}
	if db, err = sqlite.Open(ctx, path, sqlite.Options{Clock: clock}); err != nil {
		t.Fatal(err)
	}
	tokens.State = db
	if _, err := tokens.Revoke(ctx, "nonesuch", "root"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoke an unknown token: %v", err)
	}
	list, err := tokens.List(ctx)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, l := range list {
		if l.User == "bob" {
			if _, err := tokens.Revoke(ctx, l.ID, "carol"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := tokens.Check(ctx, other); !errors.Is(err, access.ErrInvalid) {
		t.Errorf("a revoked token: %v", err)
	}
	// Erasures leave tokens and audit alone, whatever their pattern matches.
	engine, err := lcm.New(db, lcm.WithoutBackground(), lcm.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Session("s").Append(ctx, llms.User("alice wrote this")); err != nil {
		t.Fatal(err)
	}
	order, err := engine.Order(ctx, lcm.EraseQuery{Pattern: "alice|token|root"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Erase(ctx, order, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Check(ctx, text); err != nil {
		t.Errorf("an erasure took the token: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if _, err := tokens.Check(ctx, text); !errors.Is(err, access.ErrInvalid) {
		t.Errorf("an expired token: %v", err)
	}
	rows, err := access.Audit{State: db, Clock: clock}.List(ctx)
	if err != nil || len(rows) != 3 || rows[0].Action != "token revoke" || rows[0].Who != "carol" || !strings.Contains(rows[2].Detail, "alice: read, append in github.com/acme/*") {
		t.Errorf("audit: %+v, %v", rows, err)
	}
	for _, wrong := range []access.Token{{}, {User: "a b"}, {User: "a/b"}, {User: "x", Projects: []string{""}}, {User: "x", Expires: now}} {
		if _, _, err := tokens.Add(ctx, wrong, "root"); err == nil {
			t.Errorf("%+v was added", wrong)
		}
	}
}

func TestTokenScope(t *testing.T) {
	covers := access.Token{Projects: []string{"github.com/acme/*", "/src/notes"}}.Scope().Covers
	for p, want := range map[store.Project]bool{
		{Origin: "github.com/acme/app", Root: "/x"}:     true,
		{Origin: "github.com/acmecorp/app"}:             false,
		{Origin: "github.com/other/app", Root: "/x"}:    false,
		{Root: "/src/notes"}:                            true,
		{Root: "/src/notes/"}:                           true,
		{Root: "/src/notes/sub"}:                        false,
		{Root: "/src/notes/../secret"}:                  false,
		{Origin: "github.com/acme/app/sub"}:             true,
		{Origin: "github.com/acme/../other/app"}:        false,
		{Root: "/src/notes-private"}:                    false,
		{}:                                              false,
		{Origin: "evil/github.com/acme/app"}:            false,
		{Origin: "github.com/evil", Root: "/src/notes"}: false,
	} {
		if got := covers(p); got != want {
			t.Errorf("%+v: %t", p, got)
		}
	}
	if (access.Token{}).Scope().Covers != nil {
		t.Error("a token without projects does not cover all")
	}
}
