package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// beside returns another process's ingester of the same database.
func (b bed) beside(t *testing.T, path string) bed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	in, err := ingest.New(db, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return bed{DB: db, Ingester: in, id: b.id}
}

func TestIngestersAtOnceStoreAHistoryOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	first := bed{}.beside(t, path)
	all := []bed{first, first.beside(t, path), first.beside(t, path)}
	for round := range 10 {
		c, err := first.Open(t.Context(), store.NewConversation{Key: fmt.Sprint("round ", round)})
		if err != nil {
			t.Fatal(err)
		}
		// Each host is a few messages further than the one before it.
		var wg sync.WaitGroup
		for i, b := range all {
			wg.Go(func() {
				if _, err := b.Sync(t.Context(), c.ID, ingest.Messages(history(40+2*i)...)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		b := bed{DB: first.DB, Ingester: first.Ingester, id: c.ID}
		for w, n := range b.texts(t) {
			if n != 1 {
				t.Errorf("round %d: %q is stored %d times", round, w, n)
			}
		}
		if n := len(b.all(t)); n != 44 {
			t.Errorf("round %d: %d messages, want 44", round, n)
		}
	}
}

// interrupted is a store in which something happens between the comparison of
// a history and the transaction that stores it.
type interrupted struct {
	*sqlite.DB
	between func()
}

func (s *interrupted) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	s.between()
	return s.DB.Update(ctx, id, fn)
}

// Another ingester stores its own state of the same history in between: each
// message is stored once, in order.
func TestSyncSeesWhatAnotherOneStoredMeanwhile(t *testing.T) {
	b := newBed(t, 0)
	rapid.Check(t, func(rt *rapid.T) {
		b = b.next(t)
		all := history(12)
		if rapid.Bool().Draw(rt, "ids") {
			all = named(all)
		}
		size := rapid.IntRange(0, len(all))
		b.sync(t, all[:size.Draw(rt, "before")]...)
		ours, theirs := size.Draw(rt, "ours"), size.Draw(rt, "theirs")
		s := &interrupted{DB: b.DB}
		s.between = sync.OnceFunc(func() { b.sync(t, all[:theirs]...) })
		in, err := ingest.New(s, nil, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := in.Sync(t.Context(), b.id, ingest.Messages(all[:ours]...)); err != nil {
			rt.Fatal(err)
		}
		for w, n := range b.texts(t) {
			if n != 1 {
				rt.Fatalf("%q is stored %d times", w, n)
			}
		}
		for i, m := range b.all(t) {
			if m.Body.PlainText() != all[i].PlainText() {
				rt.Fatalf("message %d is %q", i, m.Body.PlainText())
			}
		}
	})
}

func TestSyncGivesUpWhenOthersNeverStop(t *testing.T) {
	b := newBed(t, 0)
	n := 0
	s := &interrupted{DB: b.DB, between: func() {
		n++
		b.append(t, llms.User(fmt.Sprint("another ", n)))
	}}
	in, err := ingest.New(s, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = in.Sync(t.Context(), b.id, ingest.Messages(history(3)...))
	if !errors.Is(err, store.ErrStale) || !errors.As(err, new(*hint.Error)) {
		t.Errorf("got %v, want ErrStale with a hint", err)
	}
	if got := b.texts(t); len(got) != n {
		t.Errorf("stored %v, want only what the others stored", got)
	}
}
