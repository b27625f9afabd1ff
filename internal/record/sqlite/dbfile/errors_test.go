package dbfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// An operator reads SQLite's reason, without the driver's name and the SQL.
func TestErrorsShowNoSQL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, []byte("this is a letter and not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := dbfile.OpenConn(t.Context(), path, dbfile.Options{})
	if err == nil {
		defer c.Close()
		err = c.Exec("SELECT a FROM b")
	}
	if !errors.Is(err, sqlite3.NOTADB) {
		t.Fatalf("got %v, want NOTADB", err)
	}
	message, _ := hint.Split(dbfile.Explain("x", err))
	if want := "database x: file is not a database"; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	memory, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	c = dbfile.NewConn(memory)
	defer c.Close()
	const sql = `SELECT "a" FROM b`
	err = c.Exec(sql)
	var e *sqldb.Error
	if !errors.As(err, &e) || e.SQL != sql {
		t.Fatalf("the error %v does not carry its statement", err)
	}
	if want := "SQL logic error: no such table: b"; err.Error() != want {
		t.Errorf("the message is %q, want %q", err, want)
	}
}
