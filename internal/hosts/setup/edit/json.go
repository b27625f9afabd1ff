package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// JSON is a JSON file with or without comments.
type JSON struct {
	src  []byte
	mark []byte // a byte order mark, which is kept but not JSON
	end  string // a line ending after the text that only the parser needs
	root hujson.Value
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON parses a file. A file of only white space is an empty object.
func ParseJSON(src []byte) (*JSON, error) {
	d := &JSON{src: src}
	if bytes.HasPrefix(src, byteOrderMark) {
		d.mark, d.src = byteOrderMark, src[len(byteOrderMark):]
	}
	if len(bytes.TrimSpace(d.src)) == 0 {
		d.src = []byte("{" + lineEnd(d.src) + "}" + lineEnd(d.src))
	}
	root, err := hujson.Parse(d.src)
	if err != nil && !bytes.HasSuffix(d.src, []byte("\n")) {
		// A comment may end with the file, but the parser needs a line ending.
		if ended, e := hujson.Parse(append(bytes.Clone(d.src), '\n')); e == nil {
			d.src, d.end, root, err = append(bytes.Clone(d.src), '\n'), "\n", ended, nil
		}
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, at(1, 1, "this is no JSON object")
	}
	d.root = root
	return d, nil
}

// Bytes returns the text.
func (d *JSON) Bytes() []byte {
	return append(bytes.Clone(d.mark), bytes.TrimSuffix(d.src, []byte(d.end))...)
}

// Get returns the value at a path as standard JSON, or nil. A path has the names of members
// and the numbers of elements.
func (d *JSON) Get(path ...string) json.RawMessage {
	v := d.find(path)
	if v == nil {
		return nil
	}
	return standard(*v)
}

// standard encodes a value without comments.
func standard(v hujson.Value) json.RawMessage {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	v.Standardize()
	return json.RawMessage(v.Pack())
}

func (d *JSON) find(path []string) *hujson.Value {
	at := &d.root
	for _, name := range path {
		i := indexOf(at, name)
		if i < 0 {
			return nil
		}
		_, values, _ := entries(at)
		at = values[i]
	}
	return at
}

// indexOf returns the index of an entry: a member by its name, of two the last, and an
// element by its number.
func indexOf(v *hujson.Value, name string) int {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i, m := range slices.Backward(c.Members) {
			var s string
			if l, ok := m.Name.Value.(hujson.Literal); ok && json.Unmarshal(l, &s) == nil && s == name {
				return i
			}
		}
	case *hujson.Array:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(c.Elements) {
			return i
		}
	}
	return -1
}

// Set sets the member at a path, if it differs.
func (d *JSON) Set(value any, path ...string) error {
	if same(d.Get(path...), value) {
		return nil
	}
	if v := d.find(path); v != nil {
		return d.put(v, value, len(path))
	}
	depth := len(path) - 1
	for depth > 0 && d.find(path[:depth]) == nil {
		value = map[string]any{path[depth]: value}
		depth--
	}
	holder := d.find(path[:depth])
	if holder.Value.Kind() != '{' {
		return d.wrongKind(holder, path[:depth], "an object")
	}
	return d.insert(holder, depth, path[depth], value)
}

// Append adds an element to the array at a path.
func (d *JSON) Append(value any, path ...string) error {
	holder := d.find(path)
	if holder == nil {
		return d.Set([]any{value}, path...)
	}
	if holder.Value.Kind() != '[' {
		return d.wrongKind(holder, path, "an array")
	}
	return d.insert(holder, len(path), "", value)
}

// Cut removes the entry at a path, if there is one.
func (d *JSON) Cut(path ...string) error {
	if d.find(path) == nil {
		return nil
	}
	holder := d.find(path[:len(path)-1])
	return d.cut(holder, indexOf(holder, path[len(path)-1]))
}

// Empty reports whether there is an empty object or array at a path.
func (d *JSON) Empty(path ...string) bool {
	v := d.find(path)
	if v == nil {
		return false
	}
	first, _, end := entries(v)
	return end != nil && len(first) == 0
}

func (d *JSON) wrongKind(v *hujson.Value, path []string, want string) error {
	before := d.src[:v.StartOffset]
	line := bytes.Count(before, []byte("\n")) + 1
	return at(line, len(before)-bytes.LastIndexByte(before, '\n'), strings.Join(path, ".")+" is not "+want)
}

// changed parses the result of an edit.
func (d *JSON) changed() (err error) {
	d.src = d.root.Pack()
	if d.root, err = hujson.Parse(d.src); err != nil {
		return fmt.Errorf("the edit would leave a file that cannot be read: %w", err)
	}
	return nil
}

// same reports whether a value equals a JSON text.
func same(text json.RawMessage, value any) bool {
	if text == nil {
		return false
	}
	b, err := json.Marshal(value)
	if err != nil {
		return false
	}
	var x, y any
	return json.Unmarshal(text, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
