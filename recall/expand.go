package recall

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// ExpandRequest asks for the messages beneath summaries.
type ExpandRequest struct {
	// IDs are messages and files, whose texts come first.
	IDs []record.ID `json:"ids,omitempty"`
	// SummaryIDs are the summaries to open.
	SummaryIDs []record.SummaryID `json:"summaryIds"`
	Where
	// Depth is how many steps down to go; 0 goes down to the messages.
	Depth int `json:"depth,omitempty"`
	// IncludeMessages returns the messages' text too, not only the summaries
	// on the way; nil is true.
	IncludeMessages *bool `json:"includeMessages,omitempty"`
	// TokenCap bounds the text of one page; 0 is 4,000.
	TokenCap int    `json:"tokenCap,omitempty"`
	Cursor   string `json:"cursor,omitempty"` // NextCursor of the answer before
}

// Piece is a summary or a message beneath the summaries that were asked for,
// or a part of one where a page ends inside it.
type Piece struct {
	ID             record.ID             `json:"id"`              // of the message, summary or file
	Type           string                `json:"type"`            // message or summary
	Role           llms.Role             `json:"role,omitempty"`  // of a message
	ConversationID record.ConversationID `json:"conversationId"`  // it belongs to
	CreatedAt      time.Time             `json:"createdAt"`       // when a message was said or a summary written
	Depth          *int                  `json:"depth,omitempty"` // of a summary
	Level          int                   `json:"level"`           // steps below the node that was asked for
	// Text holds the exact bytes. In JSON those that are not UTF-8 travel in
	// base64, and "encoding" says so.
	Text   string `json:"text"`
	Offset int    `json:"offset"` // of Text in the whole
	Size   int    `json:"size"`   // bytes of the whole
	// Complete says that Text ends where the whole does.
	Complete bool `json:"complete"`
	Tokens   int  `json:"tokens"`            // of Text
	Damaged  bool `json:"damaged,omitempty"` // the stored bytes are not those that arrived
}

// MarshalJSON implements [json.Marshaler].
func (p Piece) MarshalJSON() ([]byte, error) {
	type plain Piece
	w := struct {
		plain
		Encoding string `json:"encoding,omitempty"`
	}{plain: plain(p)}
	w.Text, w.Encoding = encode(p.Text)
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Piece) UnmarshalJSON(b []byte) error {
	type plain Piece
	var w struct {
		plain
		Encoding string `json:"encoding"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*p = Piece(w.plain)
	var err error
	p.Text, err = decode(w.Text, w.Encoding)
	return err
}

// ExpandAnswer is one page of the messages beneath summaries.
type ExpandAnswer struct {
	SummaryIDs []record.SummaryID `json:"summaryIds"` // that were opened
	Scope      Scope              `json:"scope"`      // where it looked
	Pieces     []Piece            `json:"pieces"`     // of this page, in order
	Tokens     int                `json:"tokens"`     // of the pieces' text
	// MessageCount and MessageTokens are those of all messages beneath, on
	// whatever page; a message beneath two of the summaries counts twice.
	MessageCount  int      `json:"messageCount"`
	MessageTokens int64    `json:"messageTokens"`        // cost of all messages beneath
	Truncated     bool     `json:"truncated,omitempty"`  // there is more
	NextCursor    string   `json:"nextCursor,omitempty"` // leads to the next page
	Notes         []string `json:"notes,omitempty"`      // hints for the reader
}

// encode returns bytes as JSON can carry them: UTF-8 as it is, anything else
// in base64, and the encoding says which.
func encode(text string) (out, encoding string) {
	if utf8.ValidString(text) {
		return text, ""
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), "base64"
}

func decode(text, encoding string) (string, error) {
	switch encoding {
	case "":
		return text, nil
	case "base64":
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	}
	return "", fmt.Errorf("unknown encoding %q", encoding)
}
