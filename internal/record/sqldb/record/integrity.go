package record

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Content that is shown is checked here against the hashes taken when it
// arrived. Searches check nothing: they return no text.

// errChanged says that stored bytes differ from those that arrived.
var errChanged = errors.New("it does not match the SHA-256 taken when it arrived")

// errRewritten says that the text of a summary was changed by something else.
var errRewritten = errors.New("it is not the text that was written")

// LinkColumns are the columns of a message m that its link of the chain covers,
// and the link. [ScanLink] reads them.
const LinkColumns = `m.role, m.flags, m.said, m.native, m.format, m.size, m.sha256, m.body, m.chain`

// Linked is a message with its link of the chain.
type Linked struct {
	store.NewMessage
	StoredBody []byte // nil if only the record is stored
	Chain      [sha256.Size]byte
	Cut        bool // payloads were cut out of the record
}

// ScanLink reads the columns of [LinkColumns], which begin at column n. The
// caller sets Record and Cut.
func ScanLink(s sqldb.Row, n int) Linked {
	m := Linked{NewMessage: store.NewMessage{
		Role: store.RoleOf(s.ColumnInt(n)), Flags: store.Flag(s.ColumnInt64(n + 1)), Said: sqldb.Millis(s, n+2), Native: s.ColumnText(n + 3),
		Format: llms.Format(s.ColumnText(n + 4)), Size: s.ColumnInt64(n + 5), SHA256: sqldb.Hash(s, n+6),
	}, Chain: sqldb.Hash(s, n+8)}
	if !s.ColumnNull(n + 7) {
		m.StoredBody = s.ColumnBlob(n+7, []byte{})
	}
	return m
}

// Follows reports whether the link of the message follows from the one before.
func (m Linked) Follows(prev [sha256.Size]byte) bool {
	return store.Link(prev, m.NewMessage, m.StoredBody) == m.Chain
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

// Intact reports whether a message is unchanged, as far as its own row shows:
// the record by its SHA-256, unless payloads were cut out of it, and a stored
// body by its link of the chain.
func Intact(c sqldb.Conn, id store.ConversationID, seq int64, m Linked) (bool, error) {
	if !m.Cut && sha256.Sum256(m.Record) != m.SHA256 {
		return false, nil
	}
	if m.StoredBody == nil {
		return true, nil
	}
	prev, found, err := LinkAt(c, id, seq-1)
	return !found || m.Follows(prev), err // Verify reports a missing message
}

// checkedText returns the searchable text of a message, with an error if the
// message has changed.
func checkedText(c sqldb.Conn, id store.MessageID) (text []byte, err error) {
	intact := true
	found, err := c.One(`
		SELECT m.id, m.conversation, 0, m.role, m.flags, m.format, m.record, m.body, m.seq, m.cuts IS NOT NULL, `+LinkColumns+`
		FROM messages m WHERE m.id = ? AND m.`+NotErased, func(s sqldb.Row) (err error) {
		m := ScanLink(s, 10)
		m.Record, m.Cut = s.ColumnRawBlob(6), s.ColumnBool(9)
		if intact, err = Intact(c, store.ConversationID(s.ColumnInt64(1)), s.ColumnInt64(8), m); err != nil {
			return err
		}
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
