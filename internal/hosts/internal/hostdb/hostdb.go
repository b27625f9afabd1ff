// Package hostdb reads the SQLite databases of hosts that keep their sessions in one. It
// never creates a database, and never blocks a writer.
package hostdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Open opens a database read-only. Without a log it is not in use, and needs no lock.
func Open(ctx context.Context, path string) (*sqlite3.Conn, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	name := "file:" + escape(filepath.ToSlash(path)) + "?mode=ro"
	if wal, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) || err == nil && wal.Size() == 0 {
		name += "&immutable=1"
	}
	db, err := sqlite3.OpenFlags(name, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetInterrupt(ctx)
	err = db.BusyTimeout(time.Second)
	for _, option := range []sqlite3.DBConfig{sqlite3.DBCONFIG_ENABLE_TRIGGER, sqlite3.DBCONFIG_ENABLE_VIEW, sqlite3.DBCONFIG_TRUSTED_SCHEMA} {
		if err == nil {
			_, err = db.Config(option, false) // the file is another program's: its schema must run no code
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// escape escapes a path for a URI of SQLite.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)
}

// Query calls fn for each row.
func Query(db *sqlite3.Conn, sql string, fn func(*sqlite3.Stmt) error, args ...any) (err error) {
	s, _, err := db.Prepare(sql)
	if err != nil {
		return fmt.Errorf("the database is not one that this version can read: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			err = s.BindText(i+1, v)
		case int64:
			err = s.BindInt64(i+1, v)
		}
		if err != nil {
			return err
		}
	}
	for s.Step() {
		if err := fn(s); err != nil {
			return err
		}
	}
	return s.Err()
}
