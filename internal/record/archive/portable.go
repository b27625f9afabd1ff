// Package archive defines the archive format of lcm: all data of some
// conversations, in a form that outlives the program and its database.
//
// An archive is a tar file compressed with zstd. Its entries are
//
//	manifest.json       the version and the conversations
//	rows/000001.jsonl   the rows of the tables, one JSON object a line
//	payloads/<sha256>   large content, unchanged
//	damaged/<sha256>    large content that no longer has the hash it was stored under
//	end.json            the number of rows, and a hash of everything before it
//
// in this order. A row is an object with one field, the name of its table; the
// fields of its value are the columns. NULL is left out, numbers are numbers, text
// is a string, and bytes are an object {"utf8": …} or, if they are not UTF-8,
// {"base64": …}. A row that was damaged before it was archived has a second field,
// "damaged", that says how. The tables are those of the manifest's schema version:
// its SQL is in the source, and readers of a later version convert the rows as
// they would a database.
//
// Frames of 128 KiB are compressed independently. A reader reports the content of
// damaged ones as missing, and continues.
//
// Writing and reading stream: memory is bounded by the largest row. A reader
// trusts nothing: it refuses unknown names and never uses them as paths, bounds
// sizes, checks hashes, and detects a truncated archive.
//
// The store that loads the rows interprets and checks them.
package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Version is the version of the format that this package writes. It reads all
// earlier ones.
const Version = 1

// format identifies a manifest.
const format = "lcm-archive"

// The names of entries.
const (
	manifestName  = "manifest.json"
	endName       = "end.json"
	rowsPrefix    = "rows/"
	payloadPrefix = "payloads/"
	damagedPrefix = "damaged/"
)

// Manifest describes an archive.
type Manifest struct {
	Format        string         `json:"format"`
	Version       int            `json:"version"`
	Schema        int            `json:"schema"` // of the rows
	Program       string         `json:"program"`
	Created       time.Time      `json:"createdAt"`
	Complete      bool           `json:"complete"` // a whole database, not selected conversations
	Conversations []Conversation `json:"conversations"`
	Digest        string         `json:"digest"` // the combined digest of their verification
}

// Conversation names a conversation of an archive.
type Conversation struct {
	Key      string `json:"key"`
	Segment  int    `json:"segment"`
	Title    string `json:"title,omitempty"`
	Messages int64  `json:"messages"`
}

// Row is a row of a table. A value is nil, an int64, a string or a []byte.
type Row struct {
	Table   string
	Columns []string
	Values  []any
	// Damaged says how the row was damaged before it was archived; "" if it was not.
	Damaged string
}

// ErrDamaged says that an archive differs from the one that was written.
var ErrDamaged = errors.New("the archive is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// encode appends a row as a line.
func (r Row) encode(b []byte) ([]byte, error) {
	if len(r.Columns) != len(r.Values) {
		return b, fmt.Errorf("a row of %s has %d columns and %d values", r.Table, len(r.Columns), len(r.Values))
	}
	b = append(appendJSON(append(b, '{'), r.Table), ":{"...)
	comma := ""
	for i, v := range r.Values {
		switch raw := v.(type) {
		case nil:
			continue
		case int64:
		case string:
			if !utf8.ValidString(raw) {
				v = map[string][]byte{"text64": []byte(raw)} // encoded in base64
			}
		case []byte:
			v = map[string][]byte{"base64": raw}
			if utf8.Valid(raw) {
				v = map[string]string{"utf8": string(raw)}
			}
		default:
			return b, fmt.Errorf("%s.%s has type %T, which is not archived", r.Table, r.Columns[i], v)
		}
		b = appendJSON(append(appendJSON(append(b, comma...), r.Columns[i]), ':'), v)
		comma = ","
	}
	b = append(b, '}')
	if r.Damaged != "" {
		b = appendJSON(append(b, `,"damaged":`...), r.Damaged)
	}
	return append(b, "}\n"...), nil
}

// appendJSON appends a number, a string, or an object of strings.
func appendJSON(b []byte, v any) []byte {
	q, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: such values can be written
	}
	return append(b, q...)
}

// decodeRow parses a line.
func decodeRow(line []byte) (Row, error) {
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(line, &outer); err != nil {
		return Row{}, damaged("a row cannot be read: %v", err)
	}
	var r Row
	if mark, ok := outer["damaged"]; ok {
		if err := json.Unmarshal(mark, &r.Damaged); err != nil {
			return Row{}, damaged("a row cannot be read: %v", err)
		}
		delete(outer, "damaged")
	}
	if len(outer) != 1 {
		return Row{}, damaged("a row must name one table, not %d", len(outer))
	}
	for table, raw := range outer {
		r.Table = table
		var columns map[string]json.RawMessage
		if err := json.Unmarshal(raw, &columns); err != nil {
			return Row{}, damaged("a row cannot be read: %v", err)
		}
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			v, err := decodeValue(columns[name])
			if err != nil {
				return r, damaged("%s.%s: %v", table, name, err)
			}
			r.Columns = append(r.Columns, name)
			r.Values = append(r.Values, v)
		}
	}
	return r, nil
}

func decodeValue(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '{':
		var b struct {
			UTF8   *string `json:"utf8"`
			Base64 []byte  `json:"base64"`
			Text64 []byte  `json:"text64"`
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		switch {
		case b.UTF8 != nil:
			return []byte(*b.UTF8), nil
		case b.Base64 != nil:
			return b.Base64, nil
		case b.Text64 != nil:
			return string(b.Text64), nil
		}
		return nil, errors.New("bytes must be utf8 or base64")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%.80q is not a whole number", raw)
	}
	return n, nil
}
