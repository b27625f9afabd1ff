package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// sql runs statements on a database file behind the store's back.
func sql(t *testing.T, path, statements string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// rows reads the only column of a query.
func rows(t *testing.T, path, query string, row func(string)) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, _, err := c.Prepare(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer s.Close()
	for s.Step() {
		row(string(s.ColumnBlob(0, nil)))
	}
	if err := s.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	dir := filepath.Join(t.TempDir(), "new", "dir")
	path := filepath.Join(dir, "lcm.db")
	db := open(t, path, sqlite.Options{})
	if _, err := db.Open(t.Context(), store.NewConversation{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %o", info.Mode().Perm())
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(path)+suffix, info.Mode().Perm())
		}
	}
}

func TestOpenRefusesWithAHint(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign.db")
	sql(t, foreign, "CREATE TABLE songs (name TEXT)")
	newer := filepath.Join(dir, "newer.db")
	if db, err := sqlite.Open(t.Context(), newer, sqlite.Options{}); err != nil {
		t.Fatal(err)
	} else {
		db.Close()
	}
	sql(t, newer, "PRAGMA user_version=999")
	before, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(dir, "older.db")
	if err := os.WriteFile(older, before, 0o600); err != nil {
		t.Fatal(err)
	}
	sql(t, older, "PRAGMA user_version=3")
	for path, says := range map[string]string{
		text:    "not an lcm database",
		foreign: "another program",
		newer:   "upgrade lcm",
		older:   "before lcm 0.1.0",
		dir:     "directory",
		"":      "LCM_DATABASE_PATH",
	} {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			db.Close()
			t.Errorf("%s was opened", path)
			continue
		}
		var p *hint.Error
		if !errors.As(err, &p) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want a hint with %q", path, err, says)
		}
	}
	if after, err := os.ReadFile(newer); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the newer database was touched (%v)", err)
	}
}

func TestReadOnlyDatabaseCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ro := open(t, path, sqlite.Options{ReadOnly: true})
	if _, err := ro.Conversation(t.Context(), c.ID); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := ro.Archive(t.Context(), c.ID, "x"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("writing: %v", err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := db.Conversation(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after close: %v", err)
	}
}

// Processes that make a database together wait for each other: one of them may
// be writing its first page when another wants to set the journal mode.
func TestOpenWaitsForWhoeverMakesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	other, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	// The file is made with its first page, and then waits for its tables.
	if err := other.Exec("PRAGMA application_id=0x4c434d31; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if db, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: 20 * time.Millisecond}); !errors.Is(err, sqlite3.BUSY) {
		t.Fatalf("opened %v, %v while another writes", db, err)
	}
	opened := make(chan error, 1)
	go func() {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// testdata/v10.db was written by the program before the present schema. It is converted when it
// is opened, without a fault; what was damaged in it before stays named.
func TestTheVersionBeforeIsConverted(t *testing.T) {
	old, err := os.ReadFile("testdata/v10.db")
	if err != nil {
		t.Fatal(err)
	}
	for damage, code := range map[string]string{
		"SELECT 1": "",
		"UPDATE conversations SET title = 'forged' WHERE id = 1":                                                   "session",
		"UPDATE summaries SET body = 'forged' WHERE num = (SELECT min(summary) FROM revisions)":                    "summary-text",
		"UPDATE revisions SET body = 'forged'":                                                                     "revision",
		"UPDATE tombstones SET n = n + 1":                                                                          "tombstones",
		"PRAGMA foreign_keys=OFF; DELETE FROM view WHERE conversation = 2; DELETE FROM conversations WHERE id = 2": "conversation-list",
		"UPDATE messages SET record = x'41' || substr(record, 2) WHERE id = 5":                                     "record",
		"DELETE FROM map_items WHERE n = 2":                                                                        "map",
	} {
		path := filepath.Join(t.TempDir(), "lcm.db")
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		sql(t, path, damage)
		if _, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "open it once to be written") {
			t.Errorf("read only it opens with %v", err)
		}
		proof, err := check.Run(t.Context(), open(t, path, sqlite.Options{}).File(), nil)
		if err != nil || proof.Messages == 0 {
			t.Fatalf("%s: %+v, %v", damage, proof, err)
		}
		named := slices.ContainsFunc(proof.Faults, func(f store.Fault) bool { return f.Code == code })
		if code == "" && len(check.Damage(proof.Faults)) > 0 || code != "" && !named {
			t.Errorf("%s: %v, want %q", damage, proof.Faults, code)
		}
	}
}

// testdata/v10.db was written by the program of the version before. Nothing of it is lost.
func TestAnInstalledDatabaseLosesNothing(t *testing.T) {
	old, err := os.ReadFile("testdata/v10.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lcm.db")
	write(t, path, old)
	db := open(t, path, sqlite.Options{})
	proof, err := check.Run(t.Context(), db.File(), nil)
	if err != nil || len(check.Damage(proof.Faults)) > 0 {
		t.Errorf("%v, %v", proof.Faults, err)
	}
	storetest.Installed(t, db)
}
