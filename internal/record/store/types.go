package store

import (
	"crypto/sha256"
	"io"
	"time"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// NewConversation describes a conversation to open. Only Key is required.
type NewConversation struct {
	Key     string
	Agent   string
	Project Project
	Title   string
	Parent  ConversationID
	Time    time.Time
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

// Item is one entry of a view: a message or a summary.
type Item struct {
	// Pos orders the items. A summary takes the position of the first item that it
	// replaces, so positions have gaps and are never renumbered.
	Pos int64
	ID
	Tokens int
	Role   llms.Role // of a message
	Depth  int       // of a summary
	// Calls and Results are those of a message. A call must stay with its result.
	Calls   []string
	Results []string
	// Stub says that a message is shown as a reference.
	Stub bool
	// Damaged says that the message or summary does not belong here.
	Damaged bool
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
	// Damaged says that the items are not those that were written, as far as the places of
	// those that were read tell, and the number and size of all.
	Damaged bool
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
	NoTools      bool     // of a range: without messages of the role tool, which are most of its bytes
	Limit        int      // 0 for all
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
	Level     record.SummaryLevel
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

// Value is an entry of State.
type Value struct {
	Key     string
	Data    []byte
	Version int64
	Expires time.Time
}
