package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lossless-context/lcm/internal/store"
)

// errPartialLog says that a write-ahead log does not hold a whole database.
var errPartialLog = errors.New("the log holds only a part of the database: the rest was in the file that is missing")

// fromLog makes the file of a database from its write-ahead log, if every page
// is in there: the database was never checkpointed, or was written anew since.
func fromLog(path string) error {
	log, err := os.Open(path + "-wal")
	if err != nil {
		return err
	}
	defer log.Close()
	pages, size, pageSize, err := lastPages(bufio.NewReaderSize(log, 1<<20))
	if err != nil {
		return err
	}
	for n := uint32(1); n <= size; n++ {
		if _, found := pages[n]; !found {
			return &store.Problem{Err: errPartialLog, Hint: "put the database back beside its log, or restore a backup"}
		}
	}
	if size == 0 {
		return &store.Problem{Err: errPartialLog, Hint: "restore a backup"}
	}
	tmp, err := partFile(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := writePages(log, tmp, pages, size, pageSize); err != nil {
		return err
	}
	// The log stays beside its file: it says the same once more.
	return os.Rename(tmp, path)
}

func writePages(log io.ReaderAt, tmp string, pages map[uint32]int64, size uint32, pageSize int64) (err error) {
	f, err := os.OpenFile(tmp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
	page := make([]byte, pageSize)
	for n := uint32(1); n <= size; n++ {
		if _, err := log.ReadAt(page, pages[n]); err != nil {
			return err
		}
		if _, err := f.Write(page); err != nil {
			return err
		}
	}
	return nil
}

// lastPages reads a write-ahead log up to its last commit: where the newest
// version of each page lies in it, and how many pages the database has.
func lastPages(r io.Reader) (pages map[uint32]int64, size uint32, pageSize int64, err error) {
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, 0, 0, err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return nil, 0, 0, errors.New("it is not a write-ahead log")
	}
	pageSize = int64(binary.BigEndian.Uint32(head[8:]))
	if pageSize < 512 || pageSize > 65536 || pageSize&(pageSize-1) != 0 {
		return nil, 0, 0, fmt.Errorf("a page of %d bytes cannot be", pageSize)
	}
	sum := checksum(order, [2]uint32{}, head[:24])
	if sum != [2]uint32{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])} {
		return nil, 0, 0, errors.New("the beginning of the log is damaged")
	}
	pages, pending := map[uint32]int64{}, map[uint32]int64{}
	frame := make([]byte, 24+pageSize)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); err != nil {
			return pages, size, pageSize, nil // the end, or a frame that was being written
		}
		sum = checksum(order, checksum(order, sum, frame[:8]), frame[24:])
		if string(frame[8:16]) != string(head[16:24]) || sum != [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])} {
			return pages, size, pageSize, nil // what follows is older
		}
		pending[binary.BigEndian.Uint32(frame)] = at + 24
		if n := binary.BigEndian.Uint32(frame[4:]); n > 0 { // a commit
			for page, place := range pending {
				pages[page] = place
			}
			clear(pending)
			size = n
		}
	}
}

// checksum is that of SQLite's log format.
func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
