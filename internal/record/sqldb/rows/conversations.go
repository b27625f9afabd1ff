package rows

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Row is a conversation with the columns that only the backend uses.
type Row struct {
	store.Conversation
	Base      int64 // position before its first message
	LastUser  int64
	Inherited []byte
	Seal      []byte // see package seal
}

// seal is the seal that the row should have.
func (r *Row) seal() []byte {
	var inherited any
	if r.Inherited != nil {
		inherited = r.Inherited
	}
	return seal.Conversations.Of(int64(r.ID), r.Key, r.Segment, r.Agent, r.Project.Origin, r.Project.Root, r.Title,
		sqldb.Null(int64(r.Parent)), sqldb.Null(int64(r.ForkedFrom)), sqldb.Null(int64(r.ForkedAt)),
		r.CreatedAt, r.UpdatedAt, r.ArchivedAt, sqldb.Null(r.ArchiveCause),
		r.Messages, r.Summaries, r.Tokens, r.Bytes, r.ViewItems, r.ViewTokens, r.Head[:], r.Base, r.LastUser, inherited, r.ErasedAt, r.Erased)
}

// Sealed reports whether the row is as it was written.
func (r *Row) Sealed() bool { return bytes.Equal(r.Seal, r.seal()) }

// ConversationColumns selects conversations c for [ScanConversation].
var ConversationColumns = conversationFields + conversationTables

var conversationFields = " " + seal.Conversations.Columns()

const conversationTables = `
	FROM conversations c LEFT JOIN projects p ON p.id = c.project` // damage may have taken the project

// isActive selects the active conversation of a session.
const isActive = `c.key = ? AND c.archived_at IS NULL`

// ScanConversation reads the columns of [ConversationColumns].
func ScanConversation(s sqldb.Row) (r Row) {
	sqldb.Scan(s, &r.ID, &r.Key, &r.Segment, &r.Agent, &r.Project.Origin, &r.Project.Root, &r.Title, &r.Parent, &r.ForkedFrom, &r.ForkedAt,
		&r.CreatedAt, &r.UpdatedAt, &r.ArchivedAt, &r.ArchiveCause,
		&r.Messages, &r.Summaries, &r.Tokens, &r.Bytes, &r.ViewItems, &r.ViewTokens, &r.Head, &r.Base, &r.LastUser, &r.Inherited,
		&r.ErasedAt, &r.Erased, &r.Seal)
	r.Damaged = !r.Sealed()
	return r
}

// Listed selects the conversations that are visible: not erased, and not opened
// for messages that were all refused. Proofs and digests cover these.
const Listed = `c.erased_at IS NULL AND NOT (c.messages = 0 AND c.base = 0 AND EXISTS (SELECT 1 FROM forgotten f WHERE f.key = c.key))`

// ReadConversation reads one conversation inside a transaction.
func ReadConversation(c sqldb.Conn, id store.ConversationID) (Row, error) {
	r, found, err := conversationWhere(c, "c.id = ?", int64(id))
	if err == nil && !found {
		err = store.Missing(fmt.Sprintf("conversation %d", id))
	}
	return r, err
}

// lockConversation is ReadConversation for a transaction that changes the
// conversation: others that do wait until it ends. erasures reports whether anything was
// ever erased.
func lockConversation(c sqldb.Conn, id store.ConversationID) (r Row, erasures bool, err error) {
	// The row is read by a second statement, which sees everything that was committed
	// while the first one waited: also the erasures.
	if lock := c.Dialect().ForUpdate; lock != "" {
		if err := c.Exec(`SELECT c.id FROM conversations c WHERE c.id = ?`+lock, int64(id)); err != nil {
			return r, false, err
		}
	}
	found, err := c.One(`SELECT`+conversationFields+`, `+tombstone.Exist+conversationTables+` WHERE c.id = ?`, func(s sqldb.Row) error {
		r, erasures = ScanConversation(s), s.ColumnBool(seal.Conversations.Len()+1)
		return nil
	}, int64(id))
	if err == nil && !found {
		err = store.Missing(fmt.Sprintf("conversation %d", id))
	}
	return r, erasures, err
}

// lockOf names the lock of a conversation for [sqldb.DB.TransactOn].
func lockOf(id store.ConversationID) string { return fmt.Sprint("conversation/", int64(id)) }

func conversationWhere(c sqldb.Conn, cond string, arg any) (r Row, found bool, err error) {
	found, err = c.One(`SELECT`+ConversationColumns+` WHERE `+cond, func(s sqldb.Row) error {
		r = ScanConversation(s)
		return nil
	}, arg)
	return r, found, err
}

// Conversation implements [store.Reader].
func (r *Records) Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	found, err := sqldb.Read(ctx, r.DB, func(c sqldb.Conn) (Row, error) { return ReadConversation(c, id) })
	return found.Conversation, err
}

// Conversations implements [store.Reader].
func (r *Records) Conversations(ctx context.Context, q store.ConversationQuery) ([]store.Conversation, error) {
	where := []string{"TRUE"}
	var args []any
	add := func(wanted bool, cond string, values ...any) {
		if wanted {
			where, args = append(where, cond), append(args, values...)
		}
	}
	add(q.Key != "", "c.key = ?", q.Key)
	add(!q.Erased, Listed)
	add(q.ActiveOnly, "c.archived_at IS NULL")
	add(q.Agent != "", "c.agent = ?", q.Agent)
	if q.Project != nil {
		// One repository is one project wherever it was cloned to.
		add(true, "((p.origin <> '' AND p.origin = ?) OR p.root = ?)", q.Project.Origin, q.Project.Root)
	}
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) ([]store.Conversation, error) {
		now := r.DB.Now()
		future, err := c.Has(`SELECT 1 FROM conversations WHERE updated_at > ?`, now)
		if err != nil {
			return nil, err
		}
		order := "c.updated_at" // which is indexed
		if future {
			order = "CASE WHEN c.updated_at <= ? THEN c.updated_at ELSE " + plausiblyStored + " END"
			args = append(args, now, now)
		}
		limit := q.Limit
		if limit <= 0 {
			limit = math.MaxInt64
		}
		found, err := sqldb.List(c, "SELECT"+ConversationColumns+" WHERE "+strings.Join(where, " AND ")+" ORDER BY "+order+" DESC, c.id DESC LIMIT ?",
			func(s sqldb.Row) store.Conversation { return ScanConversation(s).Conversation }, append(args, limit)...)
		for i := range found {
			if at := &found[i].UpdatedAt; err == nil && at.After(now) {
				*at, err = sqldb.Value[time.Time](c, `SELECT `+plausiblyStored+` FROM conversations c WHERE c.id = ?`, now, int64(found[i].ID))
			}
		}
		return found, err
	})
}

// plausiblyStored is the time of the last message of conversation c that is not
// in the future, else 1970. It replaces an updated_at in the future, which a
// wrong clock caused and which would keep the conversation first in lists.
const plausiblyStored = `coalesce((SELECT m.stored FROM messages m WHERE m.conversation = c.id AND m.stored <= ? ORDER BY m.seq DESC LIMIT 1), 0)`

// Open implements [store.Conversations].
func (r *Records) Open(ctx context.Context, n store.NewConversation) (store.Conversation, error) {
	if n.Key == "" {
		return store.Conversation{}, errors.New("a conversation needs a session key")
	}
	var row Row
	found := false
	find := func(c sqldb.Conn) (err error) {
		row, found, err = conversationWhere(c, isActive, n.Key)
		return err
	}
	if err := r.DB.Reader(ctx, find); err != nil || found {
		return row.Conversation, err
	}
	err := r.DB.TransactOn(ctx, "session/"+n.Key, func(c sqldb.Conn) error {
		if err := lockSession(c, n.Key); err != nil {
			return err
		}
		if err := find(c); err != nil || found { // another process was faster
			return err
		}
		id, err := insertConversation(c, n, r.DB.Now())
		if err == nil {
			row, err = sealConversation(c, id)
		}
		return err
	})
	return row.Conversation, err
}

// sealConversation seals a new conversation.
func sealConversation(c sqldb.Conn, id store.ConversationID) (Row, error) {
	row, err := ReadConversation(c, id)
	row.Damaged = false
	if err == nil {
		err = c.Exec(`UPDATE conversations SET seal = ? WHERE id = ?`, row.seal(), int64(id))
	}
	return row, err
}

// lockSession keeps other transactions from opening a conversation of a session.
func lockSession(c sqldb.Conn, key string) error { return sqldb.LockName(c, "session/"+key) }

// insertConversation inserts the next segment of a session.
func insertConversation(c sqldb.Conn, n store.NewConversation, now time.Time) (store.ConversationID, error) {
	if !n.Time.IsZero() {
		now = n.Time
	}
	if n.Parent != 0 {
		if _, err := ReadConversation(c, n.Parent); err != nil {
			return 0, fmt.Errorf("the conversation that started it: %w", err)
		}
	}
	if err := holdProject(c, n.Project); err != nil {
		return 0, err
	}
	id, err := c.Insert("id", `
		INSERT INTO conversations (id, key, segment, agent, project, title, parent, created_at, updated_at, head)
		SELECT `+c.Dialect().NextConversation+`,
		       ?1, (SELECT coalesce(max(segment), 0) + 1 FROM conversations WHERE key = ?1), ?2,
		       (SELECT id FROM projects WHERE origin = ?3 AND root = ?4), ?5, ?6, ?7, ?7, ?8`,
		n.Key, n.Agent, n.Project.Origin, n.Project.Root, n.Title, sqldb.Null(int64(n.Parent)), now, store.Genesis[:])
	if err == nil {
		err = seal.Opened(c, id)
	}
	return store.ConversationID(id), err
}

// holdProject adds a project, if it is new, and keeps it until the transaction ends.
func holdProject(c sqldb.Conn, p store.Project) error {
	for held := false; !held; { // an erasure may remove it between the two statements
		err := c.Exec(`INSERT INTO projects (origin, root) VALUES (?, ?) ON CONFLICT DO NOTHING`, p.Origin, p.Root)
		if err != nil {
			return err
		}
		if held, err = c.Has(`SELECT p.id FROM projects p WHERE p.origin = ? AND p.root = ?`+c.Dialect().ForShare, p.Origin, p.Root); err != nil {
			return err
		}
	}
	return nil
}

// Archive implements [store.Conversations].
func (r *Records) Archive(ctx context.Context, id store.ConversationID, cause string) error {
	return r.DB.TransactOn(ctx, lockOf(id), func(c sqldb.Conn) error {
		row, _, err := lockConversation(c, id)
		if err != nil || !row.Active() {
			return err
		}
		return seal.Conversations.Keep(c, "c.id = ?", func() error {
			return c.Exec(`UPDATE conversations SET archived_at = ?, archive_cause = ? WHERE id = ?`, r.DB.Now(), sqldb.Null(cause), int64(id))
		}, int64(id))
	})
}

// Fork implements [store.Conversations].
func (r *Records) Fork(ctx context.Context, from store.ConversationID, at store.MessageID, n store.NewConversation) (store.Conversation, error) {
	if n.Key == "" {
		return store.Conversation{}, errors.New("a fork needs a session key of its own")
	}
	var fork Row
	err := r.DB.TransactOn(ctx, lockOf(from), func(c sqldb.Conn) error {
		if err := lockSession(c, n.Key); err != nil {
			return err
		}
		if _, taken, err := conversationWhere(c, isActive, n.Key); err != nil {
			return err
		} else if taken {
			return &hint.Error{Err: fmt.Errorf("the session %q has a conversation already", n.Key),
				Hint: "give the fork a session key of its own, or archive that conversation first"}
		}
		origin, _, err := lockConversation(c, from)
		if err != nil {
			return err
		}
		pos, err := MessagePosition(c, at)
		if err != nil {
			return err
		}
		n.Agent, n.Project = cmp.Or(n.Agent, origin.Agent), cmp.Or(n.Project, origin.Project)
		id, err := insertConversation(c, n, r.DB.Now())
		if err != nil {
			return err
		}
		if err := inheritView(c, id, origin, at, pos); err != nil {
			return err
		}
		fork, err = sealConversation(c, id)
		return err
	})
	return fork.Conversation, err
}

// inheritView gives a fork the view of its origin up to a message. Summaries
// that reach past the message are replaced with their sources.
func inheritView(c sqldb.Conn, id store.ConversationID, origin Row, at store.MessageID, pos int64) error {
	items, err := ViewItems(c, origin.ID, 0, pos)
	if err != nil {
		return err
	}
	if items, err = UnfoldTo(c, items, at, pos); err != nil {
		return err
	}
	items, _ = Split(items, pos)
	var tokens int64
	for _, it := range items {
		if err := InsertItem(c, id, it); err != nil {
			return err
		}
		tokens += int64(it.Tokens)
	}
	lastUser, err := NewestUser(c, id)
	if err != nil {
		return err
	}
	digest, err := CoverageDigest(c, items)
	if err != nil {
		return err
	}
	return c.Exec(`
		UPDATE conversations SET forked_from = ?, forked_at = ?, base = ?, view_items = ?, view_tokens = ?, last_user = ?, inherited = ?
		WHERE id = ?`,
		int64(origin.ID), int64(at), pos, len(items), tokens, lastUser, digest, int64(id))
}

// CoverageDigest digests the hashes of the messages that items lead to, in order.
func CoverageDigest(c sqldb.Conn, items []ViewItem) ([]byte, error) {
	h := sha256.New()
	err := WalkMessages(c, items, func(m MessageRef) error {
		h.Write(m.SHA256)
		return nil
	})
	return h.Sum(nil), err
}

// InheritedDigest digests the messages that a fork inherited, in the order of
// their positions.
func InheritedDigest(all []MessageRef) []byte {
	slices.SortFunc(all, func(a, b MessageRef) int { return cmp.Compare(a.Pos, b.Pos) })
	h := sha256.New()
	for _, m := range all {
		h.Write(m.SHA256)
	}
	return h.Sum(nil)
}

// ConversationIDs lists every conversation, also erased ones.
func ConversationIDs(c sqldb.Conn) ([]store.ConversationID, error) {
	return sqldb.Column[store.ConversationID](c, `SELECT id FROM conversations ORDER BY id`)
}

// RecoveredKey begins the session key of a conversation whose own key is lost.
const RecoveredKey = "recovered:"
