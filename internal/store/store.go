// Package store is the durable record: what is kept of every conversation,
// and the contract that a backend must honour to keep it.
//
// # What is kept
//
// A conversation is a numbered run of messages under a stable session key. A
// message keeps the record it arrived as, byte for byte, with the SHA-256
// taken on arrival; the hashes of a conversation form a chain. Content that is
// too large for a conversation lives in payloads, named by what they contain,
// in the same database.
//
// Over the messages lies a DAG of summaries. A summary has sources (what it
// was made from: messages, or older summaries) and may itself be a source of
// others (what was derived from it). The words parent and child are not used
// here, because readers get them backwards.
//
// The view of a conversation is the ordered list of items that a model should
// see: summaries first, then the newest messages. Every message of the active
// branch is reached from the view exactly once, directly or through
// summaries. Items that a rewind took out of the view are kept as a branch.
//
// # What cannot happen
//
// Nothing in [Writer] removes a message, a summary or a payload; [Eraser] does,
// on a user's explicit order. [Writer.Fold]
// takes one argument from which it writes the summary, its edges and the new
// view, so that edges and view cannot disagree, and refuses with [ErrStale]
// when the items to be folded are no longer in the view as they were read. No
// transaction needs to be open while a model writes a summary.
//
// # What is left to others
//
// The store does not decide: identity, externalising and token counts belong
// to package ingest, what to fold to package compact, what a model sees to
// package assemble.
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
	// ErrNotFound says that nothing has the id or key that was asked for.
	ErrNotFound = errors.New("not found")
	// ErrStale says that the view moved since it was read; read it again and
	// plan anew.
	ErrStale = errors.New("the view has changed since it was read")
	// ErrConflict says that a state key does not have the expected version.
	ErrConflict = errors.New("the state has changed since it was read")
	// ErrArchived says that a conversation no longer takes messages.
	ErrArchived = errors.New("the conversation is archived")
	// ErrOffBranch says that a message is on no branch of the conversation.
	ErrOffBranch = errors.New("not on a branch of this conversation")
	// ErrReadOnly says that the store was opened, or can only be opened, for
	// reading.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrRemoved and ErrReplaced say that the file of an open store is no
	// longer the one at its path. Nothing is read or written any more.
	ErrRemoved  = errors.New("the file was removed while it was in use")
	ErrReplaced = errors.New("the file was replaced by another one while it was in use")
	// ErrDamaged says that something is stored, and cannot be made sense of.
	ErrDamaged = errors.New("damaged")
)

// Reader reads the record. Methods may be called concurrently, and each sees
// one consistent state of the store.
type Reader interface {
	// Conversation returns one conversation by number.
	Conversation(ctx context.Context, id ConversationID) (Conversation, error)
	// Conversations lists conversations, newest activity first.
	Conversations(ctx context.Context, q ConversationQuery) ([]Conversation, error)
	// View returns the items of a conversation's view, oldest first.
	View(ctx context.Context, id ConversationID, w Window) (View, error)
	// Messages yields messages with their decoded bodies. Each is checked
	// against the hashes taken when it arrived; one that does not match is
	// marked ([Message.MarkDamaged]), and one that no longer decodes has its
	// raw bytes as text.
	Messages(ctx context.Context, q MessageQuery) iter.Seq2[Message, error]
	// Record returns the original bytes of a message, externalised content
	// put back in its place. Bytes that do not match the SHA-256 taken when
	// they arrived are returned beside an error that is ErrDamaged.
	Record(ctx context.Context, id MessageID) ([]byte, error)
	// Summaries yields summaries.
	Summaries(ctx context.Context, q SummaryQuery) iter.Seq2[Summary, error]
	// Sources returns what a summary was made from, in order.
	Sources(ctx context.Context, id SummaryID) ([]Node, error)
	// Derived returns the summaries that were made from a node.
	Derived(ctx context.Context, n Node) ([]SummaryID, error)
	// Payload describes a payload and opens its content for reading by range.
	// The content is checked against its SHA-256 first, and each range that is
	// read later against the hash of its chunk.
	Payload(ctx context.Context, id PayloadID) (Payload, error)
}

// Writer changes one conversation inside a transaction of [Store.Update].
type Writer interface {
	// Conversation returns the conversation as it stands in the transaction.
	Conversation() Conversation
	// Append adds messages at the end of the conversation and of its view. A
	// message whose native id the conversation already has is not stored
	// again: its Appended says so.
	Append(ctx context.Context, ms ...NewMessage) ([]Appended, error)
	// Forgotten reports whether a message was erased before: Append would
	// refuse it. Whoever stores payloads for a message asks first, so that
	// nothing of what is refused is ever written.
	Forgotten(ctx context.Context, f Fingerprint) (bool, error)
	// PutPayload stores content under the name that its SHA-256 gives it.
	// Content that is already there is not stored again.
	PutPayload(ctx context.Context, p NewPayload) (PayloadID, error)
	// Fold replaces a contiguous run of view items with one summary of them.
	Fold(ctx context.Context, s NewSummary) (Summary, error)
	// Reword replaces the body of a summary and keeps the old one as a
	// revision.
	Reword(ctx context.Context, id SummaryID, w Wording) (Summary, error)
	// Stub shows a message in the view as a reference of the given size
	// instead of in full; its record is untouched.
	Stub(ctx context.Context, id MessageID, tokens int) error
	// Rewind makes the given message the newest of the view. What came after
	// it is kept as a branch. A message on a kept branch makes that branch the
	// active one again. The zero MessageID rewinds to the beginning.
	Rewind(ctx context.Context, to MessageID, cause string) (Branch, error)
	// Active reports whether a message is on the active branch.
	Active(ctx context.Context, id MessageID) (bool, error)
}

// Conversations opens and closes conversations.
type Conversations interface {
	// Open returns the active conversation of a session key, and makes it if
	// there is none.
	Open(ctx context.Context, c NewConversation) (Conversation, error)
	// Archive ends a conversation. The first cause given is the one kept. The
	// next Open of its key begins a new segment.
	Archive(ctx context.Context, id ConversationID, cause string) error
	// Fork begins a conversation whose view starts as the view of another one
	// up to and including a message. Nothing is copied: the fork's items
	// refer to the original's messages.
	Fork(ctx context.Context, from ConversationID, at MessageID, c NewConversation) (Conversation, error)
}

// State keeps small values that must survive a restart: leases, cursors,
// ledgers, circuit breakers. A value has a version for compare-and-set, and
// may expire.
type State interface {
	// Get returns a value that is set and has not expired, else ErrNotFound.
	Get(ctx context.Context, space, key string) (Value, error)
	// Put sets a value if its present version is the one given (0: not set or
	// expired) and returns the new version, else ErrConflict. A zero expiry
	// never expires.
	Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error)
	// Delete removes a value if its version is the one given.
	Delete(ctx context.Context, space, key string, version int64) error
	// List returns the values of a space that have not expired, by key.
	List(ctx context.Context, space string) ([]Value, error)
}

// Checker proves the record.
type Checker interface {
	// Verify checks a conversation and reports every fault that it finds.
	Verify(ctx context.Context, id ConversationID) (Verification, error)
	// Orphans reports rows that no conversation leads to, which Verify cannot
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
	// Update runs fn in one transaction on a conversation. Everything that fn
	// wrote is durable when Update returns nil, and none of it exists
	// otherwise. fn must not call back into the Store.
	Update(ctx context.Context, id ConversationID, fn func(Writer) error) error
	io.Closer
}
