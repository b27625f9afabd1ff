package faulttest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// sector is the unit of a disk write: after an interrupted write each sector is old or
// new, never mixed.
const sector = 512

// diskFile is the content of a file on a disk: the synced bytes, and the changes since.
type diskFile struct {
	durable []byte
	named   bool // its name is durable
	pending []change
}

// change is a write, or a truncation if data is nil.
type change struct {
	at   int64
	data []byte
}

func (c change) apply(image []byte) []byte {
	if c.data == nil {
		if c.at < int64(len(image)) {
			return image[:c.at]
		}
		return grow(image, c.at)
	}
	image = grow(image, c.at+int64(len(c.data)))
	copy(image[c.at:], c.data)
	return image
}

func grow(image []byte, size int64) []byte {
	if n := size - int64(len(image)); n > 0 {
		image = append(image, make([]byte, n)...)
	}
	return image
}

// sync makes the pending changes durable.
func (p *diskFile) sync() {
	for _, c := range p.pending {
		p.durable = c.apply(p.durable)
	}
	p.pending = nil
}

// forgetSome drops changes as an operating system may do after a failed sync: it takes
// the pages for clean and never writes them.
func (p *diskFile) forgetSome(rng *rand.Rand) {
	kept := p.pending[:0]
	for _, c := range p.pending {
		if rng.IntN(2) == 0 {
			kept = append(kept, c)
		}
	}
	p.pending = kept
}

// after returns the file after a power cut: each sector written since the last sync is
// there with the probability luck.
func (p *diskFile) after(image []byte, luck float64, rng *rand.Rand) []byte {
	left := append([]byte{}, image...)
	for _, c := range p.pending {
		if c.data == nil {
			if rng.Float64() < luck {
				left = c.apply(left)
			}
			continue
		}
		for from := int64(0); from < int64(len(c.data)); {
			to := min(int64(len(c.data)), (c.at+from)/sector*sector+sector-c.at)
			if rng.Float64() < luck {
				left = change{c.at + from, c.data[from:to]}.apply(left)
			}
			from = to
		}
	}
	return left
}

// Open implements [vfs.VFS].
func (d *faultyDisk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return d.os.Open(name, flags) // temporary files without a name
}

// OpenFilename implements [vfs.VFSFilename].
func (d *faultyDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == nil {
		return d.os.OpenFilename(name, flags)
	}
	path := name.String()
	there, err := d.os.Access(path, vfs.ACCESS_EXISTS)
	if err != nil {
		return nil, flags, err
	}
	if !there && flags&vfs.OPEN_CREATE != 0 {
		if _, err := d.allow(creating, path); err != nil {
			return nil, flags, vfs.SystemError(err, sqlite3.CANTOPEN)
		}
	}
	f, flags, err := d.os.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.files[path]
	if p == nil {
		p = &diskFile{}
		d.files[path] = p
		if there { // the file is older than the disk
			size, err := f.Size()
			if err != nil {
				return nil, flags, errors.Join(err, f.Close())
			}
			p.durable, p.named = make([]byte, size), true
			if _, err := f.ReadAt(p.durable, 0); err != nil && size > 0 {
				return nil, flags, errors.Join(err, f.Close())
			}
		}
	}
	return &file{File: f, disk: d, diskFile: p, path: path}, flags, nil
}

// Delete implements [vfs.VFS].
func (d *faultyDisk) Delete(path string, syncDir bool) error {
	if _, err := d.allow(cutting, path); err != nil {
		return vfs.SystemError(err, sqlite3.IOERR_DELETE)
	}
	if err := d.os.Delete(path, false); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.files[path]; p != nil && (p.named || d.deleted[path] == nil) {
		d.deleted[path] = p
	}
	delete(d.files, path)
	if syncDir {
		d.syncNames(filepath.Dir(path))
	}
	return nil
}

// SyncDir makes the names in a directory durable, also deletions. Package sqlite calls it
// where it would sync a real directory.
func (d *faultyDisk) SyncDir(dir string) error {
	if _, err := d.allow(syncing, dir); err != nil {
		return err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncNames(full)
	return nil
}

func (d *faultyDisk) syncNames(dir string) {
	for path, p := range d.files {
		p.named = p.named || filepath.Dir(path) == dir
	}
	for gone := range d.deleted {
		if filepath.Dir(gone) == dir {
			delete(d.deleted, gone)
		}
	}
}

// Access implements [vfs.VFS].
func (d *faultyDisk) Access(path string, flags vfs.AccessFlag) (bool, error) {
	if d.Dead() {
		return false, vfs.SystemError(syscall.EIO, sqlite3.IOERR_ACCESS)
	}
	ok, err := d.os.Access(path, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return ok, err
}

// FullPathname implements [vfs.VFS].
func (d *faultyDisk) FullPathname(path string) (string, error) { return d.os.FullPathname(path) }

// file is an open file on a disk.
type file struct {
	vfs.File
	disk     *faultyDisk
	diskFile *diskFile
	path     string
}

var (
	_ vfs.FileSharedMemory = (*file)(nil)
	_ vfs.FileLockState    = (*file)(nil)
	_ vfs.FileHasMoved     = (*file)(nil)
	_ vfs.FilePersistWAL   = (*file)(nil)
)

// ReadAt implements [vfs.File].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if _, err := f.disk.allow(reading, f.path); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// WriteAt implements [vfs.File].
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	half, failed := f.disk.allow(writing, f.path)
	if half {
		p = p[:len(p)/2]
	} else if failed != nil {
		return 0, failed
	}
	n, err := f.File.WriteAt(p, off)
	if err == nil {
		f.change(change{off, append([]byte{}, p...)})
	}
	return n, errors.Join(failed, err)
}

func (f *file) change(c change) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.diskFile.pending = append(f.diskFile.pending, c)
}

// Truncate implements [vfs.File].
func (f *file) Truncate(size int64) error {
	if _, err := f.disk.allow(cutting, f.path); err != nil {
		return err
	}
	err := f.File.Truncate(size)
	if err == nil {
		f.change(change{at: size})
	}
	return err
}

// Sync implements [vfs.File]. It does not sync the real file, which would only take time.
func (f *file) Sync(vfs.SyncFlag) error {
	_, err := f.disk.allow(syncing, f.path)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err != nil {
		if !f.disk.dead {
			f.diskFile.forgetSome(f.disk.rng)
		}
		return err
	}
	f.diskFile.sync()
	return nil
}

// DeviceCharacteristics implements [vfs.File].
func (f *file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// SharedMemory implements [vfs.FileSharedMemory].
func (f *file) SharedMemory() vfs.SharedMemory {
	if s, ok := f.File.(vfs.FileSharedMemory); ok {
		return s.SharedMemory()
	}
	return nil
}

// LockState implements [vfs.FileLockState].
func (f *file) LockState() vfs.LockLevel { return f.File.(vfs.FileLockState).LockState() }

// HasMoved implements [vfs.FileHasMoved].
func (f *file) HasMoved() (bool, error) { return f.File.(vfs.FileHasMoved).HasMoved() }

// PersistWAL implements [vfs.FilePersistWAL].
func (f *file) PersistWAL() bool { return f.File.(vfs.FilePersistWAL).PersistWAL() }

// SetPersistWAL implements [vfs.FilePersistWAL].
func (f *file) SetPersistWAL(keep bool) { f.File.(vfs.FilePersistWAL).SetPersistWAL(keep) }
