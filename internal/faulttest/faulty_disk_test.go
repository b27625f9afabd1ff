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

// Disk is a file system layer for SQLite over that of the operating system. It
// keeps what was written apart from what was synced, fails when it is told to,
// and loses its power.
//
// Locks and shared memory are those of the operating system, so several
// connections can use a database on it, in one process.
type Disk struct {
	name string
	os   vfs.VFSFilename

	mu     sync.Mutex
	rng    *rand.Rand
	files  map[string]*platter // by path
	ghosts map[string]*platter // deleted, but not yet for good
	fault  *Fault
	fired  int
	ops    int // writes, truncations and syncs
	crash  int // the power goes at this one, 0: never
	dead   bool
}

// Kind is a way in which a disk fails.
type Kind string

// The kinds.
const (
	ShortWrite Kind = "short write"           // half is written, then an error
	NoSpace    Kind = "no space"              // ENOSPC
	WriteError Kind = "write error"           // EIO
	ReadError  Kind = "read error"            // EIO
	SyncError  Kind = "sync error"            // and what was not synced may be lost for good
	ReadOnly   Kind = "read-only file system" // EROFS
	TornWrite  Kind = "torn write"            // half is written, then the power goes
)

// Kinds are all of them.
var Kinds = []Kind{ShortWrite, NoSpace, WriteError, ReadError, SyncError, ReadOnly, TornWrite}

// Fault says when and how a disk fails.
type Fault struct {
	Kind Kind
	// On narrows it down to files with this suffix: "-wal", ".db", or all.
	On string
	// After is how many operations of the kind go well before.
	After int
	// Times is how often it fails; 0 is until Lift.
	Times int
}

var disks atomic.Int64

// NewDisk registers a disk under a name of its own. Whoever made it calls
// Remove.
func NewDisk(seed uint64) *Disk {
	d := &Disk{
		name: fmt.Sprintf("faulty-%d", disks.Add(1)), os: vfs.Find("").(vfs.VFSFilename), rng: rand.New(rand.NewPCG(seed, 2)),
		files: map[string]*platter{}, ghosts: map[string]*platter{},
	}
	vfs.Register(d.name, d)
	return d
}

// Name is what sqlite.Options.VFS takes.
func (d *Disk) Name() string { return d.name }

// Remove takes the disk out of the driver's list.
func (d *Disk) Remove() { vfs.Unregister(d.name) }

// Inject has the disk fail.
func (d *Disk) Inject(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = &f
}

// Lift ends a fault.
func (d *Disk) Lift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = nil
}

// Fired returns how often the disk has failed.
func (d *Disk) Fired() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fired
}

// Ops returns how many writes, truncations and syncs there were.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// CrashAt cuts the power at the n-th operation from now.
func (d *Disk) CrashAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crash = d.ops + n
}

// Dead reports whether the power is gone.
func (d *Disk) Dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// Cut cuts the power now, if it has not gone before.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// Survivors writes what is left after a power cut into a directory: what was
// synced, and of the rest whatever chance leaves.
func (d *Disk) Survivors(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	luck := []float64{0, 0.5, 0.9, 1}[d.rng.IntN(4)]
	for path, p := range d.files {
		image := p.durable
		if !p.named {
			// Its name may not be on the disk yet, and that of the file it
			// replaced may still be.
			if ghost := d.ghosts[path]; d.rng.IntN(2) == 0 {
				if ghost == nil {
					continue
				}
				p, image = ghost, ghost.durable
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), p.after(image, luck, d.rng), 0o600); err != nil {
			return err
		}
	}
	for path, ghost := range d.ghosts {
		if d.files[path] == nil && d.rng.IntN(2) == 0 {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), ghost.after(ghost.durable, luck, d.rng), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// operation is what is asked of a file.
type operation string

const (
	reading  operation = "read"
	writing  operation = "write"
	cutting  operation = "truncate"
	syncing  operation = "sync"
	creating operation = "create"
)

// applies says which operations a kind of fault spoils.
func (k Kind) applies(op operation) bool {
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

// allow says whether an operation goes well. half asks for half of a write
// before the error.
func (d *Disk) allow(op operation, path string) (half bool, err error) {
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
