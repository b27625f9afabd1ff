package rows

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// ChunkSize is how much content is compressed together: enough to compress
// well, and small enough to read a line quickly.
const ChunkSize = 256 << 10

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(64<<20))
)

// ZstdMagic begins every compressed chunk.
var ZstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// chunkTable is the [contentStore] in the database: the table of chunks.
type chunkTable struct{ sqldb.Conn }

func (t chunkTable) put(p PayloadRow, data []byte) error {
	for n := 0; n*ChunkSize < len(data); n++ {
		if err := PutChunk(t.Conn, p.Num, n, data[n*ChunkSize:min((n+1)*ChunkSize, len(data))]); err != nil {
			return err
		}
	}
	return nil
}

func (t chunkTable) read(p PayloadRow, first, last int64, yield func(n int64, raw []byte) error) error {
	return readChunks(t.Conn, p.Num, first, last, false, yield)
}

func (t chunkTable) remove(p PayloadRow) error {
	return t.Exec(`DELETE FROM chunks WHERE payload = ?`, p.Num)
}

// mislabelledChunks reads the table by the first bytes of each chunk, and not by its row,
// to tell whether the chunk is compressed.
type mislabelledChunks struct{ chunkTable }

func (t mislabelledChunks) read(p PayloadRow, first, last int64, yield func(n int64, raw []byte) error) error {
	return readChunks(t.Conn, p.Num, first, last, true, yield)
}

// PutChunk stores a chunk, compressed if that makes it smaller.
func PutChunk(c sqldb.Conn, num int64, n int, raw []byte) error {
	data, compressed := encoder.EncodeAll(raw, nil), true
	if len(data) >= len(raw) {
		data, compressed = raw, false
	}
	return c.Exec(`INSERT INTO chunks (payload, n, compressed, data) VALUES (?, ?, ?, ?)`, num, n, compressed, data)
}

// ReadChunks yields the unpacked chunks of a payload from first to last.
func ReadChunks(c sqldb.Conn, num, first, last int64, yield func(n int64, raw []byte) error) error {
	return readChunks(c, num, first, last, false, yield)
}

func readChunks(c sqldb.Conn, num, first, last int64, byLook bool, yield func(n int64, raw []byte) error) error {
	return c.Stream(`SELECT n, compressed, data FROM chunks WHERE payload = ? AND n BETWEEN ? AND ? ORDER BY n`,
		func(s sqldb.Row) (err error) {
			data, compressed := s.ColumnRawBlob(2), s.ColumnBool(1)
			if byLook {
				compressed = bytes.HasPrefix(data, ZstdMagic)
			}
			if compressed {
				if data, err = decoder.DecodeAll(data, nil); err != nil {
					return fmt.Errorf("payload chunk %d: %w", s.ColumnInt64(0), err)
				}
			}
			return yield(s.ColumnInt64(0), data)
		}, num, first, last)
}

// ReadContent reads the chunks of a payload. If the marked compression does not
// give the hash, it tries the one that the bytes look like.
func ReadContent(c sqldb.Conn, p PayloadRow) (FoundContent, error) {
	found, err := hashContent(chunkTable{c}, p, nil)
	if err == nil && found.Sum == p.Sum {
		return found, nil
	}
	if other, otherErr := hashContent(mislabelledChunks{chunkTable{c}}, p, nil); otherErr == nil && other.Sum == p.Sum {
		other.Mislabelled = true
		return other, nil
	}
	return found, err
}
