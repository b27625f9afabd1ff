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

// decodeTorn decodes the complete messages of a truncated object with "messages", and
// nothing of other values. skip is where the incomplete part begins.
func decodeTorn(data []byte) (ms []llms.Message, skip int64, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, 0, nil
	}
	var system json.RawMessage
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		if key == "messages" {
			if ms, skip, err = tornItems(d); err != nil {
				return nil, skip, err
			}
			continue
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		if key == "system" {
			system = value
		}
	}
	if ms == nil {
		return nil, 0, nil
	}
	prompt, err := decodeSystem(system)
	return slices.Concat(prompt, ms), skip, err
}

// tornItems decodes the complete messages of an array, and returns where they end.
func tornItems(d *json.Decoder) (ms []llms.Message, end int64, err error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, 0, nil
	}
	end = d.InputOffset()
	for d.More() {
		var item json.RawMessage
		if d.Decode(&item) != nil {
			return ms, end, nil
		}
		m, err := decodeMessage(item)
		if err != nil {
			return nil, end, err
		}
		ms, end = append(ms, m), d.InputOffset()
	}
	if _, err := d.Token(); err == nil {
		end = d.InputOffset()
	}
	return ms, end, nil
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
