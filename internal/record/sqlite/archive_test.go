package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/archive"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func plainMessage(n int) store.NewMessage {
	text := fmt.Sprint("message ", n)
	return store.NewMessage{
		Role: llms.RoleUser, Native: fmt.Sprint("n-", n), Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)),
		SHA256: sha256.Sum256([]byte(text)), Tokens: 10, Said: time.Date(2026, 2, 18, 9, 0, n, 0, time.UTC),
	}
}

// dumped is the content of an archive in memory.
type dumped struct {
	schema   int
	list     []store.Conversation
	digest   [sha256.Size]byte
	rows     []func(*archive.Loader) error
	payloads []func(*archive.Loader) error
	faults   []store.Fault
}

func dump(t *testing.T, db *sqlite.DB, ids ...store.ConversationID) *dumped {
	t.Helper()
	d := &dumped{}
	err := archive.Export(t.Context(), db.File(), ids, archive.Dump{
		Begin: func(schema int, list []store.Conversation, digest [sha256.Size]byte, _ bool) error {
			d.schema, d.list, d.digest = schema, list, digest
			return nil
		},
		Row: func(table string, columns []string, values []any, _ string) error {
			values = append([]any{}, values...)
			d.rows = append(d.rows, func(l *archive.Loader) error { return l.Row(table, columns, values) })
			return nil
		},
		Payload: func(sum [sha256.Size]byte, size int64, r io.Reader, _ bool) error {
			b, err := io.ReadAll(r)
			d.payloads = append(d.payloads, func(l *archive.Loader) error { return l.Payload(sum, size, bytes.NewReader(b)) })
			return err
		},
		Fault: func(f store.Fault) { d.faults = append(d.faults, f) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dumped) load(ctx context.Context, path string) (*archive.Scratch, error) {
	return archive.Build(ctx, path, d.schema, func(l *archive.Loader) error {
		for _, add := range append(d.rows, d.payloads...) {
			if err := add(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// What is written out and loaded into an empty database is the same, to the
// digest, the summaries, the branches, the forks and the payloads.
func TestDumpAndLoad(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "other.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	d := dump(t, db)
	s, err := d.load(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if s.Proof.Digest != d.digest || len(s.Proof.Faults) > 0 {
		t.Fatalf("loaded %+v, want the digest %x", s.Proof, d.digest)
	}
	if err := s.Install(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	loaded := open(t, other, sqlite.Options{})
	if again := dump(t, loaded); len(again.rows) != len(d.rows) || again.digest != d.digest {
		t.Errorf("%d rows were loaded, %d written", len(again.rows), len(d.rows))
	}
	faults, err := loaded.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("what was loaded has %v, %v", faults, err)
	}
	found, err := loaded.Search(t.Context(), store.Search{Mode: store.FullText, Pattern: "message", Limit: 5})
	if err != nil || found.Matched == 0 {
		t.Errorf("nothing is found in what was loaded: %+v, %v", found, err)
	}
}

// Chosen conversations bring those along that they cannot do without.
func TestDumpChosen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	for want, ids := range map[string][]store.ConversationID{"main": {1}, "rewound": {2}, "fork main": {3}} {
		d := dump(t, db, ids...)
		var keys []string
		for _, c := range d.list {
			keys = append(keys, c.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("conversation %v is written with %q, want %q", ids, got, want)
		}
		s, err := d.load(t.Context(), path+".x")
		if err != nil {
			t.Fatal(err)
		}
		if s.Proof.Digest != d.digest || len(s.Proof.Faults) > 0 {
			t.Errorf("%v loads as %+v", ids, s.Proof)
		}
		s.Remove()
	}
	if err := archive.Export(t.Context(), db.File(), []store.ConversationID{99}, archive.Dump{}); err == nil {
		t.Error("a conversation that is not there was written")
	}
}

// Merging adds missing conversations, knows equal ones, and refuses different ones.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "other.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := dump(t, open(t, path, sqlite.Options{}))
	target := open(t, other, sqlite.Options{})
	mine, err := target.Open(t.Context(), store.NewConversation{Key: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := appendOne(t.Context(), target, mine.ID, n); err != nil {
			t.Fatal(err)
		}
	}
	merge := func(skip bool) (archive.Merged, error) {
		s, err := d.load(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Remove()
		return archive.Merge(t.Context(), target.File(), s, skip)
	}
	for _, want := range []archive.Merged{{Added: 3, Messages: 18}, {Known: 3}} {
		got, err := merge(false)
		if err != nil || got.Added != want.Added || got.Messages != want.Messages || got.Known != want.Known {
			t.Errorf("merged %+v, %v, want %+v", got, err, want)
		}
	}
	proof, err := check.Prove(t.Context(), target.File())
	if err != nil || len(proof.Faults) > 0 || proof.Messages != 23 {
		t.Errorf("after the merge there is %+v, %v", proof, err)
	}
	if faults, err := target.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("after the merge there is %v, %v", faults, err)
	}
	if err := appendOne(t.Context(), target, 2, 100); err != nil { // main goes on here
		t.Fatal(err)
	}
	if got, err := merge(false); err != nil || got.Known != 3 {
		t.Errorf("what is here and longer: %+v, %v", got, err)
	}
}

// A conversation that is here and different is a conflict, and nothing comes
// in with it unless it is left out.
func TestMergeConflicts(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "other.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := dump(t, open(t, path, sqlite.Options{}))
	target := open(t, other, sqlite.Options{})
	c, err := target.Open(t.Context(), store.NewConversation{Key: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if err := appendOne(t.Context(), target, c.ID, 1); err != nil {
		t.Fatal(err)
	}
	s, err := d.load(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if _, err := archive.Merge(t.Context(), target.File(), s, false); err == nil || !strings.Contains(err.Error(), "--skip-conflicts") {
		t.Errorf("a conflict: %v", err)
	}
	if list, err := target.Conversations(t.Context(), store.ConversationQuery{}); err != nil || len(list) != 1 {
		t.Errorf("a merge that was refused left %d conversations, %v", len(list), err)
	}
	// The fork refers to messages of main, so it stays behind with it.
	got, err := archive.Merge(t.Context(), target.File(), s, true)
	if err != nil || got.Added != 1 || len(got.Conflicts) != 2 {
		t.Errorf("merged %+v, %v", got, err)
	}
	if proof, err := check.Prove(t.Context(), target.File()); err != nil || len(proof.Faults) > 0 {
		t.Errorf("after the merge there is %+v, %v", proof, err)
	}
}

// What was erased here does not come back with an archive.
func TestMergeRefusesTheForgotten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	d := dump(t, db)
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{2}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	s, err := d.load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if _, err := archive.Merge(t.Context(), db.File(), s, false); err == nil || !strings.Contains(err.Error(), "rewound") {
		t.Errorf("what was erased comes back: %v", err)
	}
}

// Rows that do not belong together, or into the schema, are refused.
func TestHostileRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := dump(t, open(t, path, sqlite.Options{}))
	for name, bad := range map[string]func(*archive.Loader) error{
		"a table that is not there":    func(l *archive.Loader) error { return l.Row("sqlite_schema", []string{"sql"}, []any{"x"}) },
		"a table that is not archived": func(l *archive.Loader) error { return l.Row("segments", []string{"id"}, []any{int64(1)}) },
		"SQL in a column": func(l *archive.Loader) error {
			return l.Row("state", []string{"space) VALUES (1); DROP TABLE messages; --"}, []any{"x"})
		},
		"a payload without a row": func(l *archive.Loader) error { return l.Payload(sha256.Sum256(nil), 0, bytes.NewReader(nil)) },
		"a row twice":             d.rows[1],
	} {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Build(t.Context(), path, d.schema, func(l *archive.Loader) error {
				for _, add := range append(d.rows, d.payloads...) {
					if err := add(l); err != nil {
						return err
					}
				}
				return bad(l)
			})
			if err == nil {
				t.Error("it was loaded")
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".lcm*")); len(left) > 0 {
				t.Errorf("%v was left behind", left)
			}
		})
	}
	if _, err := archive.Build(t.Context(), path, 999, func(*archive.Loader) error { return nil }); err == nil {
		t.Error("an archive of a later schema was loaded")
	}
}
