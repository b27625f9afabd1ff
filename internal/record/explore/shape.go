package explore

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// Bounds on the shape that is gathered from JSON.
const (
	shapeDepth    = 5 // objects and arrays each count for one
	shapeKeys     = 40
	shapeElements = 24
)

// shape is the type of a JSON value, and the shapes inside it down to shapeDepth. Values of one array are merged into one shape.
type shape struct {
	types  []string // in the order seen
	keys   []string // of objects, in the order seen
	fields map[string]*shape
	more   int // keys beyond the bound
	items  int // of the largest array
	elem   *shape
	sample string // of a scalar
	unread bool   // too deep to be looked into
}

func (s *shape) saw(typ string) {
	if !slices.Contains(s.types, typ) {
		s.types = append(s.types, typ)
	}
}

func (s *shape) field(key string) *shape {
	if f, ok := s.fields[key]; ok {
		return f
	}
	if len(s.keys) >= shapeKeys {
		s.more++
		return nil
	}
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	f := &shape{}
	s.keys = append(s.keys, key)
	s.fields[key] = f
	return f
}

// jsonReader reads the shape of a JSON text. It stops where the text is not JSON.
type jsonReader struct {
	*json.Decoder
	data []byte
}

// readShape adds the shape of the first value of a text to s. It returns where the
// value ends, and an error if it does not end.
func readShape(data []byte, s *shape) (end int, err error) {
	r := jsonReader{json.NewDecoder(bytes.NewReader(data)), data}
	err = r.value(s, 0)
	return int(r.InputOffset()), err
}

// next is the text from the next key or value on.
func (r jsonReader) next() []byte { return bytes.TrimLeft(r.data[r.InputOffset():], " \t\r\n,:") }

// value reads a value into s, or past it where s is nil.
func (r jsonReader) value(s *shape, depth int) error {
	var first byte
	if next := r.next(); len(next) > 0 {
		first = next[0]
	}
	nested := first == '{' || first == '['
	if s != nil {
		s.saw(typeOf(first))
		if nested && depth < shapeDepth {
			return r.inside(s, depth, first == '{')
		}
		s.unread = s.unread || nested
	}
	var raw json.RawMessage
	err := r.Decode(&raw)
	if s != nil && !nested && s.sample == "" {
		s.sample = oneLine(raw[:min(len(raw), 160)], 40)
	}
	return err
}

// inside reads the fields of an object or the elements of an array.
func (r jsonReader) inside(s *shape, depth int, object bool) error {
	_, err := r.Token()
	n := 0
	for ; err == nil && r.More(); n++ {
		into := s.elem
		switch {
		case object:
			key := r.next()
			if _, err = r.Token(); err != nil {
				return err
			}
			end := len(key) - len(r.data) + int(r.InputOffset())
			into = s.field(oneLine(key[1:end-1], 48))
		case n >= shapeElements:
			into = nil
		case into == nil:
			into = &shape{}
			s.elem = into
		}
		err = r.value(into, depth+1)
	}
	if !object {
		s.items = max(s.items, n)
	}
	if err == nil {
		_, err = r.Token() // the closing bracket
	}
	return err
}

func typeOf(b byte) string {
	switch b {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// label names a shape in a few words: "array of 12 objects", "string or null".
func (s *shape) label() string {
	var names []string
	for _, t := range s.types {
		switch t {
		case "object":
			if n := len(s.keys) + s.more; n > 0 {
				t += " of " + plural(n, "key")
			}
		case "array":
			if s.unread {
				break
			}
			t = "array of " + prose.Number(s.items)
			if s.elem != nil && len(s.elem.types) > 0 {
				t += " × " + strings.Join(s.elem.types, " or ")
			}
		}
		names = append(names, t)
	}
	label := strings.Join(names, " or ")
	if s.sample != "" && len(s.types) == 1 {
		label += ", e.g. " + s.sample
	}
	return label
}

// write lists the fields of a shape, indented by depth.
func (s *shape) write(out *notes, depth int) {
	for _, key := range s.keys {
		f := s.fields[key]
		if !out.add(strings.Repeat("  ", depth) + quoteKey(key) + ": " + f.label()) {
			return
		}
		f.inner().write(out, depth+1)
	}
	if s.more > 0 {
		out.addf("%s… and %s", strings.Repeat("  ", depth), plural(s.more, "more key"))
	}
}

// inner is the shape whose fields are listed under a shape.
func (s *shape) inner() *shape {
	if len(s.keys) == 0 && s.elem != nil {
		return s.elem.inner()
	}
	return s
}

func quoteKey(key string) string {
	if strings.ContainsAny(key, " :\"") || key == "" {
		return strconv.Quote(key)
	}
	return key
}
