package segment

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// segmentWriter lays out a segment. Words are numbered by passage in order of
// conversation, so that a conversation is one range of passages and a search
// inside it skips the rest; grams are numbered by block in order of ids, so that
// the newest come last.
type segmentWriter struct {
	rows     []DocRow
	renumber []uint32 // passage as added → passage as stored
	docOf    []uint32 // document of each passage as stored
	words    dictWriter
	grams    gramWriter
	blocks   uint32
	header   header
	streams  [streamCount][]byte
}

// newSegmentWriter takes rows in order of ids and their passages in the same
// order.
func newSegmentWriter(rows []DocRow, lengths []uint8, docOf []uint32, text int64) *segmentWriter {
	w := &segmentWriter{rows: rows, renumber: make([]uint32, len(lengths))}
	assignSessions(rows)
	order := make([]uint32, len(rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(x, y uint32) int { return cmp.Compare(rows[x].Conversation, rows[y].Conversation) })
	storedLengths := make([]byte, 0, len(lengths))
	w.docOf = make([]uint32, 0, len(lengths))
	var talks []ConversationRange
	for _, doc := range order {
		row := &rows[doc]
		if n := len(talks); n == 0 || talks[n-1].ID != row.Conversation {
			at := uint32(len(storedLengths))
			talks = append(talks, ConversationRange{ID: row.Conversation, Passages: PassageRange{at, at}})
		}
		t := &talks[len(talks)-1]
		t.Docs++
		p := row.Passage
		row.Passage = t.Passages.To
		for ; int(p) < len(docOf) && docOf[p] == doc; p++ {
			w.renumber[p] = uint32(len(storedLengths))
			storedLengths = append(storedLengths, lengths[p])
			w.docOf = append(w.docOf, doc)
			t.Words += uint64(lengths[p])
			t.Passages.To++
		}
	}
	for _, t := range talks {
		w.header.words += t.Words
	}
	w.header.passages = uint32(len(storedLengths))
	w.streams[streamLengths] = storedLengths
	w.streams[streamConversations] = appendConversations(nil, talks)
	h := &w.header
	h.info = Info{Docs: len(rows), FirstID: rows[0].ID, LastID: rows[len(rows)-1].ID, TextBytes: text}
	return w
}

// describe writes the tables of documents and passages.
func (w *segmentWriter) describe() {
	h := &w.header
	w.streams[streamStarts], w.streams[streamOrder] = appendStarts(w.docOf)
	h.minTime, h.maxTime = w.rows[0].Time, w.rows[0].Time
	for _, d := range w.rows {
		h.minTime, h.maxTime = min(h.minTime, d.Time), max(h.maxTime, d.Time)
	}
	ids := make([]byte, 0, 4*len(w.rows))
	marks := make([]byte, 0, 2*len(w.rows))
	docs := make([]byte, 0, docRowBytes*len(w.rows))
	for _, d := range w.rows {
		ids = binary.LittleEndian.AppendUint32(ids, uint32(d.ID-h.info.FirstID))
		marks = append(marks, d.Role, d.flags)
		docs = d.append(docs, h.info.FirstID, h.minTime)
		h.flags |= d.flags
	}
	w.streams[streamIDs], w.streams[streamMarks], w.streams[streamDocs] = ids, marks, docs
}

// setBlocks records the first document of each block, before any gram is added.
func (w *segmentWriter) setBlocks(firsts []uint32) {
	w.blocks = uint32(len(firsts))
	var b []byte
	for _, f := range firsts {
		b = binary.LittleEndian.AppendUint32(b, f)
	}
	w.streams[streamBlocks] = b
}

// finish lays the streams out in sections.
func (w *segmentWriter) finish() Sealed {
	h := &w.header
	h.blocks = w.blocks
	h.terms, h.grams = w.words.blocks, w.grams.blocks
	w.describe()
	streams := [streamCount]*sectionWriter{
		streamTerms: &w.words.terms, streamPostings: &w.words.postings, streamGramTerms: &w.grams.terms, streamGrams: &w.grams.postings,
		streamPositions: &w.words.positions,
	}
	sections := [][]byte{nil}
	for i, s := range streams {
		if s == nil {
			s = new(sectionWriter)
			s.write(w.streams[i])
			streams[i] = s
		}
		h.streams[i] = streamPlace{int64(len(sections)), s.size()}
		sections = append(sections, s.seal()...)
	}
	size := func(n int) int64 { return h.streams[n].size }
	h.info.GramBytes = size(streamGramTerms) + size(streamGrams) + size(streamBlocks)
	h.info.DocBytes = size(streamIDs) + size(streamMarks) + size(streamDocs) + size(streamConversations)
	h.info.WordBytes = size(streamTerms) + size(streamPostings) + size(streamLengths) + size(streamPositions) + size(streamStarts) + size(streamOrder)
	sections[0] = sealSection(h.encode())
	return Sealed{Info: h.info, Sections: sections}
}

// sectionWriter is a stream of a segment in the making. It is cut into sections while
// it grows: the large ones are never in memory in one piece, nor twice.
type sectionWriter struct {
	sections [][]byte // full ones, sealed
	last     []byte
}

func (s *sectionWriter) size() int64 { return int64(len(s.sections))*sectionBytes + int64(len(s.last)) }

func (s *sectionWriter) write(b []byte) {
	for len(b) > 0 {
		if s.last == nil {
			s.last = make([]byte, 0, min(sectionBytes, len(b)+sectionBytes/8)+checksumBytes)
		}
		n := min(len(b), sectionBytes-len(s.last))
		s.last, b = append(s.last, b[:n]...), b[n:]
		if len(s.last) == sectionBytes {
			s.sections, s.last = append(s.sections, sealSection(s.last)), nil
		}
	}
}

// seal ends the stream and returns its sections.
func (s *sectionWriter) seal() [][]byte {
	if len(s.last) == 0 {
		return s.sections
	}
	return append(s.sections, sealSection(s.last))
}
