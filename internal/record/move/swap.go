package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Publish gives the database a name that is not taken.
func (b *Built) Publish(path string) error {
	// A link fails where the name exists, which a rename does not.
	err := os.Link(b.path, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return taken(path)
	case err != nil: // a file system without links
		err = os.Rename(b.path, path)
	}
	if err != nil {
		return dbfile.Explain(path, err)
	}
	return dbfile.SyncFile(filepath.Dir(path))
}

// Free returns an error if a database cannot get a name, or the name is taken.
func Free(path string) error {
	_, err := dbfile.DSN(path, dbfile.Options{})
	if err == nil && exists(path) {
		err = taken(path)
	}
	return err
}

func taken(path string) error {
	return &hint.Error{Err: fmt.Errorf("%s exists: %w", path, fs.ErrExist), Hint: "choose another name, or move it away; nothing was overwritten"}
}

// Install gives the database its name, unless a database with a record has it.
func (b *Built) Install(ctx context.Context, to string) error {
	to = dbfile.Resolve(to)
	release, err := lockOut(to)
	if err != nil {
		return err
	}
	defer release()
	if info, err := os.Stat(to); err == nil && info.Size() > 0 {
		full := false
		err := dbfile.WithConn(ctx, to, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) (err error) {
			full, err = c.Has(anything)
			return err
		})
		if err != nil {
			return dbfile.Explain(to, err)
		}
		if full {
			return &hint.Error{Err: fmt.Errorf("there is something in the database at %s", to), Hint: "repeat the command: it is then merged with that database"}
		}
	}
	return b.place(ctx, to, "")
}

// anything selects rows that a replaced database would lose. State means nothing without
// conversations.
const anything = `SELECT 1 FROM conversations UNION ALL SELECT 1 FROM erasures LIMIT 1`

// IsEmpty reports whether a database holds neither conversations nor traces of erased ones.
func IsEmpty(ctx context.Context, db sqldb.DB) (bool, error) {
	full, err := sqldb.Read(ctx, db, func(c sqldb.Conn) (bool, error) { return c.Has(anything) })
	return !full, err
}

// Replace puts the database in the place of another, which is kept under the name that it
// returns, or "" if there was none. It fails while another process has that one open.
func (b *Built) Replace(ctx context.Context, to string, now time.Time) (kept string, err error) {
	to = dbfile.Resolve(to)
	release, err := lockOut(to)
	if err != nil {
		return "", err
	}
	defer release()
	if exists(to) {
		stem := to + ".replaced-" + now.UTC().Format("20060102T150405Z")
		kept = stem
		for n := 2; exists(kept); n++ {
			kept = fmt.Sprintf("%s-%d", stem, n)
		}
	}
	return kept, b.place(ctx, to, kept)
}

// place renames the database to a path that the caller has locked. It keeps what is there
// under another name, unless that is empty. At every moment one of the two databases has
// the path, and the old one is whole under one of its names.
func (b *Built) place(ctx context.Context, to, kept string) error {
	err := dbfile.SyncFile(b.path)
	if err == nil && kept != "" {
		err = keep(ctx, to, kept)
	}
	if err == nil {
		// SQLite would take a log of the old database for one of the new.
		for _, suffix := range dbfile.FileSuffixes[1:] {
			_ = os.Remove(to + suffix) // it is not there, or it is kept
		}
		err = os.Rename(b.path, to)
	}
	if err == nil {
		err = dbfile.SyncFile(filepath.Dir(to))
	}
	return dbfile.Explain(to, err)
}

// keep gives a database another name beside its own: a second name of the file or, where
// that is not possible or a log belongs to it, a copy of both.
func keep(ctx context.Context, path, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	if exists(kept) {
		return taken(kept)
	}
	if exists(path+"-wal") || exists(path+"-journal") || os.Link(path, kept) != nil {
		if err := copyFiles(ctx, path, kept); err != nil {
			return err
		}
	}
	return dbfile.SyncFile(filepath.Dir(kept))
}

// Unforgotten lists the erasures of a database that its replacement lacks: their messages
// may be back. An unreadable database has none.
func (b *Built) Unforgotten(ctx context.Context, old string) ([]store.Tombstone, error) {
	before, err := tombstonesOf(ctx, old)
	if err != nil || len(before) == 0 {
		return nil, ctx.Err()
	}
	after, err := tombstonesOf(ctx, b.path)
	return slices.DeleteFunc(before, func(t store.Tombstone) bool {
		return slices.ContainsFunc(after, func(o store.Tombstone) bool { return o.ID == t.ID && o.Time.Equal(t.Time) })
	}), err
}

func tombstonesOf(ctx context.Context, path string) ([]store.Tombstone, error) {
	return dbfile.WithFile(ctx, path, dbfile.Options{ReadOnly: true}, func(f *dbfile.File) ([]store.Tombstone, error) {
		return erase.Eraser{DB: f.DB()}.Tombstones(ctx)
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// copyFiles copies a database byte by byte: its file, and the logs beside it. A log may be
// without its file. It leaves no incomplete copy.
func copyFiles(ctx context.Context, from, to string) (err error) {
	defer func() {
		if err != nil {
			dbfile.RemoveDatabase(to)
		}
	}()
	for _, suffix := range []string{"", "-wal", "-journal"} {
		src, _, err := regularfile.Open(from + suffix)
		if errors.Is(err, fs.ErrNotExist) && (suffix != "" || exists(from+"-wal")) {
			continue
		}
		if err != nil {
			return err
		}
		dst, err := os.OpenFile(to+suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			_, err = io.Copy(dst, src)
			err = errors.Join(err, dst.Sync(), dst.Close(), ctx.Err())
		}
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	return nil
}

// aloneWait is how long lockOut waits for others to close a database.
const aloneWait = 500 * time.Millisecond

// lockOut fails if another process has the database open, and keeps others out
// until release is called. It moves the write-ahead log into the file. A file
// that is not a database has no other users.
func lockOut(path string) (release func(), err error) {
	release = func() {}
	if !exists(path) || dbfile.OrphanWAL(path) != nil || dbfile.DamagedWAL(path) != nil { // SQLite would remove the log
		return release, nil
	}
	name, err := dbfile.DSN(path, dbfile.Options{})
	if err != nil {
		return release, err
	}
	c, err := sqlite3.OpenFlags(name, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		return release, nil
	}
	_ = c.BusyTimeout(aloneWait)
	// Leaving WAL mode takes the lock that every other connection shares.
	err = c.Exec("PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE")
	if err == nil || unreadable(err) {
		return func() { _ = c.Close() }, nil
	}
	_ = c.Close()
	if !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, sqlite3.LOCKED) {
		return release, fmt.Errorf("make sure that nobody has %s open: %w", path, err)
	}
	return release, &hint.Error{Err: fmt.Errorf("another process has %s open", path),
		Hint: "end the agents and servers that use it (`lcm mcp`, running sessions), then repeat the command; nothing was changed"}
}

// unreadable reports errors of a file that is not usable as a database.
func unreadable(err error) bool {
	return errors.Is(err, sqlite3.NOTADB) || errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.CANTOPEN) ||
		errors.Is(err, sqlite3.ERROR) // of a file format that there is not
}
