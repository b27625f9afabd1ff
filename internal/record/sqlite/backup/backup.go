// Package backup copies databases: [Create] writes a proved copy while others go
// on writing, and [Install] puts a copy in the place of a database and keeps the
// one that it replaces.
//
// Copies are written under a temporary name and get their own when they are
// complete. [LeftOvers] finds those of processes that were killed.
package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// expectedDigest computes the digest of the conversations from their stored
// heads.
func expectedDigest(c *dbfile.Conn) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	err = c.Query(`SELECT c.key, c.segment, c.messages, c.head FROM conversations c WHERE `+record.Listed+` ORDER BY c.key COLLATE BINARY, c.segment`, func(s sqldb.Row) error {
		one := verify.ConversationDigest(s.ColumnText(0), s.ColumnInt(1), s.ColumnInt64(2), sqldb.Hash(s, 3))
		h.Write(one[:])
		return nil
	})
	h.Sum(sum[:0])
	return sum, err
}

// Create writes a copy of the database at one moment to a new file, while other
// processes go on writing, and verifies that the copy has the digest of the
// database. The file gets its name when that is done, and only its owner can
// read it.
//
// A damaged database is copied with its faults, which the proof lists.
func Create(ctx context.Context, f *dbfile.File, path string, progress func(done, total int)) (verify.Proof, error) {
	tmp, err := reserve(path)
	if err != nil {
		return verify.Proof{}, err
	}
	defer dbfile.RemoveDatabase(tmp)
	var want [sha256.Size]byte
	unclean := false
	err = f.Reader(ctx, func(c *dbfile.Conn) error {
		// The read transaction keeps the copy at one moment.
		return c.Read(func() (err error) {
			if want, err = expectedDigest(c); err != nil {
				return err
			}
			if unclean, err = c.Has(`SELECT 1 FROM erasures WHERE NOT finished`); err != nil {
				return err
			}
			return dbfile.CopyTo(ctx, c, tmp, progress)
		})
	})
	if err != nil {
		return verify.Proof{}, fmt.Errorf("back up to %s: %w", path, err)
	}
	if unclean {
		// Its pages may still hold parts of erased messages.
		if err := dbfile.VacuumFile(ctx, tmp); err != nil && !check.Unopenable(err) {
			return verify.Proof{}, fmt.Errorf("remove erased messages from the backup: %w", err)
		}
	}
	proof, err := proveCopy(ctx, f, tmp, want)
	if err != nil {
		return proof, fmt.Errorf("check the backup: %w", err)
	}
	return proof, publish(tmp, path)
}

// errCopy says that a copy differs from its database.
var errCopy = errors.New("the copy differs from the database")

// proveCopy verifies that a copy has the digest of its database. If it has not,
// the copy must have the same faults as the database.
func proveCopy(ctx context.Context, f *dbfile.File, path string, want [sha256.Size]byte) (verify.Proof, error) {
	got, err := check.ProveFile(ctx, path)
	if err == nil && got.Digest == want && len(got.Faults) == 0 || ctx.Err() != nil {
		return got, ctx.Err()
	}
	original, cause := check.Prove(ctx, f)
	same := func(a, b store.Fault) bool { return a.Code == b.Code && a.Node == b.Node } // details name files
	if (err == nil) != (cause == nil) || !slices.EqualFunc(got.Faults, original.Faults, same) {
		return got, errors.Join(errCopy, err)
	}
	return got, ctx.Err()
}

// reserve is PartFile for a copy whose path must not exist yet.
func reserve(path string) (string, error) {
	if _, err := os.Lstat(path); err == nil {
		return "", &hint.Error{Err: fmt.Errorf("%s exists: %w", path, fs.ErrExist), Hint: "choose another name, or move it away; nothing was overwritten"}
	}
	tmp, err := dbfile.NewPart(path)
	return tmp, explainCopy(path, err)
}

// explainCopy is [dbfile.Explain] for the path of a copy.
func explainCopy(path string, err error) error {
	if err == nil {
		return nil
	}
	advice := "choose a directory that you may write to, or change its owner or mode; the database is as it was"
	if dbfile.Full(err) {
		advice = "the disk is full: free some space or choose another directory; the database is as it was"
	}
	var at *fs.PathError // it names the temporary file
	if errors.As(err, &at) {
		err = at.Err
	}
	return &hint.Error{Err: fmt.Errorf("nothing can be written to %s, the directory of %s: %w", filepath.Dir(path), filepath.Base(path), err), Hint: advice}
}

// publish gives a finished file its name, unless the name is taken.
func publish(tmp, path string) error {
	if err := dbfile.SyncFile(tmp); err != nil {
		return explainCopy(path, err)
	}
	// A link fails where the name exists, which a rename does not.
	err := os.Link(tmp, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &hint.Error{Err: fmt.Errorf("%s exists: %w", path, fs.ErrExist), Hint: "choose another name; nothing was overwritten"}
	case err != nil: // a file system without links
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return explainCopy(path, err)
	}
	return dbfile.SyncFile(filepath.Dir(path))
}

// CopyUnproved copies a database that is too incomplete to be verified, at one
// moment.
func CopyUnproved(ctx context.Context, path, to string) error {
	tmp, err := reserve(to)
	if err != nil {
		return err
	}
	defer dbfile.RemoveDatabase(tmp)
	err = dbfile.WithConn(ctx, path, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) error {
		return c.Read(func() error { return dbfile.CopyTo(ctx, c, tmp, nil) })
	})
	if err != nil {
		return fmt.Errorf("back up to %s: %w", to, dbfile.Explain(path, err))
	}
	// Its pages may hold parts of erased messages.
	if err := dbfile.VacuumFile(ctx, tmp); err != nil {
		return fmt.Errorf("remove erased messages from the backup: %w", err)
	}
	return publish(tmp, to)
}
