// Package jsonl reads transcripts in the formats of the providers' APIs: a message a
// line (JSONL), one JSON array of messages, or an object with "messages", such as a
// request. The beginning of the input decides. The formats may follow each other, and
// a line may also hold an array or such an object.
//
// Only a file of lines is read without holding all of it in memory. Of lines or an array
// that end in the middle of a message, the complete messages are read; of a request that
// does, none.
package jsonl

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/llms"
)

// MaxDocument is the largest line, array or object that is read into memory.
const MaxDocument = 256 << 20

// Reader reads the messages of an input, one at a time.
type Reader struct {
	// Name is the name of the input in errors.
	Name string
	// Progress is called with the number of bytes read so far, if set.
	Progress func(int64)
	// Torn is set if the input ends in the middle of a message.
	Torn *Torn
	// Untimed is set if the time of a message cannot be parsed.
	Untimed *Untimed

	max int // MaxDocument, unless a test sets less
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

// Each calls fn for every message, in order.
func (t *Reader) Each(r io.Reader, fn func(llms.Message) error) error {
	in := bufio.NewReaderSize(&counting{r: r, told: t.Progress}, 1<<18)
	if bom, err := in.Peek(3); err == nil && string(bom) == "\ufeff" {
		_, _ = in.Discard(3) // it is buffered
	}
	any := false
	for n := 1; ; n++ {
		line, err := readLine(in, t.limit())
		if errors.Is(err, errTooLarge) {
			return &BadRecord{t.Name, n, err}
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
		if record := bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(record)) > 0 {
			ms, wrong := decodeValue(record)
			if wrong != nil && endsEarly(record) {
				return t.early(in, line, n, any, wrong, fn)
			}
			if wrong != nil {
				return &BadRecord{t.Name, n, wrong}
			}
			any = true
			if err := t.all(ms, n, fn); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// errTooLarge says that a value is too large to be held in memory.
var errTooLarge = fmt.Errorf("it is larger than %d MiB in one piece: write its messages as one line each", MaxDocument>>20)

func (t *Reader) limit() int { return cmp.Or(t.max, MaxDocument) }

// readLine reads up to the next line feed, which is part of the line.
func readLine(in *bufio.Reader, limit int) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > limit {
			return nil, errTooLarge
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// early handles the beginning of a JSON value: of a truncated file, or of several lines.
func (t *Reader) early(in *bufio.Reader, line []byte, n int, any bool, wrong error, fn func(llms.Message) error) error {
	rest, err := io.ReadAll(io.LimitReader(in, int64(t.limit())+1))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", t.Name, err)
	case any && len(bytes.TrimSpace(rest)) > 0:
		return &BadRecord{t.Name, n, wrong}
	case len(rest) > t.limit():
		return &BadRecord{t.Name, n, errTooLarge}
	}
	return t.document(append(line, rest...), n, fn)
}

// document decodes JSON values that span lines.
func (t *Reader) document(data []byte, line int, fn func(llms.Message) error) error {
	data = bytes.TrimRight(data, " \t\r\n") // an incomplete string must not end in a line break
	d := json.NewDecoder(bytes.NewReader(data))
	at := func(offset int64) int {
		lead := len(data[offset:]) - len(bytes.TrimLeft(data[offset:], " \t\r\n,"))
		return line + bytes.Count(data[:int(offset)+lead], []byte("\n"))
	}
	inArray := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	next := func() (bool, error) {
		from := d.InputOffset()
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case err == io.EOF && !inArray:
			return false, nil
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			t.Torn = &Torn{Line: at(from), Bytes: int64(len(bytes.TrimLeft(data[from:], " \t\r\n,")))}
			return false, nil
		case err != nil:
			return false, &BadRecord{t.Name, at(d.InputOffset()), err}
		}
		ms, err := decodeValue(raw)
		if err != nil {
			return false, &BadRecord{t.Name, at(from), err}
		}
		return true, t.all(ms, at(from), fn)
	}
	if inArray {
		if _, err := d.Token(); err != nil {
			return &BadRecord{t.Name, line, err}
		}
	}
	for !inArray || d.More() {
		if ok, err := next(); err != nil || !ok {
			return err
		}
	}
	from := d.InputOffset()
	switch _, err := d.Token(); {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		t.Torn = &Torn{Line: at(from), Bytes: int64(len(data)) - from}
	case err != nil:
		return &BadRecord{t.Name, at(from), err}
	case len(bytes.TrimSpace(data[d.InputOffset():])) > 0:
		return &BadRecord{t.Name, at(d.InputOffset()), errors.New("there is more after the array of messages")}
	}
	return nil
}

// all calls fn for the messages that begin on a line.
func (t *Reader) all(ms []llms.Message, line int, fn func(llms.Message) error) error {
	for _, m := range ms {
		t.noteTime(m, line)
		if err := fn(m); err != nil {
			return err
		}
	}
	return nil
}

// endsEarly reports whether a text is the beginning of a JSON value.
func endsEarly(record []byte) bool {
	var raw json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(record)).Decode(&raw), io.ErrUnexpectedEOF)
}

// decodeValue decodes a message, an array of messages, or an object with messages.
func decodeValue(record []byte) ([]llms.Message, error) {
	if bytes.HasPrefix(bytes.TrimSpace(record), []byte("[")) {
		var items []json.RawMessage
		if err := json.Unmarshal(record, &items); err != nil {
			return nil, err
		}
		return decodeItems(nil, items)
	}
	m, err := decodeMessage(record)
	if err == nil {
		return []llms.Message{m}, nil
	}
	var role *llms.RoleError
	if errors.As(err, &role) && role.Role == "" {
		if ms, ok, inner := decodeRequest(record); ok {
			return ms, inner
		}
	}
	return nil, err
}

func decodeMessage(record []byte) (llms.Message, error) {
	format, err := wire.Detect(record)
	if err != nil {
		return llms.Message{}, err
	}
	return wire.Decode(format, "", record)
}

func decodeItems(ms []llms.Message, items []json.RawMessage) ([]llms.Message, error) {
	for i, item := range items {
		m, err := decodeMessage(item)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(items), err)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// decodeRequest decodes an object with messages. A system prompt becomes the first one.
func decodeRequest(record []byte) (ms []llms.Message, ok bool, err error) {
	var request struct {
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(record, &request); err != nil || request.Messages == nil {
		return nil, false, nil
	}
	if ms, err = decodeSystem(request.System); err != nil {
		return nil, true, err
	}
	ms, err = decodeItems(ms, request.Messages)
	return ms, true, err
}

// decodeSystem makes a message of a system prompt, if there is one.
func decodeSystem(prompt json.RawMessage) ([]llms.Message, error) {
	if len(prompt) == 0 || string(prompt) == "null" {
		return nil, nil
	}
	m, err := decodeMessage(bytes.Join([][]byte{[]byte(`{"role":"system","content":`), prompt, []byte("}")}, nil))
	if err != nil {
		return nil, fmt.Errorf("the system prompt: %w", err)
	}
	return []llms.Message{m}, nil
}

// counting reports how many bytes were read.
type counting struct {
	r    io.Reader
	n    int64
	told func(int64)
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.told != nil {
		c.told(c.n)
	}
	return n, err
}
