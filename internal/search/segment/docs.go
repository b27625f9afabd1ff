package segment

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Doc is a document to index.
type Doc struct {
	ID           int64  // greater than that of every document added before
	Conversation int64  // the scope of searches
	Time         int64  // milliseconds since 1970
	Role         uint8  // the caller's own numbering, for filters and ranking
	Flags        uint8  // the caller's own bits, for filters
	Text         []byte // not kept after Add returns
}

// SessionGap is the silence, in milliseconds, that ends a session.
const SessionGap = 30 * 60 * 1000

// DocRow is a document as the segment keeps it.
type DocRow struct {
	ID           int64
	Conversation int64
	Time         int64
	Role, flags  uint8
	Session      uint32 // the first document of its session
	Passage      uint32 // its first passage
}

// docRowBytes is the size of a row.
const docRowBytes = 28

// append writes a row. The id, role and flags have columns of their own too:
// candidates are many, and most are asked for nothing else.
func (d DocRow) append(dst []byte, firstID, minTime int64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(d.Conversation))
	dst = binary.LittleEndian.AppendUint32(dst, d.Session)
	dst = binary.LittleEndian.AppendUint32(dst, d.Passage)
	var t [8]byte
	binary.LittleEndian.PutUint64(t[:], uint64(d.Time-minTime))
	dst = append(dst, t[:6]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(d.ID-firstID))
	return append(dst, d.Role, d.flags)
}

// DocID is the id of a document.
func (r *Reader) DocID(n uint32) (int64, error) {
	offset, err := r.uint32At(streamIDs, n)
	return r.Segment.info.FirstID + int64(offset), err
}

// RoleAndFlags are the role and flags of a document.
func (r *Reader) RoleAndFlags(n uint32) (role, flags uint8, err error) {
	b, err := r.read(streamMarks, int64(n)*2, 2)
	if err != nil {
		return 0, 0, err
	}
	return b[0], b[1], nil
}

// Doc is a document, by its number in order of ids.
func (r *Reader) Doc(n uint32) (DocRow, error) {
	b, err := r.read(streamDocs, int64(n)*docRowBytes, docRowBytes)
	if err != nil {
		return DocRow{}, err
	}
	var t [8]byte
	copy(t[:6], b[16:22])
	return DocRow{
		ID:           r.Segment.info.FirstID + int64(binary.LittleEndian.Uint32(b[22:])),
		Conversation: int64(binary.LittleEndian.Uint64(b)),
		Session:      binary.LittleEndian.Uint32(b[8:]),
		Passage:      binary.LittleEndian.Uint32(b[12:]),
		Time:         r.Segment.minTime + int64(binary.LittleEndian.Uint64(t[:])),
		Role:         b[26],
		flags:        b[27],
	}, nil
}

// assignSessions numbers the sessions of rows that are in order of ids: a
// message within the gap of the one before it, in its conversation, shares its
// session.
func assignSessions(rows []DocRow) {
	type last struct {
		time  int64
		start uint32
	}
	open := make(map[int64]last)
	for i := range rows {
		d := &rows[i]
		before, ok := open[d.Conversation]
		start := uint32(i)
		if ok && d.Time-before.time < SessionGap {
			start = before.start
		}
		d.Session = start
		open[d.Conversation] = last{d.Time, start}
	}
}

// ConversationRange is a conversation's share of a segment.
type ConversationRange struct {
	ID       int64
	Passages PassageRange
	Docs     uint32
	Words    uint64
}

func appendConversations(dst []byte, talks []ConversationRange) []byte {
	last := int64(0)
	for _, t := range talks {
		dst = binary.AppendVarint(dst, t.ID-last)
		dst = binary.AppendUvarint(dst, uint64(t.Passages.Len()))
		dst = binary.AppendUvarint(dst, uint64(t.Docs))
		dst = binary.AppendUvarint(dst, t.Words)
		last = t.ID
	}
	return dst
}

func decodeConversations(b []byte) ([]ConversationRange, error) {
	var talks []ConversationRange
	var conversation int64
	var passage uint32
	for v := (&numbers{b: b}); len(v.b) > 0; {
		conversation += v.signed()
		end := passage + uint32(v.unsigned())
		talks = append(talks, ConversationRange{conversation, PassageRange{passage, end}, uint32(v.unsigned()), v.unsigned()})
		if passage = end; v.bad {
			return nil, corrupt("conversation table")
		}
	}
	return talks, nil
}

// conversations returns the table, read once and kept.
func (s *Segment) conversations(r *Reader) ([]ConversationRange, error) {
	if kept := s.conversationTable.Load(); kept != nil {
		return *kept, nil
	}
	b, err := r.read(streamConversations, 0, s.streams[streamConversations].size)
	if err != nil {
		return nil, err
	}
	talks, err := decodeConversations(b)
	if err == nil {
		s.conversationTable.Store(&talks)
	}
	return talks, err
}

// Conversation finds a conversation's share, or false when the segment has none of it.
func (s *Segment) Conversation(r *Reader, conversation int64) (ConversationRange, bool, error) {
	talks, err := s.conversations(r)
	if err != nil {
		return ConversationRange{}, false, err
	}
	i, ok := slices.BinarySearchFunc(talks, conversation, func(t ConversationRange, c int64) int { return cmp.Compare(t.ID, c) })
	if !ok {
		return ConversationRange{}, false, nil
	}
	return talks[i], true, nil
}
