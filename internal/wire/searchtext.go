package wire

import (
	"bytes"
	"slices"

	"github.com/lossless-context/lcm/llms"
)

// AppendSearchText appends what SearchText says of the message in a record,
// without making the message. It knows the records that it can be sure of:
// text, and this module's own shape as Encode writes it, without blobs, refs
// and metadata. It reports false for the others, with dst as it was.
//
// A search that reads every record spends most of its time in making messages
// it throws away; this is several times faster.
func AppendSearchText(dst []byte, f llms.Format, record []byte) (_ []byte, ok bool) {
	switch f {
	case llms.FormatText:
		return append(dst, record...), true
	case llms.FormatLCM:
		s := lcmScanner{b: record, dst: dst, base: len(dst)}
		if s.record() {
			return s.dst, true
		}
	}
	return dst, false
}

// lcmScanner reads the lcm shape exactly as encodeLCM writes it. Whatever else
// it meets, it gives up.
type lcmScanner struct {
	b    []byte
	i    int
	dst  []byte
	base int // where the text begins in dst
}

// take moves past a literal if it comes next.
func (s *lcmScanner) take(literal string) bool {
	if end := s.i + len(literal); end <= len(s.b) && string(s.b[s.i:end]) == literal {
		s.i = end
		return true
	}
	return false
}

func (s *lcmScanner) record() bool {
	if !s.take(`{"lcm":1,"role":"`) {
		return false
	}
	n := bytes.IndexByte(s.b[s.i:], '"')
	if n < 0 || !slices.Contains(lcmRoles, string(s.b[s.i:s.i+n])) {
		return false
	}
	s.i += n + 1
	for _, name := range [...]string{`,"id":`, `,"time":`} {
		if s.take(name) && !s.pass() {
			return false
		}
	}
	return s.take(`,"parts":`) && s.parts(0) && s.take("}") && s.i == len(s.b)
}

func (s *lcmScanner) parts(depth int) bool {
	if depth > partDepth || !s.take("[") {
		return false
	}
	if s.take("]") {
		return true
	}
	for {
		if !s.part(depth) {
			return false
		}
		if !s.take(",") {
			return s.take("]")
		}
	}
}

func (s *lcmScanner) part(depth int) bool {
	switch {
	case s.take(`{"kind":"text"`), s.take(`{"kind":"reasoning"`), s.take(`{"kind":"tool_call"`), s.take(`{"kind":"tool_result"`):
	default:
		return false
	}
	if s.take(`,"text":`) && !s.say() || s.take(`,"signature":`) && !s.pass() {
		return false
	}
	if s.take(`,"call":`) && !s.call() || s.take(`,"result":`) && !s.result(depth) {
		return false
	}
	return s.take("}")
}

func (s *lcmScanner) call() bool {
	m := lcmMembers{s, "{"}
	return m.has("id", s.pass) && m.has("name", s.say) && m.has("arguments", s.say) && m.end()
}

func (s *lcmScanner) result(depth int) bool {
	m := lcmMembers{s, "{"}
	return m.has("call_id", s.pass) && m.has("name", s.say) &&
		m.has("is_error", func() bool { return s.take("true") }) &&
		m.has("output", func() bool { return s.parts(depth + 1) }) && m.end()
}

// lcmMembers are the members of an object, in the order in which they are
// written and each left out where it is empty.
type lcmMembers struct {
	*lcmScanner
	before string // what stands before the next member
}

// has reads a member if it is there, and reports whether nothing is amiss.
func (m *lcmMembers) has(name string, read func() bool) bool {
	from := m.i
	if m.take(m.before) && m.take(`"`) && m.take(name) && m.take(`":`) {
		m.before = ","
		return read()
	}
	m.i = from
	return true
}

func (m *lcmMembers) end() bool {
	return m.before == "," && m.take("}") || m.before == "{" && m.take("{}")
}

// pass moves past a string.
func (s *lcmScanner) pass() bool {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return false
	}
	end, err := checkString(s.b, s.i)
	s.i = end
	return err == nil
}

// say appends a string on a line of its own.
func (s *lcmScanner) say() bool {
	from := s.i + 1
	if !s.pass() {
		return false
	}
	said := s.b[from : s.i-1]
	if len(said) == 0 {
		return true
	}
	if len(s.dst) > s.base {
		s.dst = append(s.dst, '\n')
	}
	s.dst = unescape(s.dst, said)
	return true
}
