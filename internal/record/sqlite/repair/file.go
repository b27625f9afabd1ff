package repair

import (
	"bufio"
	"context"
	"errors"
	"os"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// File repairs the faults of [check.File] that can be derived, so that the
// database opens: its first bytes, version and application id in its header,
// permissions, and a file of which only a complete write-ahead log is left. The
// caller has made a copy.
func File(ctx context.Context, path string, faults []store.Fault) error {
	path = dbfile.Resolve(path)
	var errs []error
	for _, f := range faults {
		switch f.Code {
		case "wal-orphan":
			errs = append(errs, fromLog(path))
		case "permissions":
			if info, err := os.Stat(f.Node); err == nil {
				errs = append(errs, os.Chmod(f.Node, info.Mode().Perm()&0o700))
			}
		case "directory":
			if info, err := os.Stat(f.Node); err == nil {
				errs = append(errs, os.Chmod(f.Node, info.Mode().Perm()&^0o022))
			}
		case "header":
			errs = append(errs, repairHeader(path))
		case "schema-version":
			errs = append(errs, restamp(ctx, path))
		}
	}
	return dbfile.Explain(path, errors.Join(errs...))
}

// repairHeader writes the fields of the header that every database has alike.
func repairHeader(path string) error {
	head, err := dbfile.ReadHeader(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	head = dbfile.SoundHeader(head, uint32(info.Size()/dbfile.PageBytes))
	_, err = f.WriteAt(head, 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// restamp writes the version of the tables into the header.
func restamp(ctx context.Context, path string) error {
	return dbfile.WithConn(ctx, path, dbfile.Options{}, func(c *dbfile.Conn) error {
		is, err := check.TablesVersion(c)
		if err == nil && is > 0 {
			err = c.Write(func() error { return dbfile.WriteStamps(c, is) })
		}
		return err
	})
}

// errPartialLog says that a write-ahead log lacks pages of its database.
var errPartialLog = errors.New("the log holds only a part of the database: the rest was in the file that is missing")

// fromLog makes the database file of a write-ahead log that has every page. The
// first page is enough: SQLite takes the others from the log.
func fromLog(path string) error {
	log, err := os.Open(path + "-wal")
	if err != nil {
		return err
	}
	defer log.Close()
	pages, size, pageSize, err := dbfile.ReadWAL(bufio.NewReaderSize(log, 1<<20))
	if err != nil {
		return err
	}
	for n := uint32(1); n <= size; n++ {
		if _, found := pages[n]; !found {
			return &hint.Error{Err: errPartialLog, Hint: "put the database back beside its log, or restore a backup"}
		}
	}
	if size == 0 {
		return &hint.Error{Err: errPartialLog, Hint: "restore a backup"}
	}
	first := make([]byte, pageSize)
	if _, err := log.ReadAt(first, pages[1]); err != nil {
		return err
	}
	return os.WriteFile(path, first, 0o600)
}
