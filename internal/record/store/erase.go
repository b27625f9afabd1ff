package store

import (
	"context"
	"crypto/sha256"
	"iter"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Eraser removes data from the record, on a user's explicit order. Nothing else does.
//
// An erased message leaves its link of the hash chain and its number in the
// conversation, so that the rest can still be verified, but none of its content. It is
// removed from views, branches, forks and the sources of summaries. A summary that
// covered it has no text until it is reworded; one that covered only erased messages is
// removed, and so are payloads that no other message has.
//
// A tombstone remains: salted hashes of native ids, times and content, by which the
// store refuses the same messages when they arrive again, in their session or another; on
// a team server only in sessions of the same project.
// It can be lifted.
type Eraser interface {
	// Weigh counts the items that Erase would remove, and changes nothing.
	Weigh(ctx context.Context, order Erasure) (Erased, error)
	// Erase removes the named data in one transaction. The erasure is finished when
	// Scrub has returned nil, now or after a crash.
	Erase(ctx context.Context, order Erasure) (Erased, error)
	// Mask replaces the bodies of messages with ones without secrets, and keeps their
	// records. A message is masked once. Summaries of the messages lose their text until they are reworded.
	Mask(ctx context.Context, masks []Mask) error
	// Unworded lists the summaries that lost their text because a source was
	// erased or masked, sources before the summaries derived from them.
	Unworded(ctx context.Context) ([]Summary, error)
	// Scrub removes the remains of an erasure outside of tables: free pages and the
	// transaction log. Without an unfinished erasure it does nothing.
	Scrub(ctx context.Context) error
	// Tombstones lists the erasures, newest first.
	Tombstones(ctx context.Context) ([]Tombstone, error)
	// Lift removes a tombstone: its messages may be stored again.
	Lift(ctx context.Context, id int64) error
	// Forgotten says which messages of a history were erased and are refused in the
	// session with this key; nil says that nothing was ever erased. In its own
	// session a message is recognised by its native id or, without one, by its time
	// and record. In any session it is recognised by native id and time together,
	// and by its content if that has [MinContent] bytes; in a record with tokens, which
	// is that of a team server, only in sessions of the same project. A message with neither id
	// nor time is recognised in its own session by its record, as often as that was
	// erased; a short one by its neighbours.
	Forgotten(ctx context.Context, key string, in Project, ms iter.Seq[Fingerprint]) ([]bool, error)
}

// Tombstone represents one erasure.
type Tombstone struct {
	ID       int64     `json:"tombstone"`
	Cause    string    `json:"cause"`
	Time     time.Time `json:"time"`
	Messages int64     `json:"messages"`
	Bytes    int64     `json:"bytes"`
	// Sessions are the sessions that lost messages.
	Sessions []ForgottenSession `json:"sessions"`
	// Finished says that Scrub has run since.
	Finished bool `json:"finished"`
	// Damaged says that one of its rows is not what was written.
	Damaged bool `json:"damaged,omitempty"`
}

// ForgottenSession is a session that lost messages.
type ForgottenSession struct {
	Key      string `json:"key"`
	Messages int64  `json:"messages"`
	// Through is set if the whole conversation was erased: messages up to this time
	// are refused.
	Through time.Time `json:"through,omitzero"`
}

// Fingerprint holds the properties by which an erased message is recognised.
type Fingerprint struct {
	Native string
	Said   time.Time
	SHA256 [32]byte
	// Content returns [ContentSum] of the record. It is only called if something
	// was erased; nil means unknown.
	Content func() (sum [32]byte, long bool)
}

// MinContent is how many bytes a message must have to be recognised by its content. A
// shorter text may be said again by anybody, and somebody with the file, which has the
// salt, could guess it from its hash.
const MinContent = 64

// ContentSum hashes the text of a record, without ids, times and session, which change
// when a transcript is written again. long is false if the text is too short.
func ContentSum(f llms.Format, role llms.Role, record []byte) (sum [32]byte, long bool) {
	text := string(record)
	if f != llms.FormatText {
		m, err := wire.Decode(f, role, record)
		if err != nil {
			return sum, false
		}
		text = m.SearchText()
	}
	if text = strings.TrimSpace(text); len(text) < MinContent {
		return sum, false
	}
	return sha256.Sum256([]byte(text)), true
}

// MethodErased is the method of a summary whose text was erased because some of its
// sources were.
const MethodErased = "erased"

// UnwordedBody is the text of such a summary until it is reworded.
const UnwordedBody = "The text of this summary was erased together with some of the messages it covered.\nExpand for details about: the messages that are left"
