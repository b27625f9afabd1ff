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

// Eraser removes from the record, which nothing else does, and only on a
// user's explicit order.
//
// An erased message leaves its link of the hash chain and its place in the
// conversation, so that the rest can still be proved, and nothing that tells
// what it said. It is gone from views, branches, forks and from the sources of
// summaries; a summary that covered it says nothing until it is reworded, one
// that covered nothing else is gone too, and so are payloads that no other
// message has.
//
// A tombstone remains: hashes of native ids, times and content, with a salt of
// the store's own, by which the same messages are known when they are offered
// again, in their session or another, and refused. It can be lifted.
type Eraser interface {
	// Weigh says what Erase would do, and changes nothing.
	Weigh(ctx context.Context, order Erasure) (Erased, error)
	// Erase removes what the order names, in one transaction. It is finished
	// when Scrub has returned nil, now or after a crash.
	Erase(ctx context.Context, order Erasure) (Erased, error)
	// Unworded lists the summaries that lost their text because something
	// they were made from was erased, sources before what was made of them.
	Unworded(ctx context.Context) ([]Summary, error)
	// Scrub removes what an erasure leaves outside of tables: free pages and
	// the log of the store's own transactions. Without an unfinished erasure
	// it does nothing.
	Scrub(ctx context.Context) error
	// Tombstones lists what was erased, newest first.
	Tombstones(ctx context.Context) ([]Tombstone, error)
	// Lift removes a tombstone: what it kept out may be stored again.
	Lift(ctx context.Context, id int64) error
	// Forgotten says which messages of a history were erased and are refused in
	// the session with this key; nil says that nothing was erased, and that
	// nothing was looked at. In its own session a message is known by its
	// native id, without one by its time and record. In any session it is
	// known by native id and time together, and by its content from
	// [MinContent] bytes on. One with neither id nor time is known in its own
	// session by its record, as often as that was erased; a short one by its
	// neighbours.
	Forgotten(ctx context.Context, key string, ms iter.Seq[Fingerprint]) ([]bool, error)
}

// Erasure is an order to erase.
type Erasure struct {
	// Messages are single messages, Conversations whole ones: all their
	// messages, and their titles.
	Messages      []MessageID
	Conversations []ConversationID
	// Quotes reports whether a text quotes what is to be erased. It is asked
	// about titles, small values of [State] and summaries; nil knows nothing
	// beyond what the messages themselves say.
	Quotes func(text string) bool
	// Cause says who ordered it: "forget", "prune".
	Cause string
}

// Erased says what an erasure removed, or would remove.
type Erased struct {
	Tombstone     int64 // its number, 0 if nothing was erased
	Messages      int64
	Bytes         int64 // of their original records
	Conversations int   // whole ones
	// Affected are the conversations that lost something: those named, and
	// forks that had inherited it.
	Affected []ConversationID
	// Unworded counts the summaries that have to be reworded, Summaries those
	// that are gone.
	Unworded     int
	Summaries    int
	Payloads     int
	PayloadBytes int64
	Titles       int
	Values       int // of State
}

// Tombstone stands for what was erased by one order.
type Tombstone struct {
	ID       int64
	Cause    string
	Time     time.Time
	Messages int64
	Bytes    int64
	// Sessions are the keys of the sessions that it was erased from.
	Sessions []ForgottenSession
	// Finished says that Scrub has run since.
	Finished bool
}

// ForgottenSession is a session that something was erased from.
type ForgottenSession struct {
	Key      string
	Messages int64
	// Through is set where the whole conversation was erased: everything that
	// was said until then is refused.
	Through time.Time
}

// Fingerprint is what a message is known by.
type Fingerprint struct {
	Native string
	Said   time.Time
	SHA256 [32]byte
	// Content returns what [ContentSum] says of the record. It is only called
	// where something was erased; nil says that it is not known.
	Content func() (sum [32]byte, long bool)
}

// MinContent is how many bytes a message must say to be known by its content.
// A shorter text may be said again by anybody, and could be guessed from its
// hash by whoever has the file, and with it the salt.
const MinContent = 64

// ContentSum hashes what a record says, without what changes when a transcript
// is written again: ids, times, the session. long is false for a text that is
// too short to be known by.
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

// MethodErased is the method of a summary whose text was erased with some of
// what it covers.
const MethodErased = "erased"

// UnwordedBody is the text of such a summary until it is reworded.
const UnwordedBody = "The text of this summary was erased together with some of the messages it covered.\nExpand for details about: the messages that are left"
