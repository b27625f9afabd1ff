package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// flagEcho marks indexed documents that lcm itself wrote.
const flagEcho = 1

// lane is the index of one kind of document: stored segments, and the newer
// documents in memory.
type lane struct {
	ix   *Index
	kind int
	sql  laneSQL

	mu       sync.Mutex
	segments map[int64]*segment.Segment
	tail     *segment.Tail
	from     int64 // the tail holds documents after this one
	epoch    int64 // of the documents in the tail

	sealing sync.Mutex // one at a time in this process

	// The mutex of the index guards these.
	sealed   int64 // documents up to this id are known to be in segments
	unsealed int64 // bytes that this process wrote since it indexed
}

// laneSQL is where a lane's documents come from.
type laneSQL struct {
	last string // the highest id
	size string // of the documents after an id: how many, their bytes, the highest id
	docs string // documents after an id up to another: id, conversation, time, role, flags and the columns for scan
	byID string // the same for a list of ids
	scan func(c sqldb.Conn, s sqldb.Row) (segment.Doc, error)
	// text returns the text of a row without a copy, valid until the next row,
	// or nil if the text lacks a literal.
	text func(c sqldb.Conn, s sqldb.Row, literal []byte) ([]byte, error)
}

func newLane(ix *Index, kind int) *lane {
	l := &lane{
		ix: ix, kind: kind, segments: map[int64]*segment.Segment{}, tail: segment.NewTail(segment.Options{}),
	}
	if kind == rows.LaneSummaries {
		l.sql = laneSQL{
			last: `SELECT coalesce(max(num), 0) FROM summaries`,
			size: `SELECT count(*), coalesce(sum(length(body)), 0), coalesce(max(num), 0) FROM summaries WHERE num > ?`,
			docs: `SELECT num, conversation, latest, 0, 0, body FROM summaries WHERE num > ? AND num <= ? ORDER BY num`,
			byID: `SELECT num, conversation, latest, 0, 0, body FROM summaries WHERE num IN (SELECT j.value FROM json_each(?) j)`,
			scan: scanSummaryDoc,
			text: func(_ sqldb.Conn, s sqldb.Row, _ []byte) ([]byte, error) { return s.ColumnRawBlob(5), nil },
		}
		return l
	}
	const columns = `SELECT id, conversation, coalesce(said, stored), role, flags, format, record, body FROM messages `
	l.sql = laneSQL{
		last: `SELECT coalesce(max(id), 0) FROM messages`,
		size: `SELECT count(*), coalesce(sum(size), 0), coalesce(max(id), 0) FROM messages WHERE id > ?`,
		docs: columns + `WHERE id > ? AND id <= ? AND ` + rows.NotErased + ` ORDER BY id`,
		byID: columns + `WHERE id IN (SELECT j.value FROM json_each(?) j) AND ` + rows.NotErased,
		scan: scanMessageDoc,
		text: rows.PeekText,
	}
	return l
}

func scanHead(s sqldb.Row) segment.Doc {
	return segment.Doc{ID: s.ColumnInt64(0), Conversation: s.ColumnInt64(1), Time: s.ColumnInt64(2), Role: uint8(s.ColumnInt(3))}
}

func scanSummaryDoc(_ sqldb.Conn, s sqldb.Row) (segment.Doc, error) {
	d := scanHead(s)
	d.Text = s.ColumnBlob(5, nil)
	return d, nil
}

func scanMessageDoc(c sqldb.Conn, s sqldb.Row) (segment.Doc, error) {
	d := scanHead(s)
	if store.Flag(s.ColumnInt64(4))&store.FlagEcho != 0 {
		d.Flags = flagEcho
	}
	var err error
	d.Text, err = rows.SearchText(c, s)
	return d, err
}

// watermark returns the highest id that a stored segment of the lane holds.
func (l *lane) watermark(c sqldb.Conn) (id int64, err error) {
	_, err = c.One(`SELECT coalesce(max(last_id), 0) FROM segments WHERE lane = ?`, sqldb.Into(&id), l.kind)
	return id, err
}

// lastID returns the highest id of a document.
func (l *lane) lastID(c sqldb.Conn) (id int64, err error) {
	_, err = c.One(l.sql.last, sqldb.Into(&id))
	return id, err
}

// closeSegments forgets the segments that were opened.
func (l *lane) closeSegments() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = map[int64]*segment.Segment{}
}

// infos lists the stored segments in order of ids.
func (l *lane) infos(c sqldb.Conn) (ids []int64, infos []segment.Info, err error) {
	err = c.Query(`
		SELECT id, docs, first_id, last_id, text_bytes, word_bytes, gram_bytes, doc_bytes FROM segments WHERE lane = ? ORDER BY last_id`,
		func(s sqldb.Row) error {
			ids = append(ids, s.ColumnInt64(0))
			infos = append(infos, segment.Info{
				Docs: s.ColumnInt(1), FirstID: s.ColumnInt64(2), LastID: s.ColumnInt64(3), TextBytes: s.ColumnInt64(4),
				WordBytes: s.ColumnInt64(5), GramBytes: s.ColumnInt64(6), DocBytes: s.ColumnInt64(7),
			})
			return nil
		}, l.kind)
	return ids, infos, err
}

// open returns the lane as one index that covers every document there is: the
// stored segments and, brought up to date, the tail.
func (l *lane) open(ctx context.Context) (search.Index, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ix search.Index
	fresh := segment.NewTail(segment.Options{})
	err := l.ix.file.Snapshot(ctx, func(c sqldb.Conn, settled sqldb.Settled) error {
		ids, infos, err := l.infos(c)
		if err != nil {
			return err
		}
		if err := checkEpoch(l, c); err != nil {
			return err
		}
		var end int64
		for i, id := range ids {
			seg, err := l.segment(ctx, id)
			if err != nil {
				return err
			}
			ix.Segments = append(ix.Segments, seg)
			end = infos[i].LastID
		}
		l.forget(ids)
		through := settledOf(l, settled)
		if err := l.catchUp(ctx, c, end, through); err != nil {
			return err
		}
		return fill(ctx, c, l, fresh, max(l.from, through), math.MaxInt64)
	})
	ix.Segments = slices.Concat(ix.Segments, l.tail.Segments(), fresh.Segments())
	return ix, err
}

// settledOf returns the highest number below which no document can still appear.
func settledOf(l *lane, s sqldb.Settled) int64 {
	if l.kind == rows.LaneSummaries {
		return s.Summaries
	}
	return s.Messages
}

// lockLane returns the epoch of the lane, and keeps other transactions from changing its
// segments.
func lockLane(c sqldb.Conn, l *lane) (epoch int64, err error) {
	_, err = c.One(`SELECT c.epoch FROM lanes c WHERE c.lane = ?`+c.Dialect().ForUpdate, sqldb.Into(&epoch), l.kind)
	return epoch, err
}

// checkEpoch empties the tail if documents in it have changed.
func checkEpoch(l *lane, c sqldb.Conn) error {
	now, err := l.epochOf(c)
	if err == nil && now != l.epoch {
		l.epoch, l.tail, l.from = now, segment.NewTail(segment.Options{}), 0
	}
	return err
}

// epochOf reads how often documents of the lane have changed.
func (l *lane) epochOf(c sqldb.Conn) (epoch int64, err error) {
	_, err = c.One(`SELECT epoch FROM lanes WHERE lane = ?`, sqldb.Into(&epoch), l.kind)
	return epoch, err
}

// segment opens a stored segment, or returns it opened already.
func (l *lane) segment(ctx context.Context, id int64) (*segment.Segment, error) {
	if seg, ok := l.segments[id]; ok {
		return seg, nil
	}
	seg, err := segment.Open(ctx, sections{l.ix}, id)
	if err != nil {
		return nil, err
	}
	l.segments[id] = seg
	return seg, nil
}

// forget closes segments that were merged away.
func (l *lane) forget(live []int64) {
	if len(l.segments) <= len(live) {
		return
	}
	keep := map[int64]bool{}
	for _, id := range live {
		keep[id] = true
	}
	for id := range l.segments {
		if !keep[id] {
			delete(l.segments, id)
		}
	}
}

// catchUp makes the tail hold exactly the documents after end up to through. Documents
// with higher numbers may still be committed in any order, so that the tail, which only
// grows, does not hold them yet.
func (l *lane) catchUp(ctx context.Context, c sqldb.Conn, end, through int64) error {
	switch {
	case end < l.from: // segments were dropped
		l.tail, l.from = segment.NewTail(segment.Options{}), end
	case end > l.from:
		l.tail.Forget(end)
		l.from = end
	}
	return fill(ctx, c, l, l.tail, max(l.from, l.tail.LastID()), through)
}

// fill adds the documents after an id up to another to a tail.
func fill(ctx context.Context, c sqldb.Conn, l *lane, tail *segment.Tail, after, through int64) error {
	for after < through {
		docs, more, err := l.read(c, after, through, segment.SealDocs)
		if err != nil {
			return err
		}
		if err := tail.Add(ctx, docs...); err != nil || !more {
			return err
		}
		after = tail.LastID()
	}
	return nil
}

// batchBytes is how much text is loaded at a time.
const batchBytes = 16 << 20

// read loads up to limit documents after an id up to another. more reports whether there are
// others.
func (l *lane) read(c sqldb.Conn, after, through int64, limit int) (docs []segment.Doc, more bool, err error) {
	size := 0
	err = c.Stream(l.sql.docs, func(s sqldb.Row) error {
		if len(docs) == limit || size > batchBytes {
			more = true
			return sqldb.ErrStop
		}
		d, err := l.sql.scan(c, s)
		docs = append(docs, d)
		size += len(d.Text)
		return err
	}, after, through)
	if errors.Is(err, sqldb.ErrStop) {
		err = nil
	}
	return docs, more, err
}

// sections reads the stored sections of segments, through the cache.
type sections struct{ ix *Index }

// errMerged says that a segment was merged into another since the search began.
var errMerged = errors.New("the segment was merged away")

// Get implements [segment.Blobs].
func (b sections) Get(ctx context.Context, segment, n int64) ([]byte, error) {
	key := sectionKey{segment, n}
	if data, ok := b.ix.sections.get(key); ok {
		return data, nil
	}
	var data []byte
	err := b.ix.file.Reader(ctx, func(c sqldb.Conn) error {
		found, err := c.One(`SELECT data FROM sections WHERE segment = ? AND n = ?`, func(s sqldb.Row) error {
			data = s.ColumnBlob(0, nil)
			return nil
		}, segment, n)
		if err == nil && !found {
			err = fmt.Errorf("section %d of segment %d: %w", n, segment, errMerged)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b.ix.sections.put(key, data)
	return data, nil
}
