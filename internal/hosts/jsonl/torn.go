package jsonl

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/lossless-context/lcm/llms"
)

// Torn says where an input ends within a message, and how many bytes of it there are.
type Torn struct {
	Line  int   `json:"line"`
	Bytes int64 `json:"bytes"`
}

// Untimed counts the messages whose time cannot be parsed, and locates the first.
type Untimed struct {
	Line  int    `json:"line"`
	Value string `json:"value"`
	Count int    `json:"count"`
}

// noteTime records a time that cannot be parsed.
func (t *Reader) noteTime(m llms.Message, line int) {
	if !m.Time.IsZero() {
		return
	}
	value := claimedTime(m.Raw.Bytes)
	switch {
	case value == "":
	case t.Untimed == nil:
		t.Untimed = &Untimed{Line: line, Value: value, Count: 1}
	default:
		t.Untimed.Count++
	}
}

var timeNames = []string{"timestamp", "created_at", "time"}

// claimedTime returns the time in a record as it is written, or "".
func claimedTime(record []byte) string {
	if !slices.ContainsFunc(timeNames, func(name string) bool { return bytes.Contains(record, []byte(`"`+name+`"`)) }) {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(record, &fields) != nil {
		return ""
	}
	for _, name := range timeNames {
		if value := string(fields[name]); value != "" && value != "null" && value != `""` {
			return value
		}
	}
	return ""
}
