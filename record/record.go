// Package record has the data types of lcm's record: conversations, messages and the
// summaries over them, their ids, and the results of verifying, folding and erasing them.
// Package lcm reads and writes a record; package recall searches it.
//
// A session of an agent is stored as a [Conversation], a numbered sequence of messages.
// Each [Message] is kept as it arrived, with the SHA-256 of its bytes. A [Summary] covers
// messages or other summaries, its sources. Content that is too large for a conversation
// is stored beside it as a file.
//
// Every message, summary and file has an id, which the tools and the commands use too:
// msg_12, sum_0123456789abcdef, file_0123456789abcdef. [ParseID] reads one.
package record

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Project is the repository or directory that a session works in. Either field is
// enough.
type Project struct {
	// Origin is the normalised URL of the git remote, so that clones and worktrees of
	// one repository are one project.
	Origin string
	// Root is the directory.
	Root string
}

// Name returns the origin, or else the directory.
func (p Project) Name() string { return cmp.Or(p.Origin, p.Root) }

// Conversation is one segment of a session.
type Conversation struct {
	ID      ConversationID // its number
	Key     string         // the session's key, shared by all its segments
	Segment int            // 1 for the first conversation of the key
	Agent   string         // the agent or host that speaks in it
	Project Project        // where the work happens
	Title   string         // for people
	Parent  ConversationID // the conversation that started a sub-agent, else 0

	ForkedFrom ConversationID // the conversation that a fork began in, else 0
	ForkedAt   MessageID      // the last message of that conversation in the fork's view

	CreatedAt    time.Time // when it was opened, or its first message said
	UpdatedAt    time.Time // when its last message was said; in a list, when it was stored if that is in the future
	ArchivedAt   time.Time // zero while the conversation is active
	ArchiveCause string    // why it was archived
	ErasedAt     time.Time // when all of it was erased

	Messages   int64 // number of messages, including erased ones
	Erased     int64 // number of erased messages
	Summaries  int64 // number of summaries
	Tokens     int64 // of all messages
	Bytes      int64 // of all messages as they arrived
	ViewItems  int   // number of messages and summaries in the view
	ViewTokens int   // of the view
	// Head is the last link of the hash chain.
	Head [sha256.Size]byte
	// Damaged says that one of the fields above is not what was written.
	Damaged bool
}

// Active reports whether the conversation still takes messages.
func (c Conversation) Active() bool { return c.ArchivedAt.IsZero() }

// ConversationQuery selects conversations. Zero fields select everything.
type ConversationQuery struct {
	Key        string   // only those of this session
	ActiveOnly bool     // without archived ones
	Agent      string   // only those of this agent
	Project    *Project // by Origin if both have one, else by Root
	Erased     bool     // also erased ones
	Limit      int      // 0: no limit
}

// Message is a stored message.
type Message struct {
	ID           MessageID         // its number
	Conversation ConversationID    // it belongs to
	Seq          int64             // its number in its conversation, from 1
	Native       string            // the id that its agent gave it, or empty
	Flags        Flag              // marks of its kind
	Format       llms.Format       // of the message as it arrived
	Tokens       int               // as shown in the view
	Size         int64             // bytes of the message as it arrived
	SHA256       [sha256.Size]byte // of the message as it arrived
	// Stored is when the message was stored; Body.Time is when it was said.
	Stored time.Time
	// Body is the message as it would be sent to a model, with references in place
	// of content that is stored as a file.
	Body llms.Message
	// Damaged says that the stored bytes are not those that arrived. Body then begins
	// with a notice.
	Damaged bool
}

// Flag marks the kind of a message. Flags are set when the message arrives; only erasing
// and masking change them later.
type Flag uint32

// The flags.
const (
	// FlagEcho marks lcm's own output: results of its tools and context that it
	// injected. Search and summaries leave it out, so that recall does not find
	// its own answers.
	FlagEcho Flag = 1 << iota
	// FlagHostSummary marks a host's own summary of the conversation.
	FlagHostSummary
	// FlagSynthetic marks text that the host wrote for somebody: reminders, command
	// echoes, environment blocks.
	FlagSynthetic
	// FlagDuplicate marks a message that may repeat another one. It is stored,
	// because dropping it could lose something.
	FlagDuplicate
	// FlagUnknown marks a message of a type that its importer does not know.
	FlagUnknown
	// FlagRedacted marks a message from which secrets were removed before it was
	// stored, on the user's order.
	FlagRedacted
	// FlagHidden marks a message that is stored but not shown in the view:
	// bookkeeping of a host.
	FlagHidden
	// FlagErased marks a message that was erased on the user's order: only its
	// number is left.
	FlagErased
	// FlagMasked marks a message whose body lacks secrets that its stored bytes have.
	FlagMasked
)

// Bookkeeping reports whether a host wrote a message with these flags and role for
// itself, or lcm did. Searches leave such messages out by default. A message of an
// unknown type may be anything, and does not count.
func (f Flag) Bookkeeping(r llms.Role) bool {
	return f&(FlagEcho|FlagSynthetic) != 0 || f&(FlagHidden|FlagUnknown) == FlagHidden && r == llms.RoleSystem
}

// Said reports whether a person, a model or a tool said the message in the
// conversation. Hosts' own entries and summaries, and texts that a host or lcm
// inserted, are not said.
func (f Flag) Said() bool {
	return f&(FlagEcho|FlagHostSummary|FlagSynthetic|FlagHidden|FlagUnknown) == 0
}

// Input is a message to store, with its flags.
type Input struct {
	llms.Message
	Flags Flag // marks of its kind
}

// AppendResult is the result for one appended message.
type AppendResult struct {
	ID      MessageID // its number, 0 if it was forgotten
	Seq     int64     // its number in the conversation, from 1
	Existed bool      // it was stored before; nothing was written
	// Forgotten says that the user erased it before, so that it is not stored
	// again; it counts as Existed, and has no ID.
	Forgotten bool
	// SHA256 is the hash of the bytes that are stored under the id.
	SHA256 [sha256.Size]byte
}

// SyncResult is the result of storing a whole history.
type SyncResult struct {
	Stored   []AppendResult // the new messages, in order
	Existing int            // how many messages were stored already, or erased
	// Rewound is set if the history leaves the stored one at an earlier message,
	// or returns to a branch that was left. The messages after that one are kept
	// as a branch.
	Rewound *Branch
	// Conversation includes the new messages; it is zero if nothing changed.
	Conversation Conversation
	// Loose counts the new messages stored outside the view: those before the
	// matching part of the history (a host's own summary, a changed system
	// prompt, older messages that arrive late) and, without ids, those edited in
	// its middle.
	Loose int
	// Late counts the new messages with ids that belong before a stored one.
	// Stored messages keep their order: late ones go outside the view if no
	// message of the history was stored before them, else to its end.
	Late int
}

// Branch is a part of a conversation that a rewind removed from the view. It is kept.
type Branch struct {
	ID           int64          // its number
	Conversation ConversationID // it belongs to
	After        MessageID      // the message it forks from
	Cause        string         // why it was left
	Items        int            // number of messages and summaries
	CreatedAt    time.Time      // when it was left
}

// Verification is the result of verifying one conversation.
type Verification struct {
	Conversation ConversationID // that was verified
	Messages     int64          // number of messages
	Summaries    int64          // number of summaries
	Bytes        int64          // of the messages as they arrived
	// Digest is equal for the same messages in the same order, in any database.
	Digest [sha256.Size]byte
	// Faults are the defects found, none if the conversation is sound.
	Faults []Fault
}

// Fault is one defect that a verification found.
type Fault struct {
	Code   string `json:"code"`   // a short stable name: "record-hash", "chain", "uncovered"
	Node   string `json:"node"`   // the id of the faulty item
	Detail string `json:"detail"` // what is wrong
}

// EraseRequest names what to erase.
type EraseRequest struct {
	// Messages are single messages.
	Messages []MessageID
	// Conversations are whole ones: all their messages, and their titles.
	Conversations []ConversationID
	// Quotes reports whether a text quotes erased content. It is called with
	// titles, summaries and small values that hosts' hooks stored; if it is nil, these
	// are compared only with the messages.
	Quotes func(text string) bool
	// Cause says who ordered it, like "forget".
	Cause string
	// Unfinished leaves summaries, index and free space to a later FinishErasing of the
	// engine, for several erasures in a row.
	Unfinished bool
}

// EraseResult counts what an erasure removed, or would remove.
type EraseResult struct {
	Tombstone     int64 `json:"tombstone,omitempty"` // number of the erasure, 0 if nothing was erased
	Messages      int64 `json:"messages"`            // number of messages
	Bytes         int64 `json:"bytes"`               // of these messages as they arrived
	Conversations int   `json:"conversations"`       // whole ones
	// Affected are the conversations that lost something: the named ones, and
	// forks that inherited from them.
	Affected     []ConversationID `json:"affected"`
	Unworded     int              `json:"summariesRemade"` // summaries that are written anew
	Summaries    int              `json:"summariesErased"` // removed summaries
	Payloads     int              `json:"payloads"`        // removed files
	PayloadBytes int64            `json:"payloadBytes"`    // of removed files
	Titles       int              `json:"titles"`          // titles that quoted the messages
	Values       int              `json:"values"`          // small values that quoted the messages
}

// Privacy selects content to keep out of the record. The zero value keeps out only
// private blocks.
type Privacy struct {
	// IgnoreSessions are patterns of session keys that are never stored. A * matches
	// any characters, slashes included.
	IgnoreSessions []string
	// IgnoreProjects are patterns of project directories or git origins that are never
	// stored.
	IgnoreProjects []string
	// Redact says how secrets are treated; empty is [RedactOff].
	Redact RedactMode
}

// RedactMode says how secrets in messages are treated.
type RedactMode string

// The modes.
const (
	RedactOff    RedactMode = "off"    // they are kept and shown
	RedactSearch RedactMode = "search" // only the message as it arrived keeps them: they are not searched, summarised or shown
	RedactAll    RedactMode = "all"    // they are removed before anything is stored
)

// Errors that callers branch on.
var (
	// ErrNotFound says that nothing has the given id or key.
	ErrNotFound = errors.New("not found")
	// ErrArchived says that a conversation no longer takes messages.
	ErrArchived = errors.New("the conversation is archived")
	// ErrReadOnly says that the store is open for reading only, or can only be
	// opened so.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrDamaged says that stored data are corrupt.
	ErrDamaged = errors.New("damaged")
	// ErrIgnored says that the [Privacy] settings keep a session out of the record.
	ErrIgnored = errors.New("the session is never stored")
)

// DamageNotice precedes the text of a message whose stored bytes are not those that
// arrived, wherever it is shown to a person or a model.
const DamageNotice = "[damaged: the stored bytes do not match the SHA-256 taken when they arrived, so this text may not be what was said]"

// DamagedSummaryNotice precedes the text of a summary that is not the one that was written.
const DamagedSummaryNotice = "[damaged: this summary is not the text that was written, so it may say what is not so]"
