package record

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

const messageColumns = `
	m.id, m.conversation, m.seq, m.role, m.flags, m.stored, m.said, m.tokens, m.native, m.format, m.size, m.sha256, m.record, m.body,
	m.cuts IS NOT NULL, m.chain
	FROM messages m`

// present leaves out erased messages, unless its parameter is true.
const present = ` AND (m.flags & 128 = 0 OR ?)`

// messageRow is a message whose record is not decoded yet.
type messageRow struct {
	store.Message
	role   llms.Role
	said   time.Time
	format llms.Format // of data
	parsed bool        // data is the parsed body and not the record
	data   []byte
	brief  bool // data is valid until the next row
	// A record is hashed when it is decoded, in parallel with reading. A stored
	// body is checked while its row is read.
	unchecked bool
}

func scanRow(c *dbfile.Conn, s *sqlite3.Stmt, brief bool) (messageRow, error) {
	r := messageRow{role: store.RoleOf(s.ColumnInt(3)), said: dbfile.Millis(s, 6), Message: store.Message{
		ID:           store.MessageID(s.ColumnInt64(0)),
		Conversation: store.ConversationID(s.ColumnInt64(1)),
		Seq:          s.ColumnInt64(2),
		Flags:        store.Flag(s.ColumnInt64(4)),
		Stored:       dbfile.Millis(s, 5),
		Tokens:       s.ColumnInt(7),
		Native:       s.ColumnText(8),
		Format:       FormatOf(s.ColumnRawText(9)),
		Size:         s.ColumnInt64(10),
	}}
	copy(r.SHA256[:], s.ColumnRawBlob(11))
	if r.Flags&store.FlagErased != 0 {
		return r, nil
	}
	column, cut := 12, s.ColumnBool(14)
	r.format = r.Format
	if r.parsed = s.ColumnType(13) != sqlite3.NULL; r.parsed {
		r.format, column = llms.FormatLCM, 13
		intact, err := Intact(c, StoredMessage{
			Conversation: int64(r.Conversation), Seq: r.Seq, Role: r.role, Flags: r.Flags, Said: r.said, Native: r.Native, Format: r.Format, Size: r.Size,
			SHA256: r.SHA256[:], Chain: s.ColumnRawBlob(15), Record: s.ColumnRawBlob(12), Cut: cut, Body: s.ColumnBlob(13, []byte{}),
		})
		if err != nil {
			return r, err
		}
		r.Damaged = !intact
	}
	r.unchecked = !r.parsed && !cut
	if r.brief = brief; brief {
		r.data = s.ColumnRawBlob(column)
	} else {
		r.data = s.ColumnBlob(column, nil)
	}
	return r, nil
}

// decode returns the message, marked if it is damaged. One that does not decode
// has its raw bytes as text, and an error.
func (r *messageRow) decode() (m store.Message, err error) {
	m = r.Message
	if m.Flags&store.FlagErased != 0 {
		return m, nil
	}
	if m.Body, err = wire.Decode(r.format, r.role, r.data); err != nil {
		err = fmt.Errorf("%s: its record does not decode: %w", m.ID, err)
		m.Body = llms.Text(r.role, string(r.data))
	}
	if r.parsed || r.brief {
		m.Body.Raw = llms.Raw{} // the record is elsewhere: see Record
	}
	m.Body.Role = r.role
	m.Body.ID = m.Native
	if m.Body.Time = r.said; m.Body.Time.IsZero() {
		m.Body.Time = m.Stored
	}
	if m.Damaged || err != nil || r.unchecked && sha256.Sum256(r.data) != m.SHA256 {
		m.Damaged = false // until it is marked
		m.MarkDamaged()
	}
	return m, err
}

func scanMessage(c *dbfile.Conn, s *sqlite3.Stmt, brief bool) (store.Message, error) {
	r, err := scanRow(c, s, brief)
	if err != nil {
		return store.Message{}, err
	}
	return r.decode()
}

// FormatOf is the format of a column, without a copy of the names that nearly
// all messages have.
func FormatOf(name []byte) llms.Format {
	for _, f := range [...]llms.Format{llms.FormatText, llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
		if string(name) == string(f) {
			return f
		}
	}
	return llms.Format(name)
}

// Messages implements [store.Reader].
func Messages(ctx context.Context, f *dbfile.File, q store.MessageQuery) iter.Seq2[store.Message, error] {
	read := func(scan func(*dbfile.Conn, *sqlite3.Stmt) error) error {
		return f.Reader(ctx, func(c *dbfile.Conn) error {
			row := func(s *sqlite3.Stmt) error { return scan(c, s) }
			switch {
			case q.IDs != nil:
				return queryIDs(c, q.IDs, q.Erased, row)
			case q.Natives != nil:
				return queryNatives(c, q.Conversation, q.Natives, row)
			}
			return queryRange(c, q, row)
		})
	}
	if len(q.IDs) >= manyRows {
		return decodeBeside(read, q.NoRaw)
	}
	return func(yield func(store.Message, error) bool) {
		stopped := false
		err := read(func(c *dbfile.Conn, s *sqlite3.Stmt) error {
			r, err := scanRow(c, s, q.NoRaw)
			if err != nil {
				return err
			}
			// Damage is marked in the message. The messages around it are still
			// returned.
			if m, _ := r.decode(); !yield(m, nil) {
				stopped = true
				return dbfile.ErrStop
			}
			return nil
		})
		if err != nil && !stopped {
			yield(store.Message{}, err)
		}
	}
}

// manyRows is the number of messages from which on they are decoded in
// parallel, and rowBatch how many are handed over at a time.
const (
	manyRows = 400
	rowBatch = 64
)

// decodeBeside decodes messages while the next ones are read, which is about as
// much work.
func decodeBeside(read func(scan func(*dbfile.Conn, *sqlite3.Stmt) error) error, noRaw bool) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		rows, stop := make(chan []messageRow, 2), make(chan struct{})
		var err error
		var failure any
		go func() {
			defer close(rows)
			defer func() { failure = recover() }() // which the caller may recover from
			var batch []messageRow
			send := func() error {
				select {
				case rows <- batch:
					batch = make([]messageRow, 0, rowBatch)
					return nil
				case <-stop:
					return dbfile.ErrStop
				}
			}
			err = read(func(c *dbfile.Conn, s *sqlite3.Stmt) error {
				r, err := scanRow(c, s, false)
				if err != nil {
					return err
				}
				if batch = append(batch, r); len(batch) < rowBatch {
					return nil
				}
				return send()
			})
			if last := send(); err == nil {
				err = last
			}
		}()
		defer func() {
			close(stop)
			for range rows { // wait for the reader
			}
		}()
		for batch := range rows {
			for i := range batch {
				m, _ := batch[i].decode()
				if noRaw {
					m.Body.Raw = llms.Raw{}
				}
				if !yield(m, nil) {
					return
				}
			}
		}
		if failure != nil {
			panic(failure)
		}
		if err != nil {
			yield(store.Message{}, err)
		}
	}
}

func queryIDs(c *dbfile.Conn, ids []store.MessageID, erased bool, row func(*sqlite3.Stmt) error) error {
	if len(ids) == 0 {
		return nil
	}
	if run := runOf(ids); run == len(ids) {
		return queryRun(c, ids, erased, row)
	}
	return c.Read(func() error {
		for len(ids) > 0 {
			run := runOf(ids)
			if err := queryRun(c, ids[:run], erased, row); err != nil {
				return err
			}
			ids = ids[run:]
		}
		return nil
	})
}

// widest is the largest gap between two ids that one query reads: skipping a
// few rows is faster than another lookup.
const widest = 4

// runOf returns how many of the first ids one query can read.
func runOf(ids []store.MessageID) int {
	n := 1
	for n < len(ids) && ids[n] > ids[n-1] && ids[n]-ids[n-1] <= widest {
		n++
	}
	return n
}

func queryRun(c *dbfile.Conn, ids []store.MessageID, erased bool, row func(*sqlite3.Stmt) error) error {
	next := 0
	err := c.Query(`SELECT`+messageColumns+` WHERE m.id BETWEEN ? AND ?`+present+` ORDER BY m.id`, func(s *sqlite3.Stmt) error {
		if next == len(ids) || store.MessageID(s.ColumnInt64(0)) != ids[next] {
			return nil
		}
		next++
		return row(s)
	}, int64(ids[0]), int64(ids[len(ids)-1]), erased)
	if err == nil && next < len(ids) {
		err = store.Missing(ids[next].String())
	}
	return err
}

func queryNatives(c *dbfile.Conn, id store.ConversationID, natives []string, row func(*sqlite3.Stmt) error) error {
	return c.Read(func() error {
		for _, native := range natives {
			if _, err := c.One(`SELECT`+messageColumns+` WHERE m.conversation = ? AND m.native = ?`, row, int64(id), native); err != nil {
				return err
			}
		}
		return nil
	})
}

func queryRange(c *dbfile.Conn, q store.MessageQuery, row func(*sqlite3.Stmt) error) error {
	order, limit, before := "ASC", q.Limit, q.Before
	if q.Newest {
		order = "DESC"
	}
	if limit == 0 {
		limit = -1
	}
	if before == 0 {
		before = 1 << 62
	}
	return c.Query(`SELECT`+messageColumns+` WHERE m.conversation = ? AND m.seq > ? AND m.seq < ?`+present+` ORDER BY m.seq `+order+` LIMIT ?`,
		row, int64(q.Conversation), q.After, before, q.Erased, limit)
}

// Record implements [store.Reader].
func RawRecord(ctx context.Context, f *dbfile.File, id store.MessageID) ([]byte, error) {
	var record []byte
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error {
			found, err := c.One(`SELECT record, cuts, sha256 FROM messages WHERE id = ? AND flags & 128 = 0`, func(s *sqlite3.Stmt) (err error) {
				record, err = Join(c, s.ColumnBlob(0, nil), s.ColumnText(1))
				if sum := sha256.Sum256(record); err == nil && string(sum[:]) != string(s.ColumnRawBlob(2)) {
					err = errChanged
				}
				return dbfile.Damaged("the record of "+id.String(), err)
			}, int64(id))
			if err == nil && !found {
				err = store.Missing(id.String())
			}
			return err
		})
	})
	return record, err
}

// Join puts the payloads that were cut out of a record back into it.
func Join(c *dbfile.Conn, record []byte, cuts string) ([]byte, error) {
	if cuts == "" {
		if record == nil {
			record = []byte{}
		}
		return record, nil
	}
	var stored []store.Cut
	if err := json.Unmarshal([]byte(cuts), &stored); err != nil {
		return nil, fmt.Errorf("cuts: %w", err)
	}
	if len(stored) == 1 && stored[0].Style == store.Verbatim {
		data, _, err := PayloadContent(c, stored[0].Payload)
		return data, err
	}
	places := make([]wire.Cut, len(stored))
	for i, cut := range stored {
		places[i] = wire.Cut{At: cut.At, Style: cut.Style}
	}
	return wire.Join(record, places, func(i int) ([]byte, error) {
		data, _, err := PayloadContent(c, stored[i].Payload)
		return data, err
	})
}
