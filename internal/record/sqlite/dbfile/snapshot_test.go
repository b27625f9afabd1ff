package dbfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// TestSnapshot: a file with a log beside it, and without shared memory, is read
// as SQLite reads it, and a write of somebody else is noticed.
func TestSnapshot(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "lcm.db"), filepath.Join(t.TempDir(), "lcm.db")
	f, err := Open(t.Context(), from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	keys := func(path string) (all string) {
		t.Helper()
		s, err := openSnapshot(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := openAt(t.Context(), s.dsn(), Options{ReadOnly: true, CacheKiB: 1024})
		if err != nil {
			t.Fatal(err)
		}
		c.snapshot = s
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := c.Query(`SELECT key FROM conversations ORDER BY id`, func(s sqldb.Row) error { all += s.ColumnText(0); return nil }); err != nil {
			t.Fatal(err)
		}
		var sound string
		if _, err := c.One(`PRAGMA integrity_check`, sqldb.Into(&sound)); err != nil || sound != "ok" {
			t.Errorf("integrity: %s, %v", sound, err)
		}
		if err := s.changed(); err != nil {
			t.Error(err)
		}
		if err := os.Chtimes(path, s.stamps[0].time, s.stamps[0].time.Add(1)); err != nil {
			t.Fatal(err)
		}
		if s.changed() == nil {
			t.Error("a write of somebody else is not noticed")
		}
		return all
	}
	copyFiles := func(suffixes ...string) {
		t.Helper()
		for _, suffix := range suffixes {
			data, err := os.ReadFile(from + suffix)
			if err == nil {
				err = os.WriteFile(to+suffix, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	add := func(key string) {
		t.Helper()
		err := f.Transact(t.Context(), func(c *Conn) error {
			if err := c.Exec(`INSERT INTO projects (id, origin, root) VALUES (1, '', '') ON CONFLICT DO NOTHING`); err != nil {
				return err
			}
			return c.Exec(`INSERT INTO conversations (key, segment, agent, project, title, created_at, updated_at, head) VALUES (?, 1, '', 1, '', 0, 0, x'')`, key)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("a")
	copyFiles("", "-wal")
	if got := keys(to); got != "a" {
		t.Errorf("from the log: %q", got)
	}
	if err := f.Writer(t.Context(), func(c *Conn) error { return c.Script("PRAGMA wal_checkpoint(TRUNCATE)") }); err != nil {
		t.Fatal(err)
	}
	copyFiles("", "-wal")
	if got := keys(to); got != "a" {
		t.Errorf("from the file: %q", got)
	}
	add("b")
	copyFiles("", "-wal")
	if got := keys(to); got != "ab" {
		t.Errorf("from both: %q", got)
	}
	log, err := os.OpenFile(to+"-wal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(make([]byte, 5000)); err != nil { // a frame that was being written
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := keys(to); got != "ab" {
		t.Errorf("with an unfinished frame: %q", got)
	}
}
