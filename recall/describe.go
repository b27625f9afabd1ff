package recall

import (
	"encoding/json"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// DescribeRequest asks for one thing whole: a summary, a file or a message.
type DescribeRequest struct {
	// ID is sum_…, file_… or msg_…, bare or in a pasted reference.
	ID record.ID `json:"id"`
	Where
	// Offset and Length choose bytes of a file or message, StartLine and
	// EndLine (from 1, both included) lines of a file. Without any the content
	// is whole.
	Offset    int64 `json:"offset,omitempty"`
	Length    int64 `json:"length,omitempty"`    // how many bytes; 0 is all
	StartLine int   `json:"startLine,omitempty"` // the first line of a file, from 1
	EndLine   int   `json:"endLine,omitempty"`   // the last line of a file
	// MaxTokens and MaxBytes bound the content of one answer; the rest
	// follows with NextCursor. 0 is no bound.
	MaxTokens int `json:"maxTokens,omitempty"`
	MaxBytes  int `json:"maxBytes,omitempty"` // most bytes of content in one answer; 0 is no bound
	// Limit bounds the manifest of a summary, 1 to 1000; 0 is 50.
	Limit int `json:"limit,omitempty"`
	// IncludeMessages lists messages in the manifest, not only summaries.
	IncludeMessages bool   `json:"includeMessages,omitempty"`
	Cursor          string `json:"cursor,omitempty"` // NextCursor of the answer before
}

// DescribeAnswer has the details of a summary, a file or a message: those that all
// of them have, and one of the three details, whose fields are beside the
// others in JSON.
type DescribeAnswer struct {
	ID             record.ID             `json:"id"`                       // that was asked for
	Type           string                `json:"type"`                     // summary, file or message
	Scope          Scope                 `json:"scope"`                    // where it looked
	ConversationID record.ConversationID `json:"conversationId,omitempty"` // it belongs to
	CreatedAt      time.Time             `json:"createdAt"`                // when a message was said, a summary written or a file stored
	// Content holds the exact bytes. In JSON those that are not UTF-8 travel
	// in base64, and "encoding" says so.
	Content    string             `json:"content"`
	Offset     int64              `json:"offset,omitempty"`     // of Content in the whole
	Truncated  bool               `json:"truncated,omitempty"`  // Content is not the whole
	TokenCount int                `json:"tokenCount"`           // of the whole
	ByteSize   int64              `json:"byteSize"`             // of the whole
	SHA256     string             `json:"sha256,omitempty"`     // of the whole, taken when it arrived
	Damaged    bool               `json:"damaged,omitempty"`    // the stored bytes do not match SHA256, or a summary is not as it was written
	FileIDs    []record.PayloadID `json:"fileIds,omitempty"`    // files that belong to it
	NextCursor string             `json:"nextCursor,omitempty"` // leads to the rest
	Notes      []string           `json:"notes,omitempty"`      // hints for the reader

	*SummaryDetail
	*FileDetail
	*MessageDetail
}

// MarshalJSON implements [json.Marshaler].
func (a DescribeAnswer) MarshalJSON() ([]byte, error) {
	type plain DescribeAnswer
	w := struct {
		plain
		Encoding string `json:"encoding,omitempty"`
	}{plain: plain(a)}
	w.Content, w.Encoding = encode(a.Content)
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *DescribeAnswer) UnmarshalJSON(b []byte) error {
	type plain DescribeAnswer
	var w struct {
		plain
		Encoding string `json:"encoding"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*a = DescribeAnswer(w.plain)
	var err error
	a.Content, err = decode(w.Content, w.Encoding)
	return err
}

// SummaryDetail has the fields of a summary.
type SummaryDetail struct {
	Depth      int                `json:"depth"`      // 0 for a leaf
	Kind       record.SummaryKind `json:"kind"`       // made from messages, or from summaries
	EarliestAt time.Time          `json:"earliestAt"` // of the messages beneath
	LatestAt   time.Time          `json:"latestAt"`   // of the messages beneath
	// DescendantCount counts the summaries beneath, MessageCount the messages.
	DescendantCount int `json:"descendantCount"`
	MessageCount    int `json:"messageCount"` // messages beneath
	// ParentIDs are the summaries that this one was made from. They are older and less
	// deep; a summary made from messages has none. ChildIDs are the summaries that were
	// later made from this one. (A parent came first; the tree is not meant.)
	ParentIDs        []record.SummaryID `json:"parentIds"`
	ChildIDs         []record.SummaryID `json:"childIds"`         // summaries that were later made from this one
	SourceMessageIDs []record.MessageID `json:"sourceMessageIds"` // messages directly beneath it
	// SourceTokens is the cost of its direct sources, MessageTokens that of all
	// messages beneath it.
	SourceTokens  int                 `json:"sourceTokens"`
	MessageTokens int64               `json:"messageTokens"`      // cost of all messages beneath it
	Level         record.SummaryLevel `json:"level"`              // how short it had to be
	Method        string              `json:"method"`             // "extractive", "model"
	Model         string              `json:"model,omitempty"`    // that wrote it
	Revision      int                 `json:"revision,omitempty"` // how often it was reworded
	Retired       bool                `json:"retired,omitempty"`  // a rewind took it out of the view
	// Manifest lists the nodes beneath, breadth first, in pages.
	Manifest []Branch `json:"manifest"`
}

// Branch is a node beneath a summary, with the cost of expanding it.
type Branch struct {
	ID         record.ID          `json:"id"`              // of the node
	Type       string             `json:"type"`            // summary or message
	Level      int                `json:"level"`           // steps below the described summary
	Depth      *int               `json:"depth,omitempty"` // of a summary
	Kind       record.SummaryKind `json:"kind,omitempty"`  // of a summary
	Role       llms.Role          `json:"role,omitempty"`  // of a message
	TokenCount int                `json:"tokenCount"`      // of the node itself
	// SourceTokens is the cost of one step down, MessageTokens that of all
	// messages beneath.
	SourceTokens    int       `json:"sourceTokens,omitempty"`
	MessageTokens   int64     `json:"messageTokens,omitempty"`   // cost of all messages beneath
	MessageCount    int       `json:"messageCount,omitempty"`    // messages beneath
	DescendantCount int       `json:"descendantCount,omitempty"` // summaries beneath
	EarliestAt      time.Time `json:"earliestAt"`                // of the messages beneath
	LatestAt        time.Time `json:"latestAt"`                  // of the messages beneath
}

// FileDetail has the fields of a file.
type FileDetail struct {
	FileName           string `json:"fileName"`           // its name
	MIMEType           string `json:"mimeType"`           // its type, such as text/plain
	FileKind           string `json:"fileKind,omitempty"` // what kind of text it is
	ExplorationSummary string `json:"explorationSummary"` // a description of its content
	// StoragePath names the content for good: lcm://file/ and its id.
	StoragePath  string `json:"storagePath"`
	OriginalPath string `json:"originalPath,omitempty"` // where it came from, if that is known
	// MessageIDs are the newest messages that the file belongs to.
	MessageIDs []record.MessageID `json:"messageIds"`
}

// MessageDetail has the details that only a message has. The answer's Content is its
// text, externalised content in its place; ByteSize and SHA256 are those of
// the record as it arrived.
type MessageDetail struct {
	Role     llms.Role   `json:"role"`               // who said it
	Seq      int64       `json:"seq"`                // its place in the conversation
	NativeID string      `json:"nativeId,omitempty"` // the id that its agent gave it
	Format   llms.Format `json:"format"`             // of the message as it arrived
	Flags    []string    `json:"flags,omitempty"`    // marks of its kind
	StoredAt time.Time   `json:"storedAt"`           // when it was stored
	// ContentSize is the bytes of the whole content.
	ContentSize int64      `json:"contentSize"`
	Parts       []PartInfo `json:"parts"`              // of the message, in order
	Previous    *Neighbour `json:"previous,omitempty"` // the message before it
	Next        *Neighbour `json:"next,omitempty"`     // the message after it
	// CoveringIDs leads from the summary that covers the message up to the one
	// in the view; a message in the view has none.
	CoveringIDs []record.SummaryID `json:"coveringIds"`
}

// PartInfo describes a part of a message.
type PartInfo struct {
	Kind     llms.PartKind    `json:"kind"`              // of the part
	Bytes    int              `json:"bytes"`             // its size
	Tool     string           `json:"tool,omitempty"`    // of a call or result
	CallID   string           `json:"callId,omitempty"`  // of a call or result
	IsError  bool             `json:"isError,omitempty"` // of a result: the call failed
	FileID   record.PayloadID `json:"fileId,omitempty"`  // where the content is kept
	FileName string           `json:"name,omitempty"`    // of a file
	MIMEType string           `json:"mime,omitempty"`    // of a file
}
