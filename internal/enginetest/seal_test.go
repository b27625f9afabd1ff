package enginetest

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
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
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
			{`UPDATE summaries SET messages = 7`, `UPDATE summaries SET messages = 3`, "summary-text"},
			{`UPDATE summaries SET retired = TRUE`, `UPDATE summaries SET retired = FALSE`, "summary-text"},
			{`UPDATE edges SET message = 6 WHERE message = 3`, `UPDATE edges SET message = 3 WHERE message = 6`, "summary-text"},
			{`UPDATE revisions SET body = 'forged' WHERE revision = 0`, `UPDATE revisions SET body = 'the first text' WHERE revision = 0`, "revision"},
			{`UPDATE conversations SET title = 'forged' WHERE id = 1`, `UPDATE conversations SET title = 'about one' WHERE id = 1`, "session"},
			{`UPDATE conversations SET key = 'forged' WHERE id = 1`, `UPDATE conversations SET key = 'one' WHERE id = 1`, "session"},
			{`UPDATE conversations SET project = 2 WHERE id = 1`, `UPDATE conversations SET project = 1 WHERE id = 1`, "session"},
			{`DELETE FROM revisions WHERE revision = 0`, ``, "revision"},
			{`DELETE FROM revisions`, ``, "revision"},
			{`UPDATE summaries SET seal = NULL`, ``, "summary-text"},
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
			if marked := strings.HasPrefix(s.Body, "[damaged: "); err != nil || marked != (c.code == "summary-text") || s.Damaged != marked || s.Retired {
				t.Errorf("%s: the summary says %q, retired %t, %v", c.damage, s.Body, s.Retired, err)
			}
			if c.undo != "" {
				run(t, db, c.undo)
			}
		}
	})
}

// within is a database whose readers are inside a transaction.
type within struct {
	sqldb.DB
	conn sqldb.Conn
}

func (w within) Reader(_ context.Context, fn func(sqldb.Conn) error) error {
	if err := fn(w.conn); !errors.Is(err, sqldb.ErrStop) {
		return err
	}
	return nil
}

// row selects one row of every table that is part of the record. The others are computed
// from these.
var row = map[string]string{
	"projects": `root = '/one'`, "conversations": `key = 'fork'`, "messages": `native = 'two5'`, "summaries": `num = 1`, "revisions": `revision = 1`,
	"edges": `message = 2`, "branches": `TRUE`, "branch_items": `pos = 6`, "payloads": `TRUE`, "chunks": `TRUE`, "erasures": `TRUE`, "forgotten": `TRUE`,
	"tombstones": `hash = (SELECT hash FROM tombstones ORDER BY hash LIMIT 1)`, "tombstone_salt": `TRUE`, "seals": `name = 'conversations'`, "state": `TRUE`,
}

// Whatever column of the record is changed, verify names it: the list is that of the schema.
func TestEveryColumnIsProved(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		db, _ := b.New(t, nil)
		sealed(t, db)
		ctx := t.Context()
		err := db.Update(ctx, 2, func(w store.Writer) error {
			text := []byte("a record that is stored beside its conversation")
			file, err := w.PutPayload(ctx, store.NewPayload{Data: text, Name: "a.txt", MIME: "text/plain", Path: "/a", Kind: "text", Summary: "a note", Tokens: 3})
			if err == nil {
				_, err = w.Append(ctx, store.NewMessage{Role: llms.RoleUser, Native: "two-file", Format: llms.FormatText, Size: int64(len(text)), SHA256: sha256.Sum256(text),
					Cuts: []store.Cut{{Style: store.Verbatim, Payload: file}}, Payloads: []store.PayloadID{file},
					Body: &llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Ref: &llms.Ref{ID: string(file)}}}}})
			}
			if err == nil {
				_, err = w.Rewind(ctx, 11, "edited")
			}
			return err
		})
		if err == nil {
			_, err = db.Put(ctx, store.CursorSpace, "k", []byte("{}"), 0, time.Time{})
		}
		if err == nil {
			_, err = db.Fork(ctx, 2, 9, store.NewConversation{Key: "fork", Parent: 1, Title: "a fork"})
		}
		if err == nil {
			err = db.Archive(ctx, 3, "done")
		}
		if err != nil {
			t.Fatal(err)
		}
		if proof, err := verify.Prove(ctx, db.SQL()); err != nil || len(proof.Faults) > 0 {
			t.Fatalf("a sound database has %v, %v", proof.Faults, err)
		}
		tried := 0
		schema, err := dbfile.Schema()
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for table, o := range schema {
			for _, column := range o.ColumnNames() {
				columns = append(columns, table+"."+column)
			}
		}
		slices.Sort(columns)
		for _, name := range columns {
			table, column, _ := strings.Cut(name, ".")
			if row[table] == "" || name == "edges.source" || name == "branch_items.summary" { // a check keeps these null
				continue
			}
			if tried++; b.Name != backendtest.SQLite.Name && tried%4 > 0 {
				continue // the statements are the same, and a server is slower
			}
			if faults := changed(t, db, table, column); len(faults) == 0 {
				t.Errorf("verify does not name a change of %s", name)
			}
		}
		if tried < 100 {
			t.Errorf("only %d columns", tried)
		}
	})
}

// changed returns the faults after a change of one value, which is undone.
func changed(t *testing.T, db backendtest.DB, table, column string) (found []store.Fault) {
	t.Helper()
	var failed error
	for _, other := range []func(any) any{
		func(v any) any {
			switch v := v.(type) {
			case int64:
				return v + 1000
			case bool:
				return !v
			case string:
				return v + "x"
			case []byte:
				return append(v, 1)
			}
			return "x"
		},
		func(any) any { return int64(1) }, func(any) any { return []byte("x") }, // of a value that was null
	} {
		failed = db.SQL().Transact(t.Context(), func(c sqldb.Conn) error {
			var old any
			if _, err := c.One("SELECT "+column+" FROM "+table+" WHERE "+row[table], func(s sqldb.Row) error { old = s.ColumnValue(0); return nil }); err != nil {
				return err
			}
			n, err := c.Update("UPDATE "+table+" SET "+column+" = ? WHERE "+row[table], other(old))
			if err != nil {
				return err
			}
			if n != 1 {
				t.Fatalf("%d rows of %s were changed", n, table)
			}
			proof, err := verify.Prove(t.Context(), within{db.SQL(), c})
			found = proof.Faults
			return errors.Join(err, errUndone)
		})
		if errors.Is(failed, errUndone) {
			return found
		}
	}
	t.Errorf("%s.%s cannot be changed: %v", table, column, failed)
	return nil
}

// What is shown is marked if its row is not the one that was written.
func TestSwappedRowsAreMarked(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		for _, damage := range []string{
			`UPDATE messages SET id = -1 WHERE id = 2; UPDATE messages SET id = 2 WHERE id = 3; UPDATE messages SET id = 3 WHERE id = -1`,
			`UPDATE messages SET (record, sha256, size) = (SELECT o.record, o.sha256, o.size FROM messages o WHERE o.id = 3) WHERE id = 2`,
			`UPDATE messages SET format = 'claude' WHERE id = 2`, `UPDATE messages SET seal = NULL WHERE id = 2`,
		} {
			db, _ := b.New(t, nil)
			sealed(t, db)
			for _, sql := range strings.Split(damage, "; ") {
				run(t, db, sql)
			}
			m, err := store.First(db.Messages(t.Context(), store.MessageQuery{IDs: []store.MessageID{2}}))
			if err != nil || !m.Damaged {
				t.Errorf("%s: %q is shown unmarked, %v", damage, m.Body.Render(), err)
			}
			if _, err := db.Record(t.Context(), 2); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: the record is shown: %v", damage, err)
			}
			if _, err := db.Text(t.Context(), store.ID{Message: 2}); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: the text is shown: %v", damage, err)
			}
		}
	})
}

// A view is marked if it shows a message in part, or in full, that it should not, or with
// another size.
func TestChangedItemsAreMarked(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) {
		db, _ := b.New(t, nil)
		sealed(t, db)
		err := db.Update(t.Context(), 2, func(w store.Writer) error { return w.Stub(t.Context(), 8, 1) })
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ damage, undo string }{
			{``, ``},
			{`UPDATE view SET stub = TRUE WHERE message = 9`, `UPDATE view SET stub = FALSE WHERE message = 9`},
			{`UPDATE view SET stub = FALSE WHERE message = 8`, `UPDATE view SET stub = TRUE WHERE message = 8`},
			{`UPDATE view SET tokens = tokens - 1 WHERE message = 9`, `UPDATE view SET tokens = tokens + 1 WHERE message = 9`},
		} {
			if c.damage != "" {
				run(t, db, c.damage)
			}
			v, err := db.View(t.Context(), 2, store.Window{Newest: 5})
			if err != nil || v.Damaged != (c.damage != "") {
				t.Errorf("%s: marked %t, %v", c.damage, v.Damaged, err)
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
