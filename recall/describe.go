package recall

import (
	"encoding/json"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// DescribeRequest asks for one thing whole: a summary, a file or a message.
type DescribeRequest struct {
	// ID has the summary, file or message: record.ID{Payload: fileID}. [record.ParseID] reads one
	// from a text.
	ID record.ID `json:"id"`
	Where
	// MaxTokens bounds the content of one answer; the rest follows with NextCursor. 0 is no bound.
	MaxTokens int    `json:"maxTokens,omitempty"`
	Cursor    string `json:"cursor,omitempty"` // NextCursor of the answer before
	// Lines asks for some lines of the content, "120-180". They come with their numbers, and not in pages.
	Lines   string `json:"lines,omitempty"`
	Pattern string `json:"pattern,omitempty"` // a regular expression: likewise for the lines that match
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
	Previous    *Neighbour `json:"previous,omitempty"` // the message before it
	Next        *Neighbour `json:"next,omitempty"`     // the message after it
	// CoveringIDs leads from the summary that covers the message up to the one
	// in the view; a message in the view has none.
	CoveringIDs []record.SummaryID `json:"coveringIds"`
}
