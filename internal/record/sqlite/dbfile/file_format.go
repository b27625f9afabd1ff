package dbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
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

// DamagedWAL returns an error if the header of a write-ahead log does not prove: SQLite
// would discard the log with its content. SQLite writes the header before all frames and
// syncs it, so that no crash leaves one like that. Frames that do not prove are left to
// SQLite: a power cut leaves some, and they were never acknowledged as safe from it.
func DamagedWAL(path string) error {
	for range 2 { // another process may be writing it
		if !hasLog(path) {
			return nil
		}
		log, err := os.Open(path + "-wal")
		if err != nil {
			return nil // opening the database reports the error
		}
		head := make([]byte, WALHeader)
		_, err = io.ReadFull(log, head)
		_ = log.Close() // it was only read
		_, sum := walOrder(head)
		if err != nil || isWAL(head) && sum == walSum(head[24:]) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return &hint.Error{Err: fmt.Errorf("the write-ahead log %s-wal is %w: its header was changed, and the newest messages are in it", path, store.ErrDamaged), Hint: mend}
}

// isWAL reports whether a header begins like one of a log.
func isWAL(head []byte) bool { return binary.BigEndian.Uint32(head)|1 == 0x377f0683 }

// walOrder returns the byte order of the checksums of a log, and the one of its header.
func walOrder(head []byte) (order binary.ByteOrder, sum [2]uint32) {
	order = binary.LittleEndian
	if head[3]&1 != 0 {
		order = binary.BigEndian
	}
	return order, checksum(order, sum, head[:24])
}

func walSum(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// ReadWAL reads a write-ahead log up to its last commit: where the newest
// version of each page lies in it, and how many pages the database has. The header may be
// damaged: the checksum of the first frame includes that of the header, and that of each
// frame the one of the frame before it.
func ReadWAL(r io.Reader) (pages map[uint32]int64, size uint32) {
	head, frame, salts := make([]byte, WALHeader), make([]byte, 24+PageBytes), ""
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, 0
	}
	order, computed := walOrder(head)
	sum := walSum(head[24:])
	wrecked := sum != computed || !isWAL(head)
	pages, pending := map[uint32]int64{}, map[uint32]int64{}
	for at := int64(WALHeader); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); err != nil {
			return pages, size // the end, or a frame that was being written
		}
		next := func(sum [2]uint32) [2]uint32 { return checksum(order, checksum(order, sum, frame[:8]), frame[24:]) }
		if salts == "" {
			if salts = string(frame[8:16]); next(sum) != walSum(frame[16:]) {
				sum = computed
			}
			if wrecked && next(sum) != walSum(frame[16:]) { // the second frame proves the first
				sum, pending[binary.BigEndian.Uint32(frame)] = walSum(frame[16:]), at+24
				continue
			}
		}
		if sum = next(sum); string(frame[8:16]) != salts || sum != walSum(frame[16:]) {
			return pages, size // frames of an older log follow
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
