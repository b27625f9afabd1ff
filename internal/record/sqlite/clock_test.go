package sqlite_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// said makes messages with native ids and times.
func said(native string, at ...time.Time) []store.NewMessage {
	var all []store.NewMessage
	for i, t := range at {
		text := fmt.Sprintf("%s %d", native, i)
		all = append(all, store.NewMessage{Native: text, Said: t, Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text),
			Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 1})
	}
	return all
}

// add appends messages to a session, and returns how many were refused.
func add(t *testing.T, db *sqlite.DB, key string, ms []store.NewMessage) (refused int) {
	t.Helper()
	c, err := db.Open(t.Context(), store.NewConversation{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		done, err := w.Append(context.WithoutCancel(t.Context()), ms...)
		for _, d := range done {
			if d.Forgotten {
				refused++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return refused
}

// TestForgetWithWrongClock: a conversation that is forgotten while the clock is
// ahead, or that has messages with dates in the future, stays forgotten, and its
// session goes on.
func TestForgetWithWrongClock(t *testing.T) {
	const day = 24 * time.Hour
	real := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ ahead, dated time.Duration }{
		"clock ahead":               {ahead: 400 * day},
		"clock ahead by an hour":    {ahead: time.Hour},
		"dates in the future":       {dated: 400 * day},
		"clock and dates, the same": {ahead: 400 * day, dated: 400 * day},
		"neither":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			now := real
			db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Clock: func() time.Time { return now }})
			old := said("old", real.Add(-time.Hour), real.Add(tt.dated-time.Minute))
			if n := add(t, db, "s", old); n > 0 {
				t.Fatalf("%d refused at first", n)
			}
			now = real.Add(tt.ahead)
			list, err := db.Conversations(t.Context(), store.ConversationQuery{})
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{list[0].ID}, Cause: "forget"}); err != nil {
				t.Fatal(err)
			}
			now = real.Add(time.Minute)
			if n := add(t, db, "s", said("new", real.Add(30*time.Second), now)); n > 0 {
				t.Errorf("%d of 2 later messages are refused", n)
			}
			if n := add(t, db, "s", old); n != len(old) {
				t.Errorf("%d of %d forgotten messages are refused", n, len(old))
			}
			now = real.Add(tt.ahead + 2*day) // the wrong time has come
			if n := add(t, db, "s", said("late", real.Add(45*time.Second))); n > 0 {
				t.Error("a later message that arrives late is refused")
			}
			if n := add(t, db, "s", old); n != len(old) {
				t.Errorf("in the end %d of %d forgotten messages are refused", n, len(old))
			}
		})
	}
}

// TestFutureDatesDoNotPin: a conversation with a date in the future is listed by
// when it was stored.
func TestFutureDatesDoNotPin(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Clock: func() time.Time { return now }})
	order := func() (keys string) {
		t.Helper()
		list, err := db.Conversations(t.Context(), store.ConversationQuery{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			keys += c.Key
			if c.UpdatedAt.After(now) {
				t.Errorf("%s was last active at %s, which is in the future", c.Key, c.UpdatedAt)
			}
		}
		return keys
	}
	add(t, db, "a", said("a", now.AddDate(10, 0, 0)))
	now = now.Add(time.Hour)
	add(t, db, "b", said("b", now))
	if got := order(); got != "ba" {
		t.Errorf("the newest first: %s", got)
	}
	now = now.AddDate(2, 0, 0) // the clock of this machine is ahead
	add(t, db, "c", said("c", now))
	if got := order(); got != "cba" {
		t.Errorf("while the clock is ahead: %s", got)
	}
	now = now.AddDate(-2, 0, 0).Add(time.Hour)
	if got := order(); got != "bac" {
		t.Errorf("after it was set right: %s", got)
	}
	add(t, db, "c", said("c again", now))
	if got := order(); got != "cba" {
		t.Errorf("once that session goes on: %s", got)
	}
}
