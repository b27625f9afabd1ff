package record

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
)

// ConversationID numbers conversations from 1.
type ConversationID int64

// MessageID numbers messages from 1, across all conversations. In text and JSON it is
// msg_ and the number.
type MessageID int64

// String returns msg_ and the number.
func (id MessageID) String() string { return "msg_" + strconv.FormatInt(int64(id), 10) }

// MarshalText implements [encoding.TextMarshaler].
func (id MessageID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalJSON implements [json.Unmarshaler]. It also reads a bare number.
func (id *MessageID) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(string(bytes.TrimPrefix(bytes.Trim(b, `"`), []byte("msg_"))), 10, 64)
	*id = MessageID(n)
	return err
}

// SummaryID names a summary: sum_ and 16 hex digits.
type SummaryID string

// PayloadID names large content that is stored as a file beside its message: file_ and
// the first 16 hex digits of the content's SHA-256.
type PayloadID string

// ID names a message, a summary or a file: exactly one field is set. In text and JSON it
// is the id of that.
type ID struct {
	Message MessageID // of a message
	Summary SummaryID // of a summary
	Payload PayloadID // of a file
}

// String returns msg_…, sum_… or file_….
func (id ID) String() string {
	if s := cmp.Or(string(id.Summary), string(id.Payload)); s != "" {
		return s
	}
	return id.Message.String()
}

// IsSummary reports whether the id is that of a summary.
func (id ID) IsSummary() bool { return id.Summary != "" }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. The text must be a bare id.
func (id *ID) UnmarshalText(text []byte) (err error) {
	if *id, err = ParseID(string(text)); err == nil && id.String() != string(text) {
		err = fmt.Errorf("%q is no bare id", prose.Clip(string(text), 80))
	}
	return err
}

var idPattern = lazyregexp.New(`\b(sum|file|msg)_([0-9A-Za-z]+)\b`)

// ParseID parses an id, bare or inside a pasted reference such as
// "[LCM File: file_0123456789abcdef | notes.txt]". It accepts a sum_ or file_ of any
// length: a lookup tells whether it exists. A msg_ must have a possible number.
func ParseID(s string) (ID, error) {
	found := idPattern().FindAllStringSubmatch(s, -1)
	switch {
	case len(found) == 0:
		return ID{}, fmt.Errorf("%q holds no id: want sum_…, file_… or msg_…", prose.Clip(s, 80))
	case len(found) > 1 && !allSame(found):
		return ID{}, fmt.Errorf("%q holds %d ids: give one at a time", prose.Clip(s, 80), len(found))
	}
	kind, rest := found[0][1], found[0][2]
	switch kind {
	case "sum":
		return ID{Summary: SummaryID("sum_" + strings.ToLower(rest))}, nil
	case "file":
		return ID{Payload: PayloadID("file_" + strings.ToLower(rest))}, nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || n < 1 {
		return ID{}, fmt.Errorf("%q is not the id of a message: it is msg_ and a number from 1 on", prose.Clip(found[0][0], 80))
	}
	return ID{Message: MessageID(n)}, nil
}

func allSame(found [][]string) bool {
	for _, f := range found[1:] {
		if f[0] != found[0][0] {
			return false
		}
	}
	return true
}
