package faulttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// faultyDisk is a VFS for SQLite over that of the operating system. It tracks written
// and synced data separately, fails on demand, and can lose its power.
//
// Locks and shared memory are those of the operating system, so several connections of
// one process can use a database on it.
type faultyDisk struct {
	name string
	os   vfs.VFSFilename

	mu      sync.Mutex
	rng     *rand.Rand
	files   map[string]*diskFile // by path
	deleted map[string]*diskFile // deleted, but not durably
	fault   *fault
	fired   int
	ops     int // writes, truncations and syncs
	crash   int // the power fails at this one, 0: never
	dead    bool
}

// faultKind is a way in which a disk fails.
type faultKind string

// The kinds.
const (
	ShortWrite faultKind = "short write"           // half is written, then an error
	NoSpace    faultKind = "no space"              // ENOSPC
	WriteError faultKind = "write error"           // EIO
	ReadError  faultKind = "read error"            // EIO
	SyncError  faultKind = "sync error"            // and unsynced data may be lost for good
	ReadOnly   faultKind = "read-only file system" // EROFS
	TornWrite  faultKind = "torn write"            // half is written, then the power fails
)

// faultKinds are all of them.
var faultKinds = []faultKind{ShortWrite, NoSpace, WriteError, ReadError, SyncError, ReadOnly, TornWrite}

// fault says when and how a disk fails.
type fault struct {
	Kind faultKind
	// On selects files with this suffix: "-wal", ".db", or "" for all.
	On string
	// After is how many operations of the kind succeed before.
	After int
	// Times is how often it fails; 0 is until Lift.
	Times int
}

var disks atomic.Int64

// newDisk registers a disk under a name of its own. The caller must call Remove.
func newDisk(seed uint64) *faultyDisk {
	d := &faultyDisk{
		name: fmt.Sprintf("faulty-%d", disks.Add(1)), os: vfs.Find("").(vfs.VFSFilename), rng: rand.New(rand.NewPCG(seed, 2)),
		files: map[string]*diskFile{}, deleted: map[string]*diskFile{},
	}
	vfs.Register(d.name, d)
	return d
}

// Name is the name for sqlite.Options.VFS.
func (d *faultyDisk) Name() string { return d.name }

// Remove unregisters the disk.
func (d *faultyDisk) Remove() { vfs.Unregister(d.name) }

// Inject makes the disk fail.
func (d *faultyDisk) Inject(f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = &f
}

// Lift ends a fault.
func (d *faultyDisk) Lift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = nil
}

// Fired returns how often the disk has failed.
func (d *faultyDisk) Fired() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fired
}

// Ops counts the writes, truncations and syncs.
func (d *faultyDisk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// CrashAt cuts the power at the n-th operation from now.
func (d *faultyDisk) CrashAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crash = d.ops + n
}

// Dead reports whether the power has failed.
func (d *faultyDisk) Dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// Cut cuts the power now.
func (d *faultyDisk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// Survivors writes the files after a power cut into a directory: the synced data, and a
// random part of the rest.
func (d *faultyDisk) Survivors(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	luck := []float64{0, 0.5, 0.9, 1}[d.rng.IntN(4)]
	for path, p := range d.files {
		image := p.durable
		if !p.named {
			// Its name may not be durable yet, and that of the file it replaced
			// may still be.
			if gone := d.deleted[path]; d.rng.IntN(2) == 0 {
				if gone == nil {
					continue
				}
				p, image = gone, gone.durable
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), p.after(image, luck, d.rng), 0o600); err != nil {
			return err
		}
	}
	for path, gone := range d.deleted {
		if d.files[path] == nil && d.rng.IntN(2) == 0 {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), gone.after(gone.durable, luck, d.rng), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// operation is an operation on a file.
type operation string

const (
	reading  operation = "read"
	writing  operation = "write"
	cutting  operation = "truncate"
	syncing  operation = "sync"
	creating operation = "create"
)

// applies reports whether a kind of fault affects an operation.
func (k faultKind) applies(op operation) bool {
	switch k {
	case ReadError:
		return op == reading
	case SyncError:
		return op == syncing
	case ShortWrite, TornWrite:
		return op == writing
	case ReadOnly:
		return op == writing || op == cutting || op == creating
	}
	return op == writing || op == cutting
}

var errPower = vfs.SystemError(syscall.EIO, sqlite3.IOERR_WRITE)

// allow decides whether an operation succeeds. half asks for half of a write before the
// error.
func (d *faultyDisk) allow(op operation, path string) (half bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if op == writing || op == cutting || op == syncing {
		if d.ops++; d.ops == d.crash {
			d.dead = true
			return op == writing, errPower
		}
	}
	if d.dead {
		return false, errPower
	}
	f := d.fault
	if f == nil || !f.Kind.applies(op) || !strings.HasSuffix(path, f.On) {
		return false, nil
	}
	if f.After > 0 {
		f.After--
		return false, nil
	}
	if f.Times--; f.Times == 0 {
		d.fault = nil
	}
	d.fired++
	switch f.Kind {
	case NoSpace:
		return false, vfs.SystemError(syscall.ENOSPC, sqlite3.FULL)
	case ReadOnly:
		return false, vfs.SystemError(syscall.EROFS, sqlite3.READONLY)
	case ReadError:
		return false, vfs.SystemError(syscall.EIO, sqlite3.IOERR_READ)
	case SyncError:
		return false, vfs.SystemError(syscall.EIO, sqlite3.IOERR_FSYNC)
	case TornWrite:
		d.dead = true
		return true, errPower
	}
	return f.Kind == ShortWrite, vfs.SystemError(syscall.EIO, sqlite3.IOERR_WRITE)
}
