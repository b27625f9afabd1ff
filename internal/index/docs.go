package index

import (
	"encoding/binary"
	"slices"
)

// Doc is a document to index.
type Doc struct {
	ID           int64  // greater than that of every document added before
	Conversation int64  // what searches are scoped to
	Time         int64  // milliseconds since 1970
	Role         uint8  // the caller's own numbering, for filters and ranking
	Flags        uint8  // the caller's own bits, for filters
	Text         []byte // not kept after Add returns
}

// sessionGap is the silence, in milliseconds, that ends a session.
const sessionGap = 30 * 60 * 1000

// docRow is a document as the segment keeps it.
type docRow struct {
	id           int64
	conversation int64
	time         int64
	role, flags  uint8
	session      uint32 // the first document of its session
	passage      uint32 // its first passage
}

const docRowBytes = 22

// append writes all but the id, role and flags, which have columns of their
// own: candidates are many, and most are asked for nothing else.
func (d docRow) append(dst []byte, minTime int64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(d.conversation))
	dst = binary.LittleEndian.AppendUint32(dst, d.session)
	dst = binary.LittleEndian.AppendUint32(dst, d.passage)
	var t [8]byte
	binary.LittleEndian.PutUint64(t[:], uint64(d.time-minTime))
	return append(dst, t[:6]...)
}

// docID is the id of a document.
func (r *reader) docID(n uint32) (int64, error) {
	offset, err := r.uint32At(streamIDs, n)
	return r.seg.info.FirstID + int64(offset), err
}

// marks are the role and flags of a document.
func (r *reader) marks(n uint32) (role, flags uint8, err error) {
	b, err := r.read(streamMarks, int64(n)*2, 2)
	if err != nil {
		return 0, 0, err
	}
	return b[0], b[1], nil
}

func (r *reader) doc(n uint32) (docRow, error) {
	id, err := r.docID(n)
	if err != nil {
		return docRow{}, err
	}
	b, err := r.read(streamDocs, int64(n)*docRowBytes, docRowBytes)
	if err != nil {
		return docRow{}, err
	}
	role, flags, err := r.marks(n)
	if err != nil {
		return docRow{}, err
	}
	var t [8]byte
	copy(t[:6], b[16:22])
	return docRow{
		id:           id,
		conversation: int64(binary.LittleEndian.Uint64(b)),
		session:      binary.LittleEndian.Uint32(b[8:]),
		passage:      binary.LittleEndian.Uint32(b[12:]),
		time:         r.seg.minTime + int64(binary.LittleEndian.Uint64(t[:])),
		role:         role,
		flags:        flags,
	}, nil
}

// assignSessions numbers the sessions of rows that are in order of ids: a
// message within the gap of the one before it, in its conversation, shares its
// session.
func assignSessions(rows []docRow) {
	type last struct {
		time  int64
		start uint32
	}
	open := make(map[int64]last)
	for i := range rows {
		d := &rows[i]
		before, ok := open[d.conversation]
		start := uint32(i)
		if ok && d.time-before.time < sessionGap {
			start = before.start
		}
		d.session = start
		open[d.conversation] = last{d.time, start}
	}
}

// talk is a conversation's share of a segment.
type talk struct {
	conversation int64
	passages     passageRange
	docs         uint32
	words        uint64
}

func appendTalks(dst []byte, talks []talk) []byte {
	last := int64(0)
	for _, t := range talks {
		dst = binary.AppendVarint(dst, t.conversation-last)
		dst = binary.AppendUvarint(dst, uint64(t.passages.len()))
		dst = binary.AppendUvarint(dst, uint64(t.docs))
		dst = binary.AppendUvarint(dst, t.words)
		last = t.conversation
	}
	return dst
}

func decodeTalks(b []byte) ([]talk, error) {
	var talks []talk
	var conversation int64
	var passage uint32
	for len(b) > 0 {
		delta, n := binary.Varint(b)
		if n <= 0 {
			return nil, corrupt("conversation table")
		}
		b = b[n:]
		var f [3]uint64
		for i := range f {
			if f[i], n = binary.Uvarint(b); n <= 0 {
				return nil, corrupt("conversation table")
			}
			b = b[n:]
		}
		conversation += delta
		end := passage + uint32(f[0])
		talks = append(talks, talk{conversation, passageRange{passage, end}, uint32(f[1]), f[2]})
		passage = end
	}
	return talks, nil
}

// conversations returns the table, read once and kept.
func (s *Segment) conversations(r *reader) ([]talk, error) {
	if kept := s.talks.Load(); kept != nil {
		return *kept, nil
	}
	b, err := r.read(streamTalks, 0, s.streams[streamTalks].size)
	if err != nil {
		return nil, err
	}
	talks, err := decodeTalks(b)
	if err == nil {
		s.talks.Store(&talks)
	}
	return talks, err
}

// talk finds a conversation's share, or false when the segment has none of it.
func (s *Segment) talk(r *reader, conversation int64) (talk, bool, error) {
	talks, err := s.conversations(r)
	if err != nil {
		return talk{}, false, err
	}
	i, ok := slices.BinarySearchFunc(talks, conversation, func(t talk, c int64) int {
		switch {
		case t.conversation < c:
			return -1
		case t.conversation > c:
			return 1
		}
		return 0
	})
	if !ok {
		return talk{}, false, nil
	}
	return talks[i], true, nil
}
