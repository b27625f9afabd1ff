package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Content that is shown is checked here against the hashes taken when it arrived and
// against the seal of its row. Searches check nothing: they return no text.

// errChanged says that stored bytes differ from those that arrived.
var errChanged = errors.New("it is not the one that arrived")

// errRewritten says that the text of a summary was changed by something else.
var errRewritten = errors.New("it is not the text that was written")

// MessageColumns selects a row of messages m for [ScanMessage].
var MessageColumns = seal.Messages.Columns()

// messageColumns is how many columns MessageColumns has.
var messageColumns = seal.Messages.Len() + 1

// MessageRow is a row of messages. Its record is valid until the next row.
type MessageRow struct {
	store.NewMessage
	ID           store.MessageID
	Conversation store.ConversationID
	Seq          int64
	Stored       time.Time
	StoredBody   []byte // nil if only the record is stored
	Chain        [sha256.Size]byte
	CutList      string // JSON: where payloads belong in the record
}

// ScanMessage reads the columns of [MessageColumns], which begin at column n.
func ScanMessage(s sqldb.Row, n int) MessageRow {
	m := MessageRow{NewMessage: store.NewMessage{
		Role: store.RoleOf(s.ColumnInt(n + 3)), Flags: store.Flag(s.ColumnInt64(n + 4)), Said: sqldb.Millis(s, n+6), Tokens: s.ColumnInt(n + 7), Native: s.ColumnText(n + 8),
		Format: llms.Format(s.ColumnText(n + 9)), Size: s.ColumnInt64(n + 10), SHA256: sqldb.Hash(s, n+11), Record: sqldb.Unpack(s.ColumnRawBlob(n + 13)),
	}, ID: store.MessageID(s.ColumnInt64(n)), Conversation: store.ConversationID(s.ColumnInt64(n + 1)), Seq: s.ColumnInt64(n + 2), Stored: sqldb.Millis(s, n+5),
		Chain: sqldb.Hash(s, n+12), CutList: s.ColumnText(n + 14)}
	if !s.ColumnNull(n + 15) {
		m.StoredBody = s.ColumnBlob(n+15, []byte{})
	}
	return m
}

// Intact reports whether a row of [MessageColumns], which begin at column n, is the one that
// was stored: its record by the SHA-256 taken on arrival, unless payloads were cut out of it,
// and all of its columns by their seal.
func (m MessageRow) Intact(s sqldb.Row, n int) bool {
	sum := sha256.Sum256(m.Record)
	return (m.CutList != "" || sum == m.SHA256) && seal.HoldsRecord(s, n, sum)
}

// Follows reports whether the link of the message follows from the one before.
func (m MessageRow) Follows(prev [sha256.Size]byte) bool {
	return store.Link(prev, m.NewMessage, m.StoredBody) == m.Chain
}

// Again returns the message as it was given to be stored, without its payloads.
func (m MessageRow) Again() (n store.NewMessage, err error) {
	n = m.NewMessage
	n.Record = bytes.Clone(n.Record)
	if m.CutList != "" {
		if err := json.Unmarshal([]byte(m.CutList), &n.Cuts); err != nil {
			return n, fmt.Errorf("%s: its cuts: %w", m.ID, err)
		}
	}
	format, data := n.Format, n.Record
	if m.StoredBody != nil {
		format, data = llms.FormatLCM, m.StoredBody
	}
	body, err := wire.Decode(format, n.Role, data)
	if err != nil {
		return n, fmt.Errorf("%s: its record does not decode: %w", m.ID, err)
	}
	if m.StoredBody != nil {
		n.Body = &body
	}
	n.Calls, n.Results = store.Links(body)
	return n, nil
}

// LinkAt returns the link of the message with a number, and whether there is
// one.
func LinkAt(c sqldb.Conn, id store.ConversationID, seq int64) (link [sha256.Size]byte, found bool, err error) {
	if seq == 0 {
		return store.Genesis, true, nil
	}
	found, err = c.One(`SELECT chain FROM messages WHERE conversation = ? AND seq = ?`, sqldb.Into(&link), int64(id), seq)
	return link, found, err
}

// checkedText returns the searchable text of a message, with an error if the
// message has changed.
func checkedText(c sqldb.Conn, id store.MessageID) (text []byte, err error) {
	intact := true
	found, err := c.One(`SELECT m.id, m.conversation, 0, m.role, m.flags, m.format, m.record, m.body, `+MessageColumns+`
		FROM messages m WHERE m.id = ? AND m.`+NotErased, func(s sqldb.Row) (err error) {
		m := ScanMessage(s, 8)
		intact = m.Intact(s, 8)
		if m.StoredBody == nil {
			text, err = SearchText(c, s)
			return err
		}
		whole := true
		text, err = bodyText(c, s, &whole)
		intact = intact && whole
		return err
	}, int64(id))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, store.Missing(id.String())
	case !intact:
		return text, sqldb.Damaged("the text of "+id.String(), errChanged)
	}
	return text, nil
}

// chunkSums are the hashes of the chunks of a payload.
type chunkSums [][sha256.Size]byte

// provePayload reads a payload once and returns the hashes of its chunks, or
// nil where the content does not match the hash of the whole.
func (r *Records) provePayload(ctx context.Context, p PayloadRow) (chunkSums, error) {
	var sums chunkSums
	found, err := sqldb.Read(ctx, r.DB, func(c sqldb.Conn) (FoundContent, error) {
		sums = chunkSums{}
		return hashContent(contents(c), p, func(raw []byte) { sums = append(sums, sha256.Sum256(raw)) })
	})
	if err != nil && (sqldb.FromDatabase(err) || ctx.Err() != nil) {
		return nil, err
	}
	if err != nil || found.Size != p.Size || found.Sum != p.Sum {
		return nil, nil
	}
	return sums, nil
}
