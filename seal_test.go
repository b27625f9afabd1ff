package lcm_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// sealed fills a database: conversation 1 has a summary that was reworded twice, 2 has
// nothing erased, and a message of 1 was erased. It returns the summary.
func sealed(t *testing.T, db backendtest.DB) store.SummaryID {
	t.Helper()
	ctx := t.Context()
	var id store.SummaryID
	for _, key := range []string{"one", "two"} {
		c, err := db.Open(ctx, store.NewConversation{Key: key, Title: "about " + key, Project: store.Project{Root: "/" + key}})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(ctx, c.ID, func(w store.Writer) error {
			for i := range 6 {
				text := fmt.Sprintf("message %d of %s, which is long enough to be known by its content", i, key)
				_, err := w.Append(ctx, store.NewMessage{Role: llms.RoleUser, Native: fmt.Sprint(key, i), Format: llms.FormatText, Record: []byte(text),
					Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 10, Said: time.Date(2026, 2, 18, 9, i, 0, 0, time.UTC)})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	view, err := db.View(ctx, 1, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, 1, func(w store.Writer) error {
		s, err := w.Fold(ctx, store.NewSummary{Over: view.Items[:3], Wording: store.Wording{Body: "the first text", Tokens: 5, Level: summary.Normal, Method: "extractive"}})
		id = s.ID
		for n := range 2 {
			if err == nil {
				_, err = w.Reword(ctx, id, store.Wording{Body: fmt.Sprint("another text ", n), Tokens: 5, Level: summary.Normal, Method: "model", Model: "m"})
			}
		}
		return err
	})
	if err == nil {
		_, err = db.Erase(ctx, store.Erasure{Messages: []store.MessageID{5}, Cause: "forget"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var errUndone = errors.New("undone")

// Verify names what no hash chain covers: a deleted conversation, tombstones that were
// removed or changed, their salt, and the names of conversations.
func TestSealsNameWhatIsGone(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		db, _ := b.New(t, nil)
		sealed(t, db)
		for _, c := range []struct {
			damage string // statements
			code   string
		}{
			{`SELECT 1`, ""},
			{`DELETE FROM view WHERE conversation = 2; DELETE FROM messages WHERE conversation = 2; DELETE FROM conversations WHERE id = 2`, "conversation-list"},
			{`DELETE FROM tombstones`, "tombstones"},
			{`DELETE FROM tombstones WHERE hash = (SELECT hash FROM tombstones ORDER BY hash LIMIT 1)`, "tombstones"},
			{`UPDATE tombstones SET n = n + 1 WHERE hash = (SELECT hash FROM tombstones ORDER BY hash LIMIT 1)`, "tombstones"},
			{`DELETE FROM forgotten`, "tombstones"},
			{`UPDATE forgotten SET key = 'other'`, "tombstones"},
			{`UPDATE forgotten SET through = 1`, "tombstones"},
			{`DELETE FROM forgotten; DELETE FROM tombstones; DELETE FROM erasures`, "tombstones"},
			{`DELETE FROM tombstone_salt`, "tombstone-salt"},
			{`UPDATE tombstone_salt SET salt = (SELECT hash FROM tombstones ORDER BY hash LIMIT 1)`, "tombstone-salt"},
			{`DELETE FROM seals`, "conversation-list"},
			{`UPDATE seals SET digest = digest + 1 WHERE name = 'conversations'`, "conversation-list"},
			{`DELETE FROM seals WHERE name LIKE 'erasure%'`, "tombstones"},
		} {
			var found []store.Fault
			err := db.SQL().Transact(t.Context(), func(c1 sqldb.Conn) (err error) {
				for _, sql := range strings.Split(c.damage, "; ") {
					if err := c1.Exec(sql); err != nil {
						return err
					}
				}
				if found, err = verify.OrphanFaults(c1); err == nil {
					err = errUndone
				}
				return err
			})
			if !errors.Is(err, errUndone) {
				t.Fatalf("%s: %v", c.damage, err)
			}
			named := slices.ContainsFunc(found, func(f store.Fault) bool { return f.Code == c.code })
			if c.code != "" && !named || c.code == "" && len(found) > 0 {
				t.Errorf("%s: verify says %v, want %q", c.damage, found, c.code)
			}
		}
	})
}

// A text that was forged after a summary was reworded is named by verify and marked where
// it is shown, and so are the earlier texts and the names of a conversation.
func TestSealsNameForgedTexts(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		db, _ := b.New(t, nil)
		id := sealed(t, db)
		// The erasure of a message that it does not cover leaves it as it is.
		sound, err := db.Verify(t.Context(), 1)
		if err != nil || len(sound.Faults) > 0 {
			t.Fatalf("a sound database has %v, %v", sound.Faults, err)
		}
		for _, c := range []struct{ damage, undo, code string }{
			{`UPDATE summaries SET body = 'forged'`, `UPDATE summaries SET body = 'another text 1'`, "summary-text"},
			{`UPDATE summaries SET model = 'x'`, `UPDATE summaries SET model = 'm'`, "summary-text"},
			{`UPDATE revisions SET body = 'forged' WHERE revision = 0`, `UPDATE revisions SET body = 'the first text' WHERE revision = 0`, "revision"},
			{`UPDATE conversations SET title = 'forged' WHERE id = 1`, `UPDATE conversations SET title = 'about one' WHERE id = 1`, "session"},
			{`UPDATE conversations SET key = 'forged' WHERE id = 1`, `UPDATE conversations SET key = 'one' WHERE id = 1`, "session"},
			{`UPDATE conversations SET project = 2 WHERE id = 1`, `UPDATE conversations SET project = 1 WHERE id = 1`, "session"},
			{`DELETE FROM revisions WHERE revision = 0`, ``, "revision"},
			{`DELETE FROM revisions`, ``, "revision"},
		} {
			run(t, db, c.damage)
			v, err := db.Verify(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(v.Faults, func(f store.Fault) bool { return f.Code == c.code }) {
				t.Errorf("%s: verify says %v, want %q", c.damage, v.Faults, c.code)
			}
			s, err := store.First(db.Summaries(t.Context(), store.SummaryQuery{IDs: []store.SummaryID{id}}))
			if marked := strings.HasPrefix(s.Body, "[damaged: "); err != nil || marked != (c.code == "summary-text") || s.Damaged != marked {
				t.Errorf("%s: the summary says %q, %v", c.damage, s.Body, err)
			}
			if c.undo != "" {
				run(t, db, c.undo)
			}
		}
	})
}

func run(t *testing.T, db backendtest.DB, sql string) {
	t.Helper()
	if err := db.SQL().Transact(t.Context(), func(c sqldb.Conn) error { return c.Exec(sql) }); err != nil {
		t.Fatal(err)
	}
}

// While the salt is damaged nothing is stored that may have been erased. Lifting every
// erasure ends it.
func TestNothingErasedComesBackWithAnotherSalt(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		db, _ := b.New(t, nil)
		sealed(t, db)
		if err := db.Scrub(t.Context()); err != nil {
			t.Fatal(err)
		}
		run(t, db, `UPDATE tombstone_salt SET salt = (SELECT hash FROM tombstones ORDER BY hash LIMIT 1)`)
		say := func() error {
			return db.Update(t.Context(), 2, func(w store.Writer) error {
				text := []byte("something new")
				_, err := w.Append(t.Context(), store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: text, Size: int64(len(text)), SHA256: sha256.Sum256(text)})
				return err
			})
		}
		if err := say(); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "forget --list") {
			t.Errorf("with another salt a message is stored: %v", err)
		}
		all, err := db.Tombstones(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if err := db.Lift(t.Context(), all[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := say(); err != nil {
			t.Errorf("after lifting: %v", err)
		}
		proof, err := verify.Prove(context.WithoutCancel(t.Context()), db.SQL())
		if err != nil || len(proof.Faults) > 0 {
			t.Errorf("after lifting: %v, %v", proof.Faults, err)
		}
	})
}
