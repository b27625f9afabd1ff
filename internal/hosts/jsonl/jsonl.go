// Package jsonl reads transcripts in the formats of the providers' APIs: a message a
// line (JSONL), JSON arrays of messages, or objects with "messages", such as a request,
// also after each other.
//
// Of lines or an array that end in the middle of a message, the complete messages are
// read; of a request that does, none.
package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Torn says where an input ends within a message, and how many bytes of it there are.
type Torn struct {
	Line  int   `json:"line"`
	Bytes int64 `json:"bytes"`
}

// BadRecord is a part of the input that is not a message.
type BadRecord struct {
	Name string
	Line int
	Err  error
}

// Error implements error.
func (b *BadRecord) Error() string {
	return fmt.Sprintf("%s:%d: %s", b.Name, b.Line, strings.ReplaceAll(b.Err.Error(), "llms: ", ""))
}

// Unwrap returns the cause.
func (b *BadRecord) Unwrap() error { return b.Err }

// between is what may stand between values.
const between = " \t\r\n,"

// Read returns the messages of an input, and where it is torn. Errors name the input.
func Read(name string, data []byte) (ms []llms.Message, torn *Torn, err error) {
	// An incomplete string must not end in a line break.
	data = bytes.TrimRight(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	d := json.NewDecoder(bytes.NewReader(data))
	for inArray := false; ; {
		rest := bytes.TrimLeft(data[d.InputOffset():], between)
		line := func() int { return 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n")) }
		if len(rest) == 0 && !inArray {
			return ms, nil, nil
		}
		var raw json.RawMessage
		var err error
		bracket := len(rest) > 0 && (rest[0] == '[' && !inArray || rest[0] == ']' && inArray)
		if bracket {
			_, err = d.Token()
			inArray = !inArray
		} else {
			err = d.Decode(&raw)
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return ms, &Torn{Line: line(), Bytes: int64(len(rest))}, nil
		}
		var more []llms.Message
		if err == nil && !bracket {
			more, err = decodeValue(raw)
		}
		if err != nil {
			return nil, nil, &BadRecord{name, line(), err}
		}
		ms = append(ms, more...)
	}
}

// decodeValue decodes a message or an object with messages.
func decodeValue(record []byte) ([]llms.Message, error) {
	m, err := decodeMessage(record)
	if err == nil {
		return []llms.Message{m}, nil
	}
	var request struct {
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
	}
	var role *llms.RoleError
	if !errors.As(err, &role) || role.Role != "" || json.Unmarshal(record, &request) != nil || request.Messages == nil {
		return nil, err
	}
	if len(request.System) > 0 && string(request.System) != "null" { // it becomes the first message
		prompt := bytes.Join([][]byte{[]byte(`{"role":"system","content":`), request.System, []byte("}")}, nil)
		request.Messages = append([]json.RawMessage{prompt}, request.Messages...)
	}
	ms := make([]llms.Message, len(request.Messages))
	for i, item := range request.Messages {
		if ms[i], err = decodeMessage(item); err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(ms), err)
		}
	}
	return ms, nil
}

func decodeMessage(record []byte) (llms.Message, error) {
	format, err := wire.Detect(record)
	if err != nil {
		return llms.Message{}, err
	}
	return wire.Decode(format, "", record)
}
