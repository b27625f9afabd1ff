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
	ID string `json:"id"`
	Where
	// Offset and Length choose bytes of a file or message, StartLine and
	// EndLine (from 1, both included) lines of a file. Without any the content
	// is whole.
	Offset    int64 `json:"offset,omitempty"`
	Length    int64 `json:"length,omitempty"`
	StartLine int   `json:"startLine,omitempty"`
	EndLine   int   `json:"endLine,omitempty"`
	// MaxTokens and MaxBytes bound the content of one answer; the rest
	// follows with NextCursor. 0 is no bound.
	MaxTokens int `json:"maxTokens,omitempty"`
	MaxBytes  int `json:"maxBytes,omitempty"`
	// Limit bounds the manifest of a summary, 1 to 1000; 0 is 50.
	Limit int `json:"limit,omitempty"`
	// IncludeMessages lists messages in the manifest, not only summaries.
	IncludeMessages bool   `json:"includeMessages,omitempty"`
	Cursor          string `json:"cursor,omitempty"`
}

// DescribeAnswer has the details of a summary, a file or a message: those that all
// of them have, and one of the three details, whose fields are beside the
// others in JSON.
type DescribeAnswer struct {
	ID             string                `json:"id"`
	Type           string                `json:"type"` // summary, file or message
	Scope          Scope                 `json:"scope"`
	ConversationID record.ConversationID `json:"conversationId,omitempty"`
	CreatedAt      time.Time             `json:"createdAt"`
	// Content holds the exact bytes. In JSON those that are not UTF-8 travel
	// in base64, and "encoding" says so.
	Content    string   `json:"content"`
	Offset     int64    `json:"offset,omitempty"` // of Content in the whole
	Truncated  bool     `json:"truncated,omitempty"`
	TokenCount int      `json:"tokenCount"`
	ByteSize   int64    `json:"byteSize"` // of the whole
	SHA256     string   `json:"sha256,omitempty"`
	Damaged    bool     `json:"damaged,omitempty"` // the stored bytes do not match SHA256, or a summary is not as it was written
	FileIDs    []string `json:"fileIds,omitempty"`
	NextCursor string   `json:"nextCursor,omitempty"`
	Notes      []string `json:"notes,omitempty"`

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
	Depth      int                `json:"depth"`
	Kind       record.SummaryKind `json:"kind"`
	EarliestAt time.Time          `json:"earliestAt"`
	LatestAt   time.Time          `json:"latestAt"`
	// DescendantCount counts the summaries beneath, MessageCount the messages.
	DescendantCount int `json:"descendantCount"`
	MessageCount    int `json:"messageCount"`
	// ParentIDs are the summaries that it was made from, ChildIDs those that
	// were made from it, SourceMessageIDs the messages directly beneath it.
	ParentIDs        []string `json:"parentIds"`
	ChildIDs         []string `json:"childIds"`
	SourceMessageIDs []string `json:"sourceMessageIds"`
	// SourceTokens is the cost of its direct sources, MessageTokens that of all
	// messages beneath it.
	SourceTokens  int                 `json:"sourceTokens"`
	MessageTokens int64               `json:"messageTokens"`
	Level         record.SummaryLevel `json:"level"`
	Method        string              `json:"method"`
	Model         string              `json:"model,omitempty"`
	Revision      int                 `json:"revision,omitempty"`
	Retired       bool                `json:"retired,omitempty"`
	// Manifest lists the nodes beneath, breadth first, in pages.
	Manifest []Branch `json:"manifest"`
}

// Branch is a node beneath a summary, with the cost of expanding it.
type Branch struct {
	ID         string             `json:"id"`
	Type       string             `json:"type"`            // summary or message
	Level      int                `json:"level"`           // steps below the described summary
	Depth      *int               `json:"depth,omitempty"` // of a summary
	Kind       record.SummaryKind `json:"kind,omitempty"`
	Role       llms.Role          `json:"role,omitempty"`
	TokenCount int                `json:"tokenCount"` // of the node itself
	// SourceTokens is the cost of one step down, MessageTokens that of all
	// messages beneath.
	SourceTokens    int       `json:"sourceTokens,omitempty"`
	MessageTokens   int64     `json:"messageTokens,omitempty"`
	MessageCount    int       `json:"messageCount,omitempty"`
	DescendantCount int       `json:"descendantCount,omitempty"`
	EarliestAt      time.Time `json:"earliestAt"`
	LatestAt        time.Time `json:"latestAt"`
}

// FileDetail has the fields of a file.
type FileDetail struct {
	FileName           string `json:"fileName"`
	MIMEType           string `json:"mimeType"`
	FileKind           string `json:"fileKind,omitempty"`
	ExplorationSummary string `json:"explorationSummary"`
	// StoragePath names the content for good: lcm://file/ and its id.
	StoragePath  string `json:"storagePath"`
	OriginalPath string `json:"originalPath,omitempty"`
	// MessageIDs are the newest messages that the file belongs to.
	MessageIDs []string `json:"messageIds"`
}

// MessageDetail has the details that only a message has. The answer's Content is its
// text, externalised content in its place; ByteSize and SHA256 are those of
// the record as it arrived.
type MessageDetail struct {
	Role     llms.Role   `json:"role"`
	Seq      int64       `json:"seq"` // its place in the conversation
	NativeID string      `json:"nativeId,omitempty"`
	Format   llms.Format `json:"format"`
	Flags    []string    `json:"flags,omitempty"`
	StoredAt time.Time   `json:"storedAt"`
	// ContentSize is the bytes of the whole content.
	ContentSize int64      `json:"contentSize"`
	Parts       []PartInfo `json:"parts"`
	Previous    *Neighbour `json:"previous,omitempty"`
	Next        *Neighbour `json:"next,omitempty"`
	// CoveringIDs leads from the summary that covers the message up to the one
	// in the view; a message in the view has none.
	CoveringIDs []string `json:"coveringIds"`
}

// PartInfo describes a part of a message.
type PartInfo struct {
	Kind     llms.PartKind `json:"kind"`
	Bytes    int           `json:"bytes"`
	Tool     string        `json:"tool,omitempty"`
	CallID   string        `json:"callId,omitempty"`
	IsError  bool          `json:"isError,omitempty"`
	FileID   string        `json:"fileId,omitempty"` // where the content is kept
	FileName string        `json:"name,omitempty"`
	MIMEType string        `json:"mime,omitempty"`
}
