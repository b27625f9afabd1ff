package explore

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/prose"
)

// Bounds on the shape that is gathered from JSON.
const (
	shapeDepth    = 5 // objects and arrays each count for one
	shapeKeys     = 40
	shapeElements = 24
)

// shape is what a JSON value looks like: its type, and the shapes inside it
// down to shapeDepth. Values of one array are merged into one shape.
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

// jsonScanner walks JSON without building it. It is lenient: it looks for the
// shape of a value, not for mistakes, and stops where it cannot go on.
type jsonScanner struct {
	data []byte
	pos  int
	bad  bool
}

func (p *jsonScanner) space() byte {
	for ; p.pos < len(p.data); p.pos++ {
		if b := p.data[p.pos]; b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b
		}
	}
	return 0
}

// value reads a value into s, or past it where s is nil.
func (p *jsonScanner) value(s *shape, depth int) {
	b := p.space()
	if s == nil {
		p.skip()
		return
	}
	s.saw(typeOf(b))
	switch nested := b == '{' || b == '['; {
	case nested && depth >= shapeDepth:
		s.unread = true
		p.skip()
	case b == '{':
		p.object(s, depth)
	case b == '[':
		p.array(s, depth)
	default:
		start := p.pos
		p.skip()
		if s.sample == "" {
			s.sample = oneLine(p.data[start:min(p.pos, start+160)], 40)
		}
	}
}

func (p *jsonScanner) object(s *shape, depth int) {
	p.pos++
	for !p.bad {
		switch p.space() {
		case '}':
			p.pos++
			return
		case ',':
			p.pos++
			continue
		case '"':
		default:
			p.bad = true
			return
		}
		start := p.pos + 1
		p.string()
		if p.bad {
			return
		}
		key := oneLine(p.data[start:max(start, p.pos-1)], 48)
		if p.space() != ':' {
			p.bad = true
			return
		}
		p.pos++
		p.value(s.field(key), depth+1)
	}
}

func (p *jsonScanner) array(s *shape, depth int) {
	p.pos++
	n := 0
	for !p.bad {
		switch p.space() {
		case ']':
			p.pos++
			s.items = max(s.items, n)
			return
		case ',':
			p.pos++
			continue
		case 0:
			p.bad = true
			continue
		}
		if s.elem == nil {
			s.elem = &shape{}
		}
		if n < shapeElements {
			p.value(s.elem, depth+1)
		} else {
			p.skip()
		}
		n++
	}
	s.items = max(s.items, n)
}

// skip moves past one value, counting brackets rather than recursing.
func (p *jsonScanner) skip() {
	open := 0
	for p.pos < len(p.data) {
		switch b := p.space(); b {
		case '"':
			p.string()
			if p.bad {
				return
			}
		case '{', '[':
			open++
			p.pos++
		case '}', ']':
			if open == 0 {
				p.bad = true // a bracket that nothing opened
				return
			}
			open--
			p.pos++
		case ',', ':':
			if open == 0 {
				p.bad = true
				return
			}
			p.pos++
			continue
		case 0:
			p.bad = true
			return
		default:
			p.scalar()
		}
		if open == 0 {
			return
		}
	}
	p.bad = true
}

// scalar moves past a number or a literal, at least by one byte.
func (p *jsonScanner) scalar() {
	p.pos++
	for p.pos < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\""), p.data[p.pos]) < 0 {
		p.pos++
	}
}

// string moves past a string.
func (p *jsonScanner) string() {
	p.pos++
	for {
		i := bytes.IndexByte(p.data[p.pos:], '"')
		if i < 0 {
			p.pos, p.bad = len(p.data), true
			return
		}
		end := p.pos + i
		slashes := 0
		for end-1-slashes >= p.pos && p.data[end-1-slashes] == '\\' {
			slashes++
		}
		p.pos = end + 1
		if slashes%2 == 0 {
			return
		}
	}
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
