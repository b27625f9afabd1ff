package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// Proof is what was found by proving every conversation of a database. Two
// databases with the same messages have the same Digest.
type Proof struct {
	Conversations int
	Messages      int64
	Summaries     int64
	Bytes         int64 // of the original records
	Digest        [sha256.Size]byte
	Faults        []store.Fault
}

// Prove verifies every conversation, in the order that the digest of the whole
// depends on. A conversation that cannot be read is a fault and ends nothing.
func (db *DB) Prove(ctx context.Context) (Proof, error) {
	var p Proof
	all, err := db.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return p, err
	}
	slices.SortFunc(all, func(a, b store.Conversation) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Segment, b.Segment))
	})
	h := sha256.New()
	for _, c := range all {
		one, err := db.Verify(ctx, c.ID)
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		if err != nil {
			one.Faults = append(one.Faults, store.Fault{Code: "unreadable", Node: fmt.Sprintf("conversation %d", c.ID), Detail: bare(err)})
		}
		p.Conversations++
		p.Messages += one.Messages
		p.Summaries += one.Summaries
		p.Bytes += one.Bytes
		p.Faults = append(p.Faults, one.Faults...)
		h.Write(one.Digest[:])
	}
	h.Sum(p.Digest[:0])
	orphans, err := db.Orphans(ctx)
	if err != nil && ctx.Err() == nil {
		orphans, err = []store.Fault{{Code: "unreadable", Node: "the references", Detail: bare(err)}}, nil
	}
	p.Faults = append(p.Faults, orphans...)
	return p, err
}

// bare is an error without its hint: a finding brings its own.
func bare(err error) string {
	var p *store.Problem
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// expected is the digest that a snapshot will have if its chains hold.
func (c *conn) expected() (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	err = c.query(`SELECT c.key, c.segment, c.messages, c.head FROM conversations c WHERE `+listed+` ORDER BY c.key COLLATE BINARY, c.segment`, func(s *sqlite3.Stmt) error {
		var head [sha256.Size]byte
		copy(head[:], s.ColumnRawBlob(3))
		one := conversationDigest(s.ColumnText(0), s.ColumnInt(1), s.ColumnInt64(2), head)
		h.Write(one[:])
		return nil
	})
	h.Sum(sum[:0])
	return sum, err
}

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup writes a copy of the database as it stands at one moment to a file
// that does not exist yet, while others go on writing, and proves the copy: it
// has the digest that the database had at that moment. The file appears under
// its name only when that is done, readable by its owner only.
//
// A damaged database is copied as well, with what is wrong in it: the proof
// then has the same faults as the database, and says so.
func (db *DB) Backup(ctx context.Context, path string, progress func(done, total int)) (Proof, error) {
	tmp, err := reserve(path)
	if err != nil {
		return Proof{}, err
	}
	defer removeDatabase(tmp)
	var want [sha256.Size]byte
	unclean := false
	err = db.withReader(ctx, func(c *conn) error {
		// The transaction is what the copy is a copy of, however long it takes.
		return c.read(func() (err error) {
			if want, err = c.expected(); err != nil {
				return err
			}
			if unclean, err = c.one(`SELECT 1 FROM erasures WHERE NOT finished`, func(*sqlite3.Stmt) error { return nil }); err != nil {
				return err
			}
			return c.copyTo(ctx, tmp, progress)
		})
	})
	if err != nil {
		return Proof{}, fmt.Errorf("back up to %s: %w", path, err)
	}
	if unclean {
		// Its pages may still hold parts of what was erased.
		if err := vacuumFile(ctx, tmp); err != nil && !Unopenable(err) {
			return Proof{}, fmt.Errorf("clean the backup of what was erased: %w", err)
		}
	}
	proof, err := db.proveCopy(ctx, tmp, want)
	if err != nil {
		return proof, fmt.Errorf("check the backup: %w", err)
	}
	return proof, publish(tmp, path)
}

// vacuumFile builds a database file anew that nobody else has open.
func vacuumFile(ctx context.Context, path string) error {
	c, err := openConn(ctx, path, Options{CacheKiB: 1 << 10})
	if err != nil {
		return err
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return errors.Join(c.vacuum(), c.close())
}

// copyTo copies the database page by page.
func (c *conn) copyTo(ctx context.Context, path string, progress func(done, total int)) (err error) {
	name, err := dsn(path, Options{})
	if err != nil {
		return err
	}
	b, err := c.BackupInit("main", name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err = b.Step(backupPages); err != nil {
			return err
		}
		if progress != nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
	}
	return nil
}

// errCopy says that a copy is not what it was made from.
var errCopy = errors.New("the copy differs from the database")

// proveCopy opens a fresh copy and proves that it has the digest of what it
// was copied from. Where it has not, the original may be damaged itself: then
// the copy must be damaged in the same way.
func (db *DB) proveCopy(ctx context.Context, path string, want [sha256.Size]byte) (Proof, error) {
	got, err := ProveFile(ctx, path)
	if err == nil && got.Digest == want && len(got.Faults) == 0 || ctx.Err() != nil {
		return got, ctx.Err()
	}
	original, cause := db.Prove(ctx)
	same := func(a, b store.Fault) bool { return a.Code == b.Code && a.Node == b.Node } // details name files
	if (err == nil) != (cause == nil) || !slices.EqualFunc(got.Faults, original.Faults, same) {
		return got, errors.Join(errCopy, err)
	}
	return got, ctx.Err()
}

// ProveFile proves a database file that nobody else has open, without writing
// to it.
func ProveFile(ctx context.Context, path string) (Proof, error) {
	db, err := Open(ctx, path, Options{ReadOnly: true})
	if err != nil {
		return Proof{}, err
	}
	p, err := db.Prove(ctx)
	return p, errors.Join(err, db.Close())
}

// reserve is partFile for a copy whose path must not exist yet.
func reserve(path string) (string, error) {
	if _, err := os.Lstat(path); err == nil {
		return "", &store.Problem{Err: fmt.Errorf("%s exists: %w", path, fs.ErrExist), Hint: "choose another name, or move it away; nothing was overwritten"}
	}
	tmp, err := newPart(path)
	return tmp, explainCopy(path, err)
}

// partFile makes the file under whose name a database is written before it is
// called path.
func partFile(path string) (string, error) {
	tmp, err := newPart(path)
	return tmp, explain(path, err)
}

func newPart(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), PartPattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// explainCopy is explain for a copy: it is the place that was chosen for it
// that cannot be written to, not the database.
func explainCopy(path string, err error) error {
	if err == nil {
		return nil
	}
	hint := "choose a directory that you may write to, or change its owner or mode; the database is as it was"
	if Full(err) {
		hint = "the disk is full: free some space or choose another directory; the database is as it was"
	}
	var at *fs.PathError // it names a file that nobody has heard of
	if errors.As(err, &at) {
		err = at.Err
	}
	return &store.Problem{Err: fmt.Errorf("nothing can be written to %s, the directory of %s: %w", filepath.Dir(path), filepath.Base(path), err), Hint: hint}
}

// publish gives a finished file its name, unless someone has taken it since.
func publish(tmp, path string) error {
	if err := syncFile(tmp); err != nil {
		return explainCopy(path, err)
	}
	// A link fails where the name exists, which a rename does not.
	err := os.Link(tmp, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &store.Problem{Err: fmt.Errorf("%s exists: %w", path, fs.ErrExist), Hint: "choose another name; nothing was overwritten"}
	case err != nil: // a file system without links
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return explainCopy(path, err)
	}
	return syncFile(filepath.Dir(path))
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeDatabase removes what is left of a temporary database.
func removeDatabase(path string) {
	for _, suffix := range fileSuffixes {
		_ = os.Remove(path + suffix) // they may not be there
	}
}

// fileSuffixes are the files that together are a database.
var fileSuffixes = []string{"", "-wal", "-shm", "-journal"}
