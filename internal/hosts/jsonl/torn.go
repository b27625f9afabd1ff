package jsonl

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/lossless-context/lcm/llms"
)

// Torn says where an input ends in the middle of a message, and how much of
// the message is there.
type Torn struct {
	Line  int   `json:"line"`
	Bytes int64 `json:"bytes"`
}

// decodeTorn reads what is whole of an object with messages that ends early.
// skip is where what is not whole begins. Anything else that ends early has
// nothing whole in it.
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

// tornItems reads the whole messages of an array, and says where they end.
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

// Untimed says how many messages have a time that cannot be read, and where
// the first of them is.
type Untimed struct {
	Line  int    `json:"line"`
	Value string `json:"value"`
	Count int    `json:"count"`
}

// noteTime looks for a time that cannot be read.
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

// claimedTime returns the time that a record says it is from, as it is
// written.
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
