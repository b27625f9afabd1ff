package recall

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
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
	ID             string               `json:"id"`
	Type           string               `json:"type"` // summary, file or message
	Scope          Scope                `json:"scope"`
	ConversationID store.ConversationID `json:"conversationId,omitempty"`
	CreatedAt      time.Time            `json:"createdAt"`
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

// Describe shows one thing whole.
func (s *Service) Describe(ctx context.Context, r DescribeRequest) (_ DescribeAnswer, err error) {
	ctx, span := tracing.Start(ctx, "recall.describe")
	defer func() { span.End(err) }()
	id, err := store.ParseID(r.ID)
	if err != nil {
		return DescribeAnswer{}, refuse("lcm_grep finds ids", "%w", err)
	}
	if err := r.check(id); err != nil {
		return DescribeAnswer{}, err
	}
	scope, err := s.scopes.reach(ctx, r.Where)
	if err != nil {
		return DescribeAnswer{}, err
	}
	d := description{Service: s, request: r, answer: DescribeAnswer{Scope: scope}}
	switch {
	case id.Summary != "":
		err = d.summary(ctx, id.Summary)
	case id.Payload != "":
		err = d.file(ctx, id.Payload)
	default:
		err = d.message(ctx, id.Message)
	}
	if err == nil && d.answer.ConversationID != 0 {
		err = d.answer.nameMachine(ctx, s.store)
	}
	if err != nil {
		return DescribeAnswer{}, err
	}
	return d.answer, nil
}

// description is a request on its way to an answer.
type description struct {
	*Service
	request DescribeRequest
	answer  DescribeAnswer
}

// nameMachine notes the agent, the user and the machine of a session that was pushed to
// a team's server.
func (a *DescribeAnswer) nameMachine(ctx context.Context, from store.Reader) error {
	c, err := from.Conversation(ctx, a.ConversationID)
	if err == nil && strings.Contains(c.Agent, "@") {
		a.Notes = append(a.Notes, "from a session of "+oneLine(c.Agent))
	}
	return err
}

// Bounds of a manifest.
const (
	defaultManifest = 50
	maxManifest     = 1000
)

func (r *DescribeRequest) check(id store.ID) error {
	bytes, lines := r.Offset != 0 || r.Length != 0, r.StartLine != 0 || r.EndLine != 0
	switch {
	case r.Offset < 0 || r.Length < 0:
		return refuse("", "offset and length count bytes: they cannot be negative")
	case r.StartLine < 0 || r.EndLine < 0:
		return refuse("", "lines are numbered from 1")
	case lines && bytes:
		return refuse("give one of them", "a range is either of bytes or of lines")
	case r.EndLine != 0 && r.EndLine < r.StartLine:
		return refuse("", "startLine %d comes after endLine %d", r.StartLine, r.EndLine)
	case lines && id.Payload == "":
		return refuse("use offset and length for a message", "lines are those of files")
	case bytes && id.Summary != "":
		return refuse("a summary is shown whole", "ranges are those of files and messages")
	case r.MaxTokens < 0 || r.MaxBytes < 0:
		return refuse("leave them out for no bound", "maxTokens and maxBytes cannot be negative")
	case r.Limit < 0 || r.Limit > maxManifest:
		return refuse("page through more with nextCursor", "limit is %d: it must be from 1 to %d", r.Limit, maxManifest)
	}
	return nil
}

func hexSum(sum [32]byte) string { return hex.EncodeToString(sum[:]) }

// names returns ids as JSON carries them, never null.
func names[T ~string](ids []T) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
