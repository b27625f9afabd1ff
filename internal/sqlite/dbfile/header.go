package dbfile

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

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
