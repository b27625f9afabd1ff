package check

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
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
	case !info.Mode().IsRegular():
		k.Fault("file", path, "it is a directory, a pipe or a device")
		return k.List, nil
	}
	k.permissions(info)
	if info.Size() == 0 {
		k.Fault("empty", path, "it is empty: what was in it is gone, or something else made it")
		return k.List, nil
	}
	sound, err := k.header(info.Size())
	if dbfile.DamagedWAL(path) != nil {
		sound = false
		k.Fault("wal-damaged", path+"-wal", "its header was changed: the newest messages are in this log, and SQLite would discard it")
	}
	if err == nil && sound {
		err = k.identity(ctx)
	}
	return k.List, dbfile.Explain(path, err)
}

type fileCheck struct {
	verify.Findings
	path string
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

// header checks the first page and the size without SQLite. It reports whether SQLite can
// open the file.
func (k *fileCheck) header(size int64) (sound bool, err error) {
	head, err := dbfile.ReadHeader(k.path)
	if err != nil {
		return false, err
	}
	page, ours, why := dbfile.PageSize(head), binary.BigEndian.Uint32(head[68:]) == dbfile.ApplicationID, ""
	switch {
	case string(head[:16]) != dbfile.Magic:
		why = "it is not a database, or its beginning was overwritten"
	case ours && page != dbfile.PageBytes:
		why = fmt.Sprintf("its header says that its pages have %d bytes, they have %d", page, dbfile.PageBytes)
	case ours && !dbfile.IsSoundHeader(head):
		why = "fields of its header are not those of a database of lcm"
	}
	if why != "" {
		k.Fault("file", k.path, "%s", why)
		return false, nil
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	current := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:])
	log, err := os.Stat(k.path + "-wal")
	logged := err == nil && log.Size() > dbfile.WALHeader
	switch {
	case page == 0 || logged:
	case current && size > pages*page && size%page != 0:
		k.Fault("appended", k.path, "it has %d bytes, its pages have %d: something was appended to it", size, pages*page)
	case size%page != 0 || current && size < pages*page:
		k.Fault("truncated", k.path, "it has %d bytes of %d: its end is missing", size, max(pages*page, size+page-size%page))
	}
	return true, nil
}

// identity checks that the file belongs to lcm and has the version in its
// header, and its schema.
func (k *fileCheck) identity(ctx context.Context) error {
	err := dbfile.WithConn(ctx, k.path, dbfile.Options{ReadOnly: true}, k.versions)
	if _, advised := errors.AsType[*hint.Error](err); advised || dbfile.Full(err) {
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
	var parts verify.Findings
	current, err := schema(c, &parts)
	if err != nil {
		return err
	}
	switch {
	case app == dbfile.ApplicationID && says > dbfile.Version && (!current || says < implausible):
		k.Fault("schema-newer", k.path, "it has schema version %d, this lcm reads version %d", says, dbfile.Version)
	case app != dbfile.ApplicationID && !current:
		k.Fault("file", k.path, "it is the database of another program")
	case app != dbfile.ApplicationID:
		k.Fault("file", k.path, "it is not marked as a database of lcm, but has the tables of one")
	case current && says != dbfile.Version:
		k.Fault("file", k.path, "it says it has schema version %d, but has the tables of version %d", says, dbfile.Version)
	case says == dbfile.Version:
		k.List = append(k.List, parts.List...)
	}
	return nil
}

// implausible is a schema version that no lcm will have: the header is damaged.
const implausible = 1000

// Unopenable reports whether an error means that the file is damaged or not a
// database.
func Unopenable(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}
