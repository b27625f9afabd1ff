package sqldb

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// PackMark begins compressed records, and no JSON.
const PackMark = "\x28\xb5\x2f\xfd"

// Records from packFrom to packMost bytes are compressed: shorter ones hardly shrink, and a
// damaged longer one must not fill the memory.
const packFrom, packMost = 1 << 10, 16 << 20

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(packMost))
)

// Packed reports whether bytes look like those that Pack compressed.
func Packed(stored []byte) bool { return bytes.HasPrefix(stored, []byte(PackMark)) }

// Pack returns the form in which a record is stored: compressed, if that makes it smaller or
// if it looks compressed already. Rows of earlier versions have records as they came.
func Pack(record []byte) []byte {
	if alike := Packed(record); !alike && len(record) < packFrom || len(record) > packMost {
		return record
	} else if data := packer.EncodeAll(record, nil); alike || len(data) < len(record) {
		return data
	}
	return record
}

// Unpack returns the record of stored bytes, which it may share. What cannot be unpacked is returned as it
// is stored: its hash tells that it is damaged.
func Unpack(stored []byte) []byte {
	if Packed(stored) {
		if record, err := unpacker.DecodeAll(stored, nil); err == nil {
			return record
		}
	}
	return stored
}
