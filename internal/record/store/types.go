package store

import (
	"crypto/sha256"
	"io"
	"time"

	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Project is where a conversation happened. Origin is the normalised URL of the git
// remote, if there is one, so that clones and worktrees of one repository are one
// project. Root is the directory.
type Project struct {
	Origin string
	Root   string
}

// Conversation is one segment of a session.
type Conversation struct {
	ID      ConversationID
	Key     string // the stable session key, shared by all segments
	Segment int    // 1 for the first conversation of the key
	Agent   string // the agent or host that speaks in it
	Project Project
	Title   string
	Parent  ConversationID // of a sub-agent's conversation, else 0
	// ForkedFrom and ForkedAt say where the view was inherited from.
	ForkedFrom ConversationID
	ForkedAt   MessageID

	CreatedAt    time.Time // when it was opened, or its first message said
	UpdatedAt    time.Time // when its last message was said; in a list, when it was stored if that is in the future
	ArchivedAt   time.Time // zero while the conversation is active
	ArchiveCause string

	ErasedAt time.Time // when all of it was erased, see [Eraser]

	Messages   int64 // including erased ones
	Erased     int64
	Summaries  int64
	Tokens     int64 // of all messages
	Bytes      int64 // of all original records
	ViewItems  int
	ViewTokens int
	// Head is the last link of the hash chain.
	Head [sha256.Size]byte
}

// Active reports whether the conversation still takes messages.
func (c Conversation) Active() bool { return c.ArchivedAt.IsZero() }

// NewConversation describes a conversation to open. Only Key is required.
type NewConversation struct {
	Key     string
	Agent   string
	Project Project
	Title   string
	Parent  ConversationID
	Time    time.Time
}

// ConversationQuery selects conversations. Zero fields select everything.
type ConversationQuery struct {
	Key        string
	ActiveOnly bool
	Agent      string
	Project    *Project // by Origin if both have one, else by Root
	Erased     bool     // also erased ones
	Limit      int
}

// Flag marks the kind of a message. Flags are set on arrival; only an [Eraser] sets
// FlagErased and FlagMasked later.
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
	// FlagUnknown marks a record of a type that its importer does not know.
	FlagUnknown
	// FlagRedacted marks a record from which secrets were removed before it was
	// stored, on the user's order.
	FlagRedacted
	// FlagHidden marks a record that is stored but not shown in the view:
	// bookkeeping of a host.
	FlagHidden
	// FlagErased marks a message that was erased on the user's order ([Eraser]):
	// only its number is left.
	FlagErased
	// FlagMasked marks a message whose body lacks secrets that its record has. It is
	// set on arrival, or later by [Eraser.Mask].
	FlagMasked
)

// Bookkeeping reports whether a host wrote a message with these flags and role for
// itself, or lcm did. Searches leave such messages out by default. A record of an
// unknown type may be anything, and does not count.
func (f Flag) Bookkeeping(r llms.Role) bool {
	return f&(FlagEcho|FlagSynthetic) != 0 || f&(FlagHidden|FlagUnknown) == FlagHidden && r == llms.RoleSystem
}

// Said reports whether a person, a model or a tool said the message in the
// conversation. Hosts' own records and summaries, and texts that a host or lcm
// inserted, are not said.
func (f Flag) Said() bool {
	return f&(FlagEcho|FlagHostSummary|FlagSynthetic|FlagHidden|FlagUnknown) == 0
}

// Message is a stored message.
type Message struct {
	ID           MessageID
	Conversation ConversationID
	Seq          int64 // its number in its conversation, from 1
	Native       string
	Flags        Flag
	Format       llms.Format // of the original record
	Tokens       int         // as shown in the view
	Size         int64       // bytes of the original record
	SHA256       [sha256.Size]byte
	// Stored is when the message was stored; Body.Time is when it was said.
	Stored time.Time
	// Body is the message as it would be sent to a model, with references in place
	// of externalised content.
	Body llms.Message
	// Damaged says that the stored bytes are not those that arrived. Body then has
	// [DamageNotice] and no record.
	Damaged bool
}

// NewMessage is a message to be stored. Package ingest makes them.
type NewMessage struct {
	// Native is the caller's own id, unique in the conversation, or empty.
	Native string
	Role   llms.Role
	// Said is when the message was said; zero means when it is stored.
	Said   time.Time
	Flags  Flag
	Tokens int
	// Format, Record and Cuts are the original record: SHA256 is the hash of
	// Record with the content of each cut inserted.
	Format llms.Format
	Record []byte
	Cuts   []Cut
	Size   int64
	SHA256 [sha256.Size]byte
	// Body is set only if decoding Record does not return it.
	Body *llms.Message
	// Payloads are the payloads that Body refers to.
	Payloads []PayloadID
	// Calls and Results are the ids of the tool calls that the message makes
	// and answers.
	Calls   []string
	Results []string
}

// Mask replaces the body of a stored message with one without secrets: Row is the new
// form of the message, and Payloads its payloads.
type Mask struct {
	ID       MessageID
	Row      NewMessage
	Payloads []NewPayload
}

// Verbatim is the style of a cut whose payload is the record itself.
const Verbatim wire.Style = 1 << 7

// Cut says where externalised content belongs in a record, and how it was written.
type Cut struct {
	At      int        `json:"at"`
	Style   wire.Style `json:"style"`
	Payload PayloadID  `json:"payload"`
}

// Appended is the result for one NewMessage.
type Appended struct {
	ID      MessageID
	Seq     int64
	Existed bool // its native id was already stored; nothing was written
	// Forgotten says that the user erased it before, so that it is not stored
	// again; it counts as Existed, and has no ID.
	Forgotten bool
	// SHA256 is the hash of the record that is stored under the id.
	SHA256 [sha256.Size]byte
}

// Item is one entry of a view: a message or a summary.
type Item struct {
	// Pos orders the items. A summary takes the position of the first item that it
	// replaces, so positions have gaps and are never renumbered.
	Pos int64
	Node
	Tokens int
	Role   llms.Role // of a message
	Depth  int       // of a summary
	// Calls and Results are those of a message. A call must stay with its result.
	Calls   []string
	Results []string
	// Stub says that a message is shown as a reference.
	Stub bool
}

// Window bounds how much of a view is read: the oldest and the newest items.
// The zero Window reads all of it.
type Window struct {
	Oldest int
	Newest int
	// NewestTokens also ends the newest items once they have this many tokens (0:
	// no bound).
	NewestTokens int
}

// View is the part of a conversation for a model, oldest first.
type View struct {
	Conversation ConversationID
	Items        []Item
	// Count and Tokens are those of the whole view. Items may be fewer: Skipped
	// items are missing before Items[Gap].
	Count   int
	Tokens  int
	Skipped int
	Gap     int
	// LastUser is the position of the newest user message in the view, or 0.
	// LastUserItem is its item if it was skipped.
	LastUser     int64
	LastUserItem *Item
}

// MessageQuery selects messages: by id, by native id, or a range of a
// conversation.
type MessageQuery struct {
	IDs          []MessageID // these, in this order; a missing one is an error
	Conversation ConversationID
	Natives      []string // those of Conversation with these native ids; missing ones are skipped
	After        int64    // Seq greater than this
	Before       int64    // Seq less than this, 0 for no bound
	Newest       bool     // newest first
	Erased       bool     // also erased ones, without bodies
	NoRaw        bool     // without Body.Raw, which saves a copy of each record
	Limit        int      // 0 for all
}

// Summary is a node of the DAG.
type Summary struct {
	ID           SummaryID      `json:"id"`
	Conversation ConversationID `json:"-"`
	Kind         summary.Kind   `json:"kind"`
	Depth        int            `json:"depth"`
	Pos          int64          `json:"-"` // its position in the view: that of the first message it covers
	Body         string         `json:"body,omitempty"`
	// Tokens counts the summary as rendered in a view, SourceTokens its direct
	// sources.
	Tokens       int `json:"tokens"`
	SourceTokens int `json:"sourceTokens"`
	// Descendants counts the summaries below it, Messages the messages that it
	// covers, MessageTokens their tokens.
	Descendants   int           `json:"descendants"`
	Messages      int           `json:"messages"`
	MessageTokens int64         `json:"messageTokens"`
	Earliest      time.Time     `json:"earliestAt"`
	Latest        time.Time     `json:"latestAt"`
	Files         []PayloadID   `json:"fileIds,omitempty"`
	Level         summary.Level `json:"level"`
	Method        string        `json:"method"`
	Model         string        `json:"model,omitempty"`
	TokensIn      int           `json:"-"`
	TokensOut     int           `json:"-"`
	CreatedAt     time.Time     `json:"-"`
	Revision      int           `json:"-"` // how often it was reworded
	Retired       bool          `json:"-"` // a rewind split it; the view does not lead to it
	// Damaged says that the text is not the one that was written.
	Damaged bool `json:"damaged,omitempty"`
	// Sources are those of a condensed summary, if SummaryQuery.Sources asks for them.
	Sources []Node `json:"-"`
}

// NewSummary is a summary to be folded into the view.
type NewSummary struct {
	Over []Item // the run of view items that it replaces, as they were read
	Wording
}

// Wording is the part of a summary that a summariser wrote.
type Wording struct {
	Body      string
	Tokens    int // as rendered
	Level     summary.Level
	Method    string
	Model     string
	TokensIn  int
	TokensOut int
}

// SummaryQuery selects summaries: by id, or those of a conversation, oldest
// first.
type SummaryQuery struct {
	IDs          []SummaryID // these, in this order
	Conversation ConversationID
	Sources      bool // with the sources of condensed summaries; only for IDs
	Limit        int
}

// Payload is content outside the conversation. Content is valid until the context of
// the call that returned it ends.
type Payload struct {
	ID      PayloadID
	SHA256  [sha256.Size]byte
	Size    int64
	MIME    string
	Name    string
	Path    string // where the content came from, if known
	Kind    string
	Summary string // a description of the content
	Tokens  int    // of the whole content
	Created time.Time
	// Damaged says that the content does not match SHA256.
	Damaged bool
	Content io.ReaderAt
}

// NewPayload is content to be stored.
type NewPayload struct {
	Data    []byte
	MIME    string
	Name    string
	Path    string
	Kind    string
	Summary string
	Tokens  int
}

// Branch is a part of a conversation that a rewind removed from the view.
type Branch struct {
	ID           int64
	Conversation ConversationID
	After        MessageID // the message it forks from
	Cause        string
	Items        int
	CreatedAt    time.Time
}

// Value is an entry of State.
type Value struct {
	Key     string
	Data    []byte
	Version int64
	Expires time.Time
}

// Verification is the result of verifying one conversation.
type Verification struct {
	Conversation ConversationID
	Messages     int64
	Summaries    int64
	Bytes        int64
	// Digest is equal for the same messages in the same order, in any database.
	Digest [sha256.Size]byte
	Faults []Fault
}

// Fault is one fault that Verify found.
type Fault struct {
	Code   string `json:"code"` // a short stable name: "record-hash", "chain", "uncovered"
	Node   string `json:"node"` // the id of the faulty item
	Detail string `json:"detail"`
}
