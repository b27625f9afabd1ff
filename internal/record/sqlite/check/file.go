package check

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// File checks the file of a database from outside, also one that cannot be
// opened. A database that passes can be opened; [Run] does the rest.
func File(ctx context.Context, path string) ([]store.Fault, error) {
	path = dbfile.Resolve(path)
	k := &fileCheck{path: path}
	if err := dbfile.OrphanWAL(path); err != nil {
		k.Fault("wal-orphan", path+"-wal", "it is the write-ahead log of a database that is not there")
		return k.List, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.Fault("absent", path, "there is no database yet")
		return k.List, nil
	case err != nil:
		return nil, dbfile.Explain(path, err)
	case info.IsDir():
		k.Fault("file", path, "it is a directory")
		return k.List, nil
	}
	k.permissions(info)
	if info.Size() == 0 {
		k.Fault("empty", path, "it is empty: what was in it is gone, or something else made it")
		return k.List, nil
	}
	if err := k.header(info.Size()); err != nil {
		return k.List, dbfile.Explain(path, err)
	}
	return k.List, k.identity(ctx)
}

type fileCheck struct {
	verify.Findings
	path   string
	broken bool // SQLite will not open it
}

// permissions finds files that other users may read or write.
func (k *fileCheck) permissions(info os.FileInfo) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if suffix != "" {
			var err error
			if info, err = os.Stat(k.path + suffix); err != nil {
				continue
			}
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			k.Fault("permissions", k.path+suffix, "others may use it: its mode is %#o, it should be %#o", mode, mode&0o700)
		}
	}
	dir := filepath.Dir(k.path)
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		k.Fault("directory", dir, "others may write to the directory, and so replace the database: its mode is %#o", info.Mode().Perm())
	}
}

// header checks the first page without SQLite.
func (k *fileCheck) header(size int64) error {
	head, err := dbfile.ReadHeader(k.path)
	if err != nil {
		return err
	}
	switch ours := dbfile.PlausibleHeader(head); {
	case string(head[:16]) != dbfile.Magic && ours:
		k.broken = true
		k.Fault("header", k.path, "its first bytes are not those of a database, but the bytes after them are")
		return nil
	case string(head[:16]) != dbfile.Magic:
		k.broken = true
		k.Fault("file", k.path, "it is not a database, or its beginning was overwritten")
		return nil
	case dbfile.PageSize(head) != dbfile.PageBytes && binary.BigEndian.Uint32(head[68:]) == dbfile.ApplicationID:
		k.broken = true
		k.Fault("header", k.path, "its header says that its pages have %d bytes, they have %d", dbfile.PageSize(head), dbfile.PageBytes)
		return nil
	}
	if !dbfile.IsSoundHeader(head) && binary.BigEndian.Uint32(head[68:]) == dbfile.ApplicationID {
		k.broken = true
		k.Fault("header", k.path, "fields of its header are not those of a database of lcm")
		return nil
	}
	page := dbfile.PageSize(head)
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	current := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:])
	log, err := os.Stat(k.path + "-wal")
	logged := err == nil && log.Size() > dbfile.WALHeader
	if page > 0 && !logged && (size%page != 0 || current && size < pages*page) {
		k.Fault("truncated", k.path, "it has %d bytes of %d: its end is missing", size, max(pages*page, size+page-size%page))
	}
	return nil
}

// identity checks that the file belongs to lcm and has the version in its
// header.
func (k *fileCheck) identity(ctx context.Context) error {
	if k.broken {
		return nil
	}
	err := dbfile.WithConn(ctx, k.path, dbfile.Options{ReadOnly: true}, k.versions)
	if dbfile.Full(err) {
		return dbfile.Explain(k.path, err) // not a fault of the file
	}
	if err != nil && ctx.Err() == nil {
		k.Fault("file", k.path, "it cannot be opened: %s", sqldb.WithoutHint(err))
		return nil
	}
	return ctx.Err()
}

func (k *fileCheck) versions(c *dbfile.Conn) error {
	says, app, err := dbfile.ReadStamps(c)
	if err != nil {
		return err
	}
	is, err := TablesVersion(c)
	switch {
	case err != nil:
		return err
	case app == dbfile.ApplicationID && says > dbfile.Version && (is == 0 || says < implausible):
		k.Fault("schema-newer", k.path, "it has schema version %d, this lcm reads version %d", says, dbfile.Version)
	case is == 0 && app != dbfile.ApplicationID:
		k.Fault("file", k.path, "it is the database of another program")
	case is != 0 && app != dbfile.ApplicationID:
		k.Fault("schema-version", k.path, "it is not marked as a database of lcm, but has the tables of one (version %d)", is)
	case is != 0 && is != says:
		k.Fault("schema-version", k.path, "it says it has schema version %d, but has the tables of version %d", says, is)
	}
	return nil
}

// implausible is a schema version that no lcm will have: the header is damaged.
const implausible = 1000

// TablesVersion returns the schema version if the file has its tables and columns, else 0.
func TablesVersion(c *dbfile.Conn) (int, error) {
	have, err := dbfile.Objects(c)
	if err != nil {
		return 0, err
	}
	want, err := dbfile.Schema()
	if err != nil || !maps.Equal(tables(have), tables(want)) {
		return 0, err
	}
	return dbfile.Version, nil
}

// tables maps the tables of a schema to their columns.
func tables(all map[string]dbfile.Object) map[string]string {
	shape := map[string]string{}
	for name, o := range all {
		if o.Kind == "table" {
			shape[name] = fmt.Sprint(o.Columns)
		}
	}
	return shape
}

// Unreadable looks for damage that keeps SQLite from reading all rows of a file: in its
// header, its size and its pages. It is nil if there is none.
func Unreadable(ctx context.Context, path string) (*store.Fault, error) {
	faults, err := File(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, f := range faults {
		if slices.Contains([]string{"empty", "file", "header", "truncated", "schema-version"}, f.Code) {
			return &f, nil
		}
	}
	found := store.Fault{Code: "page", Node: path}
	err = dbfile.WithConn(ctx, path, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) (err error) {
		found.Detail, err = sqldb.Value[string](c, "PRAGMA quick_check(1)")
		return err
	})
	switch {
	case ctx.Err() != nil || dbfile.Full(err):
		return nil, errors.Join(ctx.Err(), err)
	case err != nil:
		found.Detail = sqldb.WithoutHint(err)
	case found.Detail == "ok" || IndexTrouble().MatchString(found.Detail):
		return nil, nil
	}
	return &found, nil
}

// Unopenable reports whether an error means that the file is damaged or not a
// database.
func Unopenable(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}
