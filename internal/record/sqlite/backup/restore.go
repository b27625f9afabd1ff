package backup

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
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Replacement is the options of [Install].
type Replacement struct {
	// Force allows Install to replace a database. The old one is kept under
	// another name.
	Force bool
	// Damaged allows Install to install a database with faults.
	Damaged bool
	Clock   func() time.Time
}

// Installed is the result of [Install].
type Installed struct {
	Proof verify.Proof
	// Kept is the new name of the replaced database, empty if there was none.
	Kept string
	// Unforgotten are the erasures of the replaced database that the new one
	// lacks: their messages may be back.
	Unforgotten []store.Tombstone
}

// Install puts a copy of the file from in the place of the database at to. It
// copies and verifies the file before it changes anything at to, and
// keeps the replaced database under another name. It fails while another
// process has the database open.
func Install(ctx context.Context, from, to string, r Replacement) (Installed, error) {
	var done Installed
	from, to = dbfile.Resolve(from), dbfile.Resolve(to)
	if r.Clock == nil {
		r.Clock = time.Now
	}
	if Exists(to) && !r.Force {
		return done, &hint.Error{Err: fmt.Errorf("there is a database at %s: %w", to, fs.ErrExist),
			Hint: "--force replaces it and keeps the old one beside it"}
	}
	tmp, err := dbfile.PartFile(to)
	if err != nil {
		return done, err
	}
	defer dbfile.RemoveDatabase(tmp)
	if err := CopyFiles(ctx, from, tmp); err != nil {
		return done, fmt.Errorf("copy %s: %w", from, dbfile.Explain(to, err))
	}
	if err := checkCopy(ctx, from, tmp, r.Damaged); err != nil {
		return done, err
	}
	if done.Proof, err = prepareCopy(ctx, from, tmp); err != nil {
		return done, err
	}
	if n := len(done.Proof.Faults); n > 0 && !r.Damaged {
		f := done.Proof.Faults[0]
		return done, &hint.Error{Err: fmt.Errorf("%s has %d faults, the first is %s (%s): %s", from, n, f.Code, f.Node, f.Detail),
			Hint: "take another backup; --damaged installs it as it is"}
	}
	if done.Unforgotten, err = unforgotten(ctx, to, tmp); err != nil {
		return done, err
	}
	release, err := LockOut(to)
	if err != nil {
		return done, err
	}
	defer release()
	if done.Kept, err = setAside(to, r.Clock()); err != nil {
		return done, err
	}
	if err := os.Rename(tmp, to); err != nil {
		return done, errors.Join(dbfile.Explain(to, err), putBack(done.Kept, to))
	}
	return done, dbfile.SyncFile(filepath.Dir(to))
}

// unforgotten lists the erasures of a database that its replacement lacks. An
// unreadable database has none.
func unforgotten(ctx context.Context, old, replacement string) ([]store.Tombstone, error) {
	if !Exists(old) {
		return nil, nil
	}
	before, err := tombstonesOf(ctx, old)
	if err != nil || len(before) == 0 {
		return nil, ctx.Err()
	}
	after, err := tombstonesOf(ctx, replacement)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(before, func(t store.Tombstone) bool {
		return slices.ContainsFunc(after, func(o store.Tombstone) bool { return o.ID == t.ID && o.Time.Equal(t.Time) })
	}), nil
}

func tombstonesOf(ctx context.Context, path string) ([]store.Tombstone, error) {
	return dbfile.WithFile(ctx, path, dbfile.Options{ReadOnly: true}, func(f *dbfile.File) ([]store.Tombstone, error) {
		return erase.Eraser{DB: f.DB()}.Tombstones(ctx)
	})
}

// checkCopy refuses a copy with a foreign schema before anything is written to
// it. With damaged it allows foreign tables and indexes, but never triggers and
// views.
func checkCopy(ctx context.Context, from, tmp string, damaged bool) error {
	faults, err := check.Schema(ctx, tmp)
	if err != nil {
		return nil // prepareCopy reports the error
	}
	for _, f := range faults {
		advice := ""
		switch f.Code {
		case "schema-code":
			advice = "find out who put it there; `lcm doctor --fix` with --db FILE removes it, after a backup"
		case "schema-foreign", "schema-changed":
			advice = "find out who put it there; --damaged installs it as it is"
		}
		if advice != "" && (!damaged || f.Code == "schema-code") {
			return &hint.Error{Err: fmt.Errorf("%s is not a backup that can be restored: %s: %s", from, f.Node, f.Detail), Hint: advice}
		}
	}
	return nil
}

// prepareCopy opens a copy and verifies it.
func prepareCopy(ctx context.Context, from, tmp string) (verify.Proof, error) {
	f, err := dbfile.Open(ctx, tmp, dbfile.Options{})
	if err != nil {
		if p, ok := errors.AsType[*hint.Error](err); ok {
			return verify.Proof{}, &hint.Error{Err: fmt.Errorf("%s is not a backup that can be restored: %w", from, p.Err), Hint: p.Hint}
		}
		return verify.Proof{}, fmt.Errorf("%s is not a backup that can be restored: %w", from, err)
	}
	proof, err := check.Prove(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return proof, err
	}
	// The last connection has emptied the log into the file and removed it.
	if Exists(tmp + "-wal") {
		return proof, fmt.Errorf("the write-ahead log of the copy did not go away")
	}
	return proof, dbfile.SyncFile(tmp)
}

func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// CopyFiles copies a database byte by byte: its file, and the write-ahead log beside
// it if it has one. A log may be without its file. It leaves no incomplete copy.
func CopyFiles(ctx context.Context, from, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		src, err := os.Open(from + suffix)
		if errors.Is(err, fs.ErrNotExist) && (suffix != "" || Exists(from+"-wal")) {
			continue
		}
		if err != nil {
			return err
		}
		dst, err := os.OpenFile(to+suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			_, err = io.Copy(dst, &cancelling{ctx, src})
			err = errors.Join(err, dst.Sync(), dst.Close())
		}
		if err = errors.Join(err, src.Close()); err != nil {
			dbfile.RemoveDatabase(to)
			return err
		}
	}
	return nil
}

// cancelling is a reader that stops when its context ends.
type cancelling struct {
	ctx context.Context // io.Reader has none
	r   io.Reader
}

func (c *cancelling) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// aloneWait is how long LockOut waits for others to close a database.
const aloneWait = 500 * time.Millisecond

// LockOut fails if another process has the database open, and keeps others out
// until release is called. It moves the write-ahead log into the file. A file
// that is not a database has no other users.
func LockOut(path string) (release func(), err error) {
	release = func() {}
	if !Exists(path) {
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
	return errors.Is(err, sqlite3.NOTADB) || errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.READONLY) || errors.Is(err, sqlite3.CANTOPEN)
}

// setAside gives a database another name and returns it. Where the file system
// has hard links, the old name stays until the new database takes it, so that a
// database exists under it at every moment. A remaining log moves with its
// database.
func setAside(path string, now time.Time) (string, error) {
	stem := path + ".replaced-" + now.UTC().Format("20060102T150405Z")
	kept := stem
	for n := 2; Exists(kept); n++ {
		kept = fmt.Sprintf("%s-%d", stem, n)
	}
	moved := ""
	for _, suffix := range dbfile.FileSuffixes {
		if !Exists(path + suffix) {
			continue
		}
		if suffix == "-shm" { // it holds nothing but locks
			_ = os.Remove(path + suffix)
			continue
		}
		err := errors.ErrUnsupported
		if suffix == "" {
			err = os.Link(path, kept)
		}
		if err != nil {
			err = os.Rename(path+suffix, kept+suffix)
		}
		if err != nil {
			return "", errors.Join(dbfile.Explain(path, err), putBack(moved, path))
		}
		moved = kept
	}
	return moved, nil
}

// putBack undoes setAside.
func putBack(kept, path string) error {
	if kept == "" {
		return nil
	}
	var errs []error
	for _, suffix := range dbfile.FileSuffixes {
		if !Exists(kept + suffix) {
			continue
		}
		errs = append(errs, os.Rename(kept+suffix, path+suffix))
		// Renaming one name of a file to another of its names does nothing.
		if was, err := os.Lstat(kept + suffix); err == nil {
			if is, err := os.Lstat(path + suffix); err == nil && os.SameFile(was, is) {
				errs = append(errs, os.Remove(kept+suffix))
			}
		}
	}
	return errors.Join(errs...)
}
