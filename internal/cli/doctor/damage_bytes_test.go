package doctor_test

import (
	"encoding/binary"
	"errors"
	"os"
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
