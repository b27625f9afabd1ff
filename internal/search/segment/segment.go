package segment

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync/atomic"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// Blobs gives a search the stored sections of its segments. A returned slice
// must stay unchanged for as long as the search runs.
type Blobs interface {
	Get(ctx context.Context, segment, section int64) ([]byte, error)
}

// Info describes a segment. A store keeps it beside the sections, to plan
// merges and to report sizes without reading them.
type Info struct {
	Docs      int   // documents
	FirstID   int64 // the lowest document id
	LastID    int64 // the highest document id
	TextBytes int64 // bytes of text that were indexed
	WordBytes int64 // bytes of the word lane
	GramBytes int64 // bytes of the trigram lane
	DocBytes  int64 // bytes of the table of documents, which both lanes share
}

// Sealed is a finished segment: write each section as a row, in any order, and
// the segment exists when all of them are there.
type Sealed struct {
	Info     Info
	Sections [][]byte
}

// Get makes a sealed segment readable before, or without, being stored.
func (s Sealed) Get(_ context.Context, segment, section int64) ([]byte, error) {
	if section < 0 || section >= int64(len(s.Sections)) {
		return nil, fmt.Errorf("index: segment %d has no section %d", segment, section)
	}
	return s.Sections[section], nil
}

// sectionBytes is the size of a section: small enough that a query which needs
// one posting list reads little, large enough that rows are few.
const sectionBytes = 8 << 10

// checksumBytes follow each section.
const checksumBytes = 4

// The format. A segment of another version is [ErrCorrupt]: a store builds it again
// from its documents.
const (
	formatMagic   = "lcmx"
	formatVersion = 2
)

// The streams of a segment. Each is one run of bytes cut into sections.
const (
	streamTerms         = iota // dictionary blocks
	streamPostings             // word posting lists
	streamLengths              // words in each passage, one byte
	_                          // empty
	streamIDs                  // id of each document, less the first, four bytes
	streamMarks                // role and flags of each document, two bytes
	streamDocs                 // the rest of each document
	streamConversations        // conversations and their ranges of passages
	streamGramTerms            // trigram directory blocks
	streamGrams                // trigram posting lists
	streamBlocks               // first document of each block, four bytes
	streamPositions            // forms and positions of each word
	streamStarts               // passages that begin a document, see startBlock
	streamOrder                // documents in order of passages, four bytes; empty if it is that of ids
	streamCount
)

// Segment is an open segment: its header is in memory, the rest is read as a
// query needs it. It is immutable and safe for concurrent use.
type Segment struct {
	id    int64
	blobs Blobs
	header

	conversationTable atomic.Pointer[[]ConversationRange]
}

// header is section zero.
type header struct {
	info             Info
	passages, blocks uint32
	words            uint64 // the sum of the lengths of the passages
	minTime, maxTime int64
	flags            uint8 // that any document has
	streams          [streamCount]streamPlace
	terms            []dictBlock
	grams            []gramBlock
}

type streamPlace struct{ section, size int64 }

// Open reads the header of a stored segment.
func Open(ctx context.Context, blobs Blobs, segment int64) (*Segment, error) {
	b, err := fetchSection(ctx, blobs, segment, 0)
	if err != nil {
		return nil, err
	}
	s := &Segment{id: segment, blobs: blobs}
	if err := s.decode(b); err != nil {
		return nil, fmt.Errorf("open segment %d: %w", segment, err)
	}
	return s, nil
}

// Segment opens a sealed segment where it lies, in memory.
func (s Sealed) Segment(ctx context.Context) (*Segment, error) {
	return Open(ctx, s, 0)
}

// ID is the number under which the segment is stored.
func (s *Segment) ID() int64 { return s.id }

// Info describes the segment.
func (s *Segment) Info() Info { return s.info }

// Passages is the number of passages.
func (s *Segment) Passages() uint32 { return s.passages }

// Words is the number of words in all passages.
func (s *Segment) Words() uint64 { return s.words }

// Times are the times of the oldest and the newest document.
func (s *Segment) Times() (oldest, newest int64) { return s.minTime, s.maxTime }

// Flags are the flags that any document has.
func (s *Segment) Flags() uint8 { return s.flags }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSection appends the checksum that fetchSection verifies.
func sealSection(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func fetchSection(ctx context.Context, blobs Blobs, segment, section int64) ([]byte, error) {
	b, err := blobs.Get(ctx, segment, section)
	if err != nil {
		return nil, fmt.Errorf("read section %d of segment %d: %w", section, segment, err)
	}
	n := len(b) - checksumBytes
	if n < 0 || binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, corrupt(fmt.Sprintf("checksum of section %d of segment %d", section, segment))
	}
	return b[:n], nil
}

// Reader reads one segment for one query and remembers the sections it saw.
type Reader struct {
	ctx     context.Context
	Segment *Segment
	seen    map[int64][]byte
	grams   map[analysis.Trigram]gramEntry
	bytes   int64
}

func (s *Segment) Reader(ctx context.Context) *Reader {
	return &Reader{ctx: ctx, Segment: s, seen: make(map[int64][]byte), grams: make(map[analysis.Trigram]gramEntry)}
}

// BytesRead is how many bytes of index were read.
func (r *Reader) BytesRead() int64 { return r.bytes }

func (r *Reader) section(n int64) ([]byte, error) {
	if b, ok := r.seen[n]; ok {
		return b, nil
	}
	b, err := fetchSection(r.ctx, r.Segment.blobs, r.Segment.id, n)
	if err != nil {
		return nil, err
	}
	r.seen[n] = b
	r.bytes += int64(len(b))
	return b, nil
}

// read returns n bytes of a stream, from one section or several.
func (r *Reader) read(stream int, offset, n int64) ([]byte, error) {
	place := r.Segment.streams[stream]
	if offset < 0 || n < 0 || offset+n > place.size {
		return nil, corrupt("reference outside of a stream")
	}
	if n == 0 {
		return nil, nil
	}
	first, last := offset/sectionBytes, (offset+n-1)/sectionBytes
	within := offset - first*sectionBytes
	var out []byte
	for s := first; s <= last; s++ {
		b, err := r.section(place.section + s)
		if err != nil {
			return nil, err
		}
		take := min(n, sectionBytes-within)
		if int64(len(b)) < within+take {
			return nil, corrupt("short section")
		}
		if first == last {
			return b[within : within+n : within+n], nil
		}
		out = append(out, b[within:within+take]...)
		n -= take
		within = 0
	}
	return out, nil
}

func (r *Reader) uint32At(stream int, i uint32) (uint32, error) {
	b, err := r.read(stream, int64(i)*4, 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// PassageDoc is the document, in order of ids, that holds the passage.
func (r *Reader) PassageDoc(p uint32) (uint32, error) {
	docs := r.PassageDocs()
	return docs.At(p)
}
