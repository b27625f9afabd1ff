package store

import (
	"crypto/sha256"
	"io"
	"time"

	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Project is where a conversation happened. Origin is the normalised address
// of the git remote where there is one, so that clones and worktrees of one
// repository are one project; Root is the directory.
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

	Messages   int64 // those that were erased included
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

// NewConversation says how a conversation is to be opened. Only Key is
// required.
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
	Project    *Project // by Origin where both have one, else by Root
	Erased     bool     // also those that were erased
	Limit      int
}

// Flag marks what kind of message a record is. Flags are set on arrival and
// never change.
type Flag uint32

// The flags.
const (
	// FlagEcho marks what lcm itself said: results of its tools and context
	// that it injected. Search and summaries leave it out, so that recall
	// does not feed on its own echo.
	FlagEcho Flag = 1 << iota
	// FlagHostSummary marks a host's own summary of the conversation.
	FlagHostSummary
	// FlagSynthetic marks what the host wrote on somebody's behalf: reminders,
	// command echoes, environment blocks.
	FlagSynthetic
	// FlagDuplicate marks a message that may repeat another one. It is kept,
	// because dropping it could lose something.
	FlagDuplicate
	// FlagUnknown marks a record of a type that its importer does not know.
	FlagUnknown
	// FlagRedacted marks a record from which secrets were removed on the
	// user's order before it was stored.
	FlagRedacted
	// FlagHidden marks a record that is kept but has no place in the view:
	// bookkeeping of a host.
	FlagHidden
	// FlagErased marks what was erased on the user's order ([Eraser]): nothing
	// is left of the message but its place. It is the one flag that is set
	// later.
	FlagErased
	// FlagMasked marks a message that shows less than its record has: secrets
	// that only the record keeps.
	FlagMasked
)

// Bookkeeping reports whether a message with these flags and role was written
// by a host for itself, or by lcm: what searches leave out by default and
// nobody said. A record of an unknown type may be anything, and is none.
func (f Flag) Bookkeeping(r llms.Role) bool {
	return f&(FlagEcho|FlagSynthetic) != 0 || f&(FlagHidden|FlagUnknown) == FlagHidden && r == llms.RoleSystem
}

// Said reports whether a person, a model or a tool said the message in the
// conversation. The host's own records, its summaries and the texts that a host
// or lcm put in are not said.
func (f Flag) Said() bool {
	return f&(FlagEcho|FlagHostSummary|FlagSynthetic|FlagHidden|FlagUnknown) == 0
}

// Message is a stored message.
type Message struct {
	ID           MessageID
	Conversation ConversationID
	Seq          int64 // 1-based place in its conversation
	Native       string
	Flags        Flag
	Format       llms.Format // of the original record
	Tokens       int         // as shown in the view
	Size         int64       // bytes of the original record
	SHA256       [sha256.Size]byte
	// Stored is when the message was stored; Body.Time is when it was said.
	Stored time.Time
	// Body is the message as a model would be sent it, externalised content
	// replaced by references.
	Body llms.Message
	// Damaged says that what is stored is not what arrived. Body then holds
	// [DamageNotice] and no record.
	Damaged bool
}

// NewMessage is a message to be stored. Package ingest makes them.
type NewMessage struct {
	// Native is the caller's own id, unique in the conversation, or empty.
	Native string
	Role   llms.Role
	// Said is when the message was said, or zero: then it is when it is
	// stored.
	Said   time.Time
	Flags  Flag
	Tokens int
	// Format, Record and Cuts are the original record: Record with the
	// content of each cut put back is what SHA256 was taken of.
	Format llms.Format
	Record []byte
	Cuts   []Cut
	Size   int64
	SHA256 [sha256.Size]byte
	// Body is set only where decoding Record does not give it back.
	Body *llms.Message
	// Payloads are what Body refers to.
	Payloads []PayloadID
	// Calls and Results are the ids of the tool calls that the message makes
	// and answers.
	Calls   []string
	Results []string
}

// Mask has a stored message show less than its record has: Row is what the
// message would be stored as now, and Payloads what that refers to.
type Mask struct {
	ID       MessageID
	Row      NewMessage
	Payloads []NewPayload
}

// Verbatim is the style of a cut whose payload is the record itself.
const Verbatim wire.Style = 1 << 7

// Cut says where in a record externalised content belongs, and how it was
// written there.
type Cut struct {
	At      int        `json:"at"`
	Style   wire.Style `json:"style"`
	Payload PayloadID  `json:"payload"`
}

// Appended says what became of a NewMessage.
type Appended struct {
	ID      MessageID
	Seq     int64
	Existed bool // its native id was there already; nothing was stored
	// Forgotten says that it was erased on the user's order before, and is
	// not stored again; it counts as Existed, and has no ID.
	Forgotten bool
	// SHA256 is that of the record that is stored under the id.
	SHA256 [sha256.Size]byte
}

// Item is one entry of a view: a message or a summary.
type Item struct {
	// Pos orders the items. A folded run leaves the position of its first
	// item to the summary, so positions have gaps and are never renumbered.
	Pos int64
	Node
	Tokens int
	Role   llms.Role // of a message
	Depth  int       // of a summary
	// Calls and Results are those of a message; a call must not be parted
	// from its result.
	Calls   []string
	Results []string
	// Stub says that a message is to be shown as a reference.
	Stub bool
}

// Window bounds how much of a view is read: the oldest and the newest items.
// The zero Window reads all of it.
type Window struct {
	Oldest int
	Newest int
	// NewestTokens also ends the newest items once they hold this many
	// tokens (0: no such bound).
	NewestTokens int
	// After leaves out the items up to this position, for who has read them.
	// They count as skipped.
	After int64
}

// View is what a model should see of a conversation, oldest first.
type View struct {
	Conversation ConversationID
	Items        []Item
	// Count and Tokens are those of the whole view, Items may be less: Skipped
	// items are missing before Items[Gap].
	Count   int
	Tokens  int
	Skipped int
	Gap     int
	// LastUser is the position of the newest user message in the view, 0 if
	// there is none. LastUserItem is its item where that was skipped.
	LastUser     int64
	LastUserItem *Item
}

// MessageQuery selects messages: by id, by native id, or a range of a
// conversation.
type MessageQuery struct {
	IDs          []MessageID // these, in this order; one that is absent is an error
	Conversation ConversationID
	Natives      []string // those of Conversation with these native ids; absent ones are left out
	After        int64    // Seq greater than this
	Before       int64    // Seq less than this, 0 for no bound
	Newest       bool     // newest first
	Erased       bool     // also those that were erased, without bodies; else they are absent
	NoRaw        bool     // without Body.Raw, which saves a copy of each record
	Limit        int      // 0 for all
}

// Summary is a node of the DAG.
type Summary struct {
	ID           SummaryID
	Conversation ConversationID
	Kind         summary.Kind
	Depth        int
	Pos          int64 // its place in the view: that of the first message it covers
	Body         string
	// Tokens is what the summary costs as it is rendered in a view;
	// SourceTokens what its direct sources cost.
	Tokens       int
	SourceTokens int
	// Descendants counts the summaries beneath it, Messages the messages that
	// it covers in the end, MessageTokens what those cost.
	Descendants   int
	Messages      int
	MessageTokens int64
	Earliest      time.Time
	Latest        time.Time
	Files         []PayloadID
	Level         summary.Level
	Method        string
	Model         string
	TokensIn      int
	TokensOut     int
	CreatedAt     time.Time
	Revision      int  // how often it was reworded
	Retired       bool // a rewind took it apart; nothing in the view leads to it
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
	Limit        int
}

// Payload is content that lives outside the conversation. It is read through
// Content, which is valid until the context of the call that returned it
// ends.
type Payload struct {
	ID      PayloadID
	SHA256  [sha256.Size]byte
	Size    int64
	MIME    string
	Name    string
	Path    string // where the content came from, if that is known
	Kind    string
	Summary string // what is in it
	Tokens  int    // what it would cost to show it all
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

// Branch is a part of a conversation that a rewind took out of the view.
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

// Verification is the outcome of proving one conversation.
type Verification struct {
	Conversation ConversationID
	Messages     int64
	Summaries    int64
	Bytes        int64
	// Digest is the same for the same messages in the same order, whatever
	// the database they are in.
	Digest [sha256.Size]byte
	Faults []Fault
}

// Fault is one thing that Verify found wrong.
type Fault struct {
	Code   string // a short stable name: "record-hash", "chain", "uncovered"
	Node   string // the id of what is wrong
	Detail string
}
