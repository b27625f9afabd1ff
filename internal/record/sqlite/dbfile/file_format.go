package dbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// WALHeader is the size of a write-ahead log that holds nothing.
const WALHeader = 32

// hasLog reports whether there is something in the write-ahead log of a database.
func hasLog(path string) bool {
	log, err := os.Stat(path + "-wal")
	return err == nil && log.Size() > WALHeader
}

// OrphanWAL returns an error if there is a write-ahead log without its
// database: SQLite would discard the log with its content.
func OrphanWAL(path string) error {
	if !hasLog(path) { // the log never exists before its file
		return nil
	}
	if file, err := os.Stat(path); err == nil && file.Size() > 0 {
		return nil
	}
	return &hint.Error{
		Err:  fmt.Errorf("%s-wal is the write-ahead log of a database that is not there", path),
		Hint: "put the database back beside it, or run `lcm doctor`; nothing was changed",
	}
}

// ReadWAL reads a write-ahead log up to its last commit: where the newest
// version of each page lies in it, and how many pages the database has.
func ReadWAL(r io.Reader) (pages map[uint32]int64, size uint32, pageSize int64, err error) {
	head := make([]byte, WALHeader)
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
	for at := int64(WALHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); err != nil {
			return pages, size, pageSize, nil // the end, or a frame that was being written
		}
		sum = checksum(order, checksum(order, sum, frame[:8]), frame[24:])
		if string(frame[8:16]) != string(head[16:24]) || sum != [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])} {
			return pages, size, pageSize, nil // frames of an older log follow
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

// Magic begins every SQLite file.
const Magic = "SQLite format 3\x00"

// ReadHeader reads the header of a database file.
func ReadHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// PlausibleHeader reports whether a header is one of ours but for its first bytes.
func PlausibleHeader(head []byte) bool {
	return PageSize(head) > 0 && head[21] == 64 && head[22] == 32 && head[23] == 32 && binary.BigEndian.Uint32(head[68:]) == ApplicationID
}

func PageSize(head []byte) int64 {
	n := int64(binary.BigEndian.Uint16(head[16:]))
	if n == 1 {
		n = 65536
	}
	if n < 512 || n&(n-1) != 0 {
		return 0
	}
	return n
}
