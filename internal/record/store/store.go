// Package store defines the durable record: the data that are stored of every
// conversation, and the contract of a backend.
//
// # Data
//
// A conversation is a numbered sequence of messages under a stable session key. A
// message has its original record, byte for byte, with the SHA-256 taken on arrival;
// the hashes of a conversation form a chain. Content that is too large for a
// conversation is stored in payloads, named by their hash, in the same database.
//
// A DAG of summaries covers the messages. A summary has sources (the messages or older
// summaries that it was made from) and may itself be a source of others (which are
// derived from it). This package avoids the words parent and child, because readers get
// them backwards.
//
// The view of a conversation is the ordered list of items for a model: summaries
// first, then the newest messages. Every message of the active branch is reached from
// the view exactly once, directly or through summaries. Items that a rewind removed
// from the view are kept as a branch.
//
// # Guarantees
//
// No method of [Writer] removes a message, a summary or a payload; only [Eraser] does,
// on a user's explicit order. [Writer.Fold] writes the summary, its edges and the new
// view from one argument, so that edges and view cannot disagree. It fails with
// [ErrStale] if the items to be folded are no longer in the view as they were read. So
// no transaction needs to be open while a model writes a summary.
//
// # Other packages
//
// The store makes no decisions: package ingest decides on identity, payloads and token
// counts, package compact on folds, package assemble on the context of a model.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that callers branch on.
var (
	// ErrStale says that the view has changed since it was read; read it again
	// and plan again.
	ErrStale = errors.New("the view has changed since it was read")
	// ErrConflict says that a state key does not have the expected version.
	ErrConflict = errors.New("the state has changed since it was read")
	// ErrOffBranch says that a message is on no branch of the conversation.
	ErrOffBranch = errors.New("not on a branch of this conversation")
	// ErrRemoved and ErrReplaced say that the file of an open store is no longer
	// the one at its path. The store then reads and writes nothing.
	ErrRemoved  = errors.New("the file was removed while it was in use")
	ErrReplaced = errors.New("the file was replaced by another one while it was in use")
)

// Reader reads the record. Methods may be called concurrently, and each sees one
// consistent state of the store.
type Reader interface {
	// Conversation returns one conversation by number.
	Conversation(ctx context.Context, id ConversationID) (Conversation, error)
	// Conversations lists conversations, newest activity first.
	Conversations(ctx context.Context, q ConversationQuery) ([]Conversation, error)
	// View returns the items of a conversation's view, oldest first.
	View(ctx context.Context, id ConversationID, w Window) (View, error)
	// Messages yields messages with their decoded bodies. It checks each against
	// the hashes taken on arrival. One that does not match is marked
	// ([MarkDamaged]); one that no longer decodes has its raw bytes as
	// text.
	Messages(ctx context.Context, q MessageQuery) iter.Seq2[Message, error]
	// Record returns the original bytes of a message, with externalised content
	// inserted. If they do not match the SHA-256 taken on arrival it also returns
	// an error that wraps ErrDamaged.
	Record(ctx context.Context, id MessageID) ([]byte, error)
	// Summaries yields summaries. One whose text is not the one that was written is marked
	// ([MarkSummaryDamaged]).
	Summaries(ctx context.Context, q SummaryQuery) iter.Seq2[Summary, error]
	// Sources returns the sources of a summary, in order.
	Sources(ctx context.Context, id SummaryID) ([]ID, error)
	// Derived returns the summaries that have a node as source.
	Derived(ctx context.Context, n ID) ([]SummaryID, error)
	// Payload describes a payload and opens its content. It checks the content
	// against its SHA-256, and each range that is read later against the hash of
	// its chunk.
	Payload(ctx context.Context, id PayloadID) (Payload, error)
}

// Writer changes one conversation inside a transaction of [Store.Update].
type Writer interface {
	// Conversation returns the conversation as it is in the transaction.
	Conversation() Conversation
	// Append adds messages at the end of the conversation and of its view. It does
	// not store a message whose native id the conversation has: its Appended says
	// so.
	Append(ctx context.Context, ms ...NewMessage) ([]Appended, error)
	// Expect announces the messages that will be appended next, by their native ids,
	// empty ones included. A backend may then write them together when the transaction
	// ends: they must not change until then. It is no more than a hint.
	Expect(ctx context.Context, natives []string) error
	// Forgotten reports whether a message was erased, so that Append would refuse
	// it. A caller with payloads asks first, so that nothing of a refused message
	// is written.
	Forgotten(ctx context.Context, f Fingerprint) (bool, error)
	// PutPayload stores content under the name of its SHA-256, once.
	PutPayload(ctx context.Context, p NewPayload) (PayloadID, error)
	// Fold replaces a contiguous run of view items with one summary.
	Fold(ctx context.Context, s NewSummary) (Summary, error)
	// Reword replaces the body of a summary and keeps the old one as a revision.
	Reword(ctx context.Context, id SummaryID, w Wording) (Summary, error)
	// Stub shows a message in the view as a reference of the given size, which must be
	// smaller than the message, instead of in full; its record stays.
	Stub(ctx context.Context, id MessageID, tokens int) error
	// Rewind makes the given message the newest of the view. The messages after it
	// are kept as a branch. A message on a kept branch makes that branch active
	// again. The zero MessageID rewinds to the beginning.
	Rewind(ctx context.Context, to MessageID, cause string) (Branch, error)
	// Active reports whether a message is on the active branch.
	Active(ctx context.Context, id MessageID) (bool, error)
}

// Conversations opens and closes conversations.
type Conversations interface {
	// Open returns the active conversation of a session key, or makes one.
	Open(ctx context.Context, c NewConversation) (Conversation, error)
	// Archive ends a conversation. The first cause is kept. The next Open of its
	// key begins a new segment.
	Archive(ctx context.Context, id ConversationID, cause string) error
	// Fork begins a conversation whose view starts as the view of another one up
	// to and including a message. It copies nothing: the fork's items refer to the
	// original's messages.
	Fork(ctx context.Context, from ConversationID, at MessageID, c NewConversation) (Conversation, error)
}

// State holds small values that must survive a restart: leases, cursors, usage counts,
// and more. A value has a version for compare-and-set, and may expire. [Spaces]
// lists the kinds of values.
type State interface {
	// Get returns a value that has not expired, else ErrNotFound.
	Get(ctx context.Context, space, key string) (Value, error)
	// Put sets a value if its version is the given one (0: not set or expired) and
	// returns the new version, else ErrConflict. A zero expiry means never. It refuses
	// a space that [SpaceNamed] does not know.
	Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error)
	// Delete removes a value if its version is the given one.
	Delete(ctx context.Context, space, key string, version int64) error
	// List returns the values of a space that have not expired, by key.
	List(ctx context.Context, space string) ([]Value, error)
}

// Checker verifies the record.
type Checker interface {
	// Verify checks a conversation and reports every fault.
	Verify(ctx context.Context, id ConversationID) (Verification, error)
	// Orphans reports rows that belong to no conversation, which Verify cannot
	// reach.
	Orphans(ctx context.Context) ([]Fault, error)
}

// Store is the whole contract.
type Store interface {
	Reader
	Searcher
	Attachments
	Conversations
	State
	Checker
	Eraser
	VectorIndex
	Maps
	// Update runs fn in one transaction on a conversation. If Update returns nil
	// everything that fn wrote is durable, otherwise none of it exists, unless the
	// error says that the commit was not answered. fn must not call the Store, and
	// may run again if its transaction failed.
	Update(ctx context.Context, id ConversationID, fn func(Writer) error) error
	// Reindex indexes all messages. Searches do not need it; it makes the next ones
	// faster.
	Reindex(ctx context.Context) error
	// ReleaseMemory drops caches. The next calls read again.
	ReleaseMemory()
	io.Closer
}
