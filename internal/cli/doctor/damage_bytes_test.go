package doctor_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// logOf returns a log that holds all the pages of a database.
func logOf(t *testing.T, path string) []byte {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Every page is written once more, so that the log holds all of them.
	for _, sql := range []string{"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "VACUUM"} {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return wal
}

// logged gives a database a log that holds all of its pages, with a changed byte, and
// takes the pages of the file.
func logged(at int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		wal := logOf(t, path)
		edit(func(b []byte) []byte { clear(b[4096:]); return b })(t, path)
		wal[at] ^= 0x40
		if err := os.WriteFile(path+"-wal", wal, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files are changes of the file as a whole, of its rights and of its schema.
var files = []kind{
	{"a truncated file", edit(func(b []byte) []byte { return b[:len(b)-8192-100] }), is("truncated"), nil},
	{"a page overwritten", func(t *testing.T, path string) {
		edit(func(b []byte) []byte {
			at := strings.LastIndex(string(b), "Step 104.") // the leaf of the table
			at -= at % 4096
			return slices.Concat(b[:at], []byte(strings.Repeat("Z", 4096)), b[at+4096:])
		})(t, path)
	}, is("page", "unreadable"), is("sequence")},
	{"the root of a table overwritten", edit(func(b []byte) []byte {
		at := strings.Index(string(b), "Step 104.") // left behind when the table grew
		at -= at % 4096
		return slices.Concat(b[:at], []byte(strings.Repeat("Z", 4096)), b[at+4096:])
	}), is("page", "unreadable"), nil},
	{"a garbage header", edit(func(b []byte) []byte { copy(b, "garbage garbage!"); return b }), is("file"), nil},
	{"a file of garbage", edit(func(b []byte) []byte { return []byte(strings.Repeat("garbage ", 1000)) }), is("file"), is("file")},
	{"a log without its file", func(t *testing.T, path string) {
		wal := logOf(t, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"-wal", wal, 0o600); err != nil {
			t.Fatal(err)
		}
	}, is("wal-orphan"), nil},
	{"a part of a log without its file", func(t *testing.T, path string) {
		edit(func(b []byte) []byte { return b[:0] })(t, path)
		if err := os.WriteFile(path+"-wal", make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}, is("wal-orphan"), is("wal-orphan")},
	{"a lower version", with("PRAGMA user_version=1"), is("file"), nil},
	{"a higher version", with("PRAGMA user_version=999"), is("schema-newer"), is("schema-newer")},
	{"no mark", with("PRAGMA application_id=0"), is("file"), nil},
	{"rights of others", func(t *testing.T, path string) {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}, is("permissions"), nil},
	{"a directory for all", func(t *testing.T, path string) {
		if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
	}, is("directory"), nil},
	{"a missing index", with("DROP INDEX messages_seq"), is("schema"), nil},
	{"a missing derived column", with("ALTER TABLE conversations DROP COLUMN view_tokens"), is("schema"), nil},
	{"a missing column", with("ALTER TABLE summaries DROP COLUMN model"), is("schema"), nil},
	{"a missing derived table", with("DROP TABLE view"), is("schema"), nil},
	{"a missing table", with("DROP TABLE chunks"), is("schema"), is("payload", "record")},
	{"an index that has lost its rows", func(t *testing.T, path string) {
		// For a moment the index is another one.
		with("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'native IS NOT NULL', 'native IS NULL') WHERE name = 'messages_native'")(t, path)
		with("REINDEX messages_native")(t, path)
		with("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'native IS NULL', 'native IS NOT NULL') WHERE name = 'messages_native'")(t, path)
	}, is("page"), nil},
}

// moved is an item of a branch in another one.
var moved = []kind{{"an item in another branch", func(t *testing.T, path string) {
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), 2, func(w store.Writer) error { _, err := w.Rewind(t.Context(), 24+11, "again"); return err })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	with("UPDATE branch_items SET branch = 1 WHERE branch = 2")(t, path)
}, is("branch-order"), nil}}

// inBytes are changes of the bytes of the file and of its log.
var inBytes = []kind{
	{"the beginning of the log", logged(0), is("wal-damaged"), nil},
	{"the page size in the log", logged(9), is("wal-damaged"), nil},
	{"the salt of the log", logged(17), is("wal-damaged"), nil},
	{"the checksum in the log's header", logged(25), is("wal-damaged"), nil},
	{"a log of garbage", func(t *testing.T, path string) {
		if err := os.WriteFile(path+"-wal", []byte(strings.Repeat("garbage ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}, is("wal-damaged"), nil},
	{"a page of messages in the list of free pages", edit(func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[32:], uint32(strings.LastIndex(string(b), "Step 104.")/4096+1))
		binary.BigEndian.PutUint32(b[36:], 1)
		return b
	}), is("page"), nil},
	{"bytes after the last page", edit(func(b []byte) []byte { return append(b, "garbage"...) }), is("appended"), nil},
	{"a row without columns, and no first page", edit(func(b []byte) []byte {
		page := strings.LastIndex(string(b), "Step 104.") / 4096 * 4096
		at := page + int(b[page+8])<<8 + int(b[page+9])
		for range 2 { // its size and its number
			for ; b[at] >= 0x80; at++ {
			}
			at++
		}
		b[at] = 1
		clear(b[:4096])
		return b
	}), is("file"), is("sequence")},
}
