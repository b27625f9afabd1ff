package dbfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3/vfs/readervfs"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// snapshot is the state of a file and its log at one moment. It is for reading
// on a full disk, where SQLite cannot make its shared memory. It takes no
// locks. changed reports whether another process has written since; the data
// read is then invalid.
type snapshot struct {
	name     string // the name in package readervfs
	path     string
	db, log  *os.File         // log is nil if there is none
	pages    map[uint32]int64 // where the newest version of a page lies in log
	pageSize int64
	size     int64
	stamps   [2]stamp
}

// stamp identifies a version of a file.
type stamp struct {
	size int64
	time time.Time
}

func (s *snapshot) look() (now [2]stamp, err error) {
	for i, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(s.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist) && suffix != "":
		case err != nil:
			return now, err
		case info.Size() > 0 || suffix == "": // an empty log is none
			now[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return now, nil
}

var snapshots atomic.Int64

// openSnapshot takes a snapshot and registers it with the driver.
func openSnapshot(path string) (_ *snapshot, err error) {
	s := &snapshot{path: path, name: fmt.Sprintf("lcm-%d", snapshots.Add(1))}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.stamps, err = s.look(); err != nil {
		return nil, err
	}
	if s.db, err = os.Open(path); err != nil {
		return nil, err
	}
	s.size = s.stamps[0].size
	if s.stamps[1].size > WALHeader {
		if s.log, err = os.Open(path + "-wal"); err != nil {
			return nil, err
		}
		var size uint32
		if s.pages, size, s.pageSize, err = ReadWAL(bufio.NewReaderSize(s.log, 1<<20)); err != nil {
			return nil, err
		}
		if size > 0 {
			s.size = int64(size) * s.pageSize
		}
	}
	readervfs.Create(s.name, s)
	return s, s.changed()
}

func (s *snapshot) dsn() string {
	return (&url.URL{Scheme: "file", Opaque: s.name, RawQuery: "vfs=reader"}).String()
}

// changed returns an error if the files were written to since.
func (s *snapshot) changed() error {
	now, err := s.look()
	if err == nil && now != s.stamps {
		err = &hint.Error{Err: fmt.Errorf("database %s: another process wrote to it while it was read without shared memory", s.path),
			Hint: "repeat the command"}
	}
	return err
}

// Size implements ioutil.SizeReaderAt.
func (s *snapshot) Size() (int64, error) { return s.size, nil }

// ReadAt implements [io.ReaderAt].
func (s *snapshot) ReadAt(p []byte, at int64) (n int, err error) {
	if len(s.pages) == 0 {
		return s.db.ReadAt(p, at)
	}
	for n < len(p) && err == nil {
		from := at + int64(n)
		if from >= s.size {
			return n, io.EOF
		}
		within := from % s.pageSize
		part := p[n:min(len(p), n+int(s.pageSize-within))]
		var m int
		if place, ok := s.pages[uint32(from/s.pageSize)+1]; ok {
			m, err = s.log.ReadAt(part, place+within)
		} else {
			m, err = s.db.ReadAt(part, from)
		}
		n += m
	}
	return n, err
}

func (s *snapshot) close() error {
	readervfs.Delete(s.name)
	var errs []error
	for _, f := range []*os.File{s.db, s.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
