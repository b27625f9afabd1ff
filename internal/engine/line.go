package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lossless-context/lcm/internal/wire"
)

// maxLine is the longest line that is read. The messages of the longest session that was seen
// have 16 MB.
const maxLine = 128 << 20

// line is a line of the input. One that is too long has no bytes.
type line struct {
	bytes []byte
	long  bool
}

// readLines reads the input until it ends.
func readLines(ctx context.Context, in io.Reader, to chan<- line) error {
	r := bufio.NewReaderSize(in, 64<<10)
	size := 0 // of the last line, which the next one is about as long as
	for {
		l, err := readLine(r, size+size/16)
		size = len(l.bytes)
		if l.long || len(bytes.TrimSpace(l.bytes)) > 0 {
			select {
			case to <- l:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
	}
}

func readLine(r *bufio.Reader, size int) (l line, err error) {
	l.bytes = make([]byte, 0, size+512)
	for {
		part, err := r.ReadSlice('\n')
		if len(l.bytes)+len(part) > maxLine {
			l.long, l.bytes = true, nil
		}
		if !l.long {
			l.bytes = append(l.bytes, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

// request is one request. Members that it does not name are ignored.
type request struct {
	ID      json.RawMessage `json:"id"`
	Verb    string          `json:"verb"`
	Session string          `json:"session"`
	// hello
	Protocols []int  `json:"protocols"`
	Host      string `json:"host"`
	Dir       string `json:"dir"`
	// ingest, assemble, compact
	Form   string `json:"form"`
	Model  string `json:"model"`
	Budget int    `json:"budget"`
	Wait   int    `json:"wait"` // milliseconds
	Tools  bool   `json:"tools"`
	Cut    bool   `json:"cut"`
	Keep   string `json:"keep"`
	UpTo   string `json:"upto"`
	After  string `json:"after"`
	// grep, describe, expand_query, expand
	Arguments json.RawMessage `json:"arguments"`
	// shorten
	Tool  string `json:"tool"`
	Call  string `json:"call"`
	Entry string `json:"entry"`
	Text  string `json:"text"`
	// subagent
	Child string `json:"child"`
	Event string `json:"event"`
	// expand_query, and reply, which has Text too
	Delegate bool   `json:"delegate"`
	Problem  string `json:"problem"`

	// Messages is the array, and Body an object with nothing else. They are not checked.
	Messages []byte `json:"-"`
	Body     []byte `json:"-"`
}

// bodyStart is how a body begins.
const bodyStart = `{"messages":`

// parse reads a request. The messages may be many megabytes, so they are not read here: they
// are what follows their name, if the line ends with them.
func parse(l line) (r request, err error) {
	if l.long {
		return r, fail(codeRequest, "a line has more than %d bytes", maxLine)
	}
	b := bytes.TrimSpace(l.bytes)
	head, messages := b, []byte(nil)
	if at, value := find(b, "messages"); at >= 0 && bytes.HasSuffix(b, []byte("]}")) {
		head = append(bytes.TrimRight(append([]byte(nil), b[:at]...), ", \t"), '}')
		messages = b[value : len(b)-1]
		r.Body = b[value-len(bodyStart):] // the name and what stands before it are as long
		copy(r.Body, bodyStart)
	} else if at >= 0 {
		if v, err := wire.Members(b, "messages"); err == nil {
			messages = v[0]
			r.Body = slices.Concat([]byte(bodyStart), messages, []byte("}"))
		}
	}
	if err := json.Unmarshal(head, &r); err != nil {
		return r, fail(codeRequest, "not a request: %v", err)
	}
	r.Messages = messages
	return r, nil
}

// find returns where a member of an object begins and where its value does, or -1. It reads no
// further than that. What is no JSON has no members.
func find(b []byte, name string) (at, value int) {
	quoted := []byte(`"` + name + `"`)
	if i := bytes.Index(b, quoted); i < 0 || b[0] != '{' {
		return -1, -1
	}
	depth, i := 0, 0
	for i < len(b) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := i + 1
			for end < len(b) && b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			if depth == 1 && end < len(b) && bytes.Equal(b[i:end+1], quoted) {
				if k := wire.Space(b, end+1); k < len(b) && b[k] == ':' {
					return i, wire.Space(b, k+1)
				}
			}
			i = end
		}
		i++
	}
	return -1, -1
}

// The codes of errors.
const (
	codeRequest     = "bad_request" // the request is wrong
	codeOrder       = "hello_first"
	codeVersion     = "version"     // no version of the protocol in common
	codeUnavailable = "unavailable" // the record cannot be used now
	codeFailed      = "failed"
)

// failure is an error with a code.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (f *failure) Error() string { return f.Message }

func fail(code, format string, args ...any) error {
	return &failure{code, fmt.Sprintf(format, args...)}
}

// problemOf returns an error as the adapter gets it.
func problemOf(err error) *failure {
	if f := new(failure); errors.As(err, &f) {
		return f
	}
	return &failure{codeFailed, err.Error()}
}
