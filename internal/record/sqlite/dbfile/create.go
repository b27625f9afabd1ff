package dbfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
)

// PageBytes is the size of the pages of every database: SQLite's default, which lcm
// never changes.
const PageBytes = 4096

// firstPage is a database without tables that is marked as ours.
func firstPage() []byte {
	page := make([]byte, PageBytes)
	copy(page, Magic)
	binary.BigEndian.PutUint16(page[16:], PageBytes)
	copy(page[18:], []byte{1, 1, 0, 64, 32, 32}) // a journal and not yet a log, nothing reserved, fixed fractions
	for at, value := range map[int]uint32{24: 1, 28: 1, 44: 4, 56: 1, 68: ApplicationID, 92: 1} {
		binary.BigEndian.PutUint32(page[at:], value) // change counter, pages, schema format, UTF-8, ours, valid for this change
	}
	page[100] = 0x0d // an empty leaf, whose content would begin at its end
	binary.BigEndian.PutUint16(page[105:], PageBytes)
	return page
}

// SoundHeader returns the header of a damaged file with the values that every database of
// ours has, and those of the file for its free pages and versions.
func SoundHeader(head []byte, pages uint32) []byte {
	sound := firstPage()[:100]
	sound[18], sound[19] = 2, 2 // a log
	copy(sound[32:44], head[32:44])
	copy(sound[60:64], head[60:64])
	binary.BigEndian.PutUint32(sound[28:], pages)
	return sound
}

// IsSoundHeader reports whether the fields that every database of ours has alike are right.
// The application id is not among them.
func IsSoundHeader(head []byte) bool {
	sound := SoundHeader(head, 0)
	for _, field := range [][2]int{{0, 18}, {20, 24}, {44, 48}, {52, 60}, {64, 68}, {72, 92}} {
		if !bytes.Equal(head[field[0]:field[1]], sound[field[0]:field[1]]) {
			return false
		}
	}
	return head[18] == head[19] && (head[18] == 1 || head[18] == 2) // a journal or a log
}

// Create makes a database that does not exist yet. The file has its first page on the disk
// before it gets its name, so that an empty file is never a new database, also after a
// power cut.
func Create(path string) error {
	part, err := NewPart(path)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	if err := errors.Join(os.WriteFile(part, firstPage(), 0o600), SyncFile(part)); err != nil {
		return err
	}
	err = os.Link(part, path) // unlike a rename it replaces nothing
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil // another process may have been faster
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // a file system without links
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(firstPage())
	return errors.Join(err, f.Sync(), f.Close())
}

// checkHeader refuses a file that lost its content, or whose header has a page size that is
// not ours: SQLite would begin anew in the one, and read the other wrongly.
func checkHeader(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // opening it reports the error
	}
	why := ""
	if head, err := ReadHeader(path); err != nil {
		return err
	} else if size := PageSize(head); info.Size() == 0 {
		why = "it is empty"
	} else if string(head[:16]) == Magic && size != PageBytes && binary.BigEndian.Uint32(head[68:]) == ApplicationID {
		why = fmt.Sprintf("its header says that its pages have %d bytes, they have %d", size, PageBytes)
	}
	if why == "" {
		return nil
	}
	return &hint.Error{Err: fmt.Errorf("database %s is %w: %s", path, store.ErrDamaged, why),
		Hint: "restore a backup, or run `lcm doctor`; if it never was a database, remove it; nothing was changed"}
}
