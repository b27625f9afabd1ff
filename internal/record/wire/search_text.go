package wire

import (
	"bytes"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/llms"
)

// AppendSearchText appends the search text of a record to dst. The text is that
// of Decode and SearchText, and so is the error. A record of the lcm shape with
// nothing but texts, calls and results, as encodeLCM writes it, is read in one
// pass and not decoded: decoding took 62 % of the time of a search that reads
// every text.
func AppendSearchText(dst []byte, f llms.Format, role llms.Role, record []byte) ([]byte, error) {
	if f == llms.FormatLCM {
		t := textReader{b: record, dst: dst, base: len(dst)}
		if t.message() {
			return t.dst, nil
		}
	}
	m, err := Decode(f, role, record)
	if err != nil {
		return dst, err
	}
	return append(dst, m.SearchText()...), nil
}

// textReader reads the texts of an lcm record. Its methods return false for a
// record that has to be decoded.
type textReader struct {
	b    []byte
	i    int    // the next byte
	dst  []byte // the texts, one in a line
	base int    // where they begin
}

func (t *textReader) message() bool {
	if !t.next(`{"lcm":1`) || !t.key(`"role":`) {
		return false
	}
	from := t.i
	if !t.str(false) || !slices.Contains(lcmRoles, string(t.b[from+1:t.i-1])) {
		return false
	}
	if t.key(`"id":`) && !t.str(false) || t.key(`"time":`) && !t.str(false) {
		return false
	}
	return t.key(`"parts":`) && t.parts(true) && t.next("}") && t.i == len(t.b)
}

// parts reads an array of parts, which may be results if outer is set.
func (t *textReader) parts(outer bool) bool {
	if t.next("[]") {
		return true
	}
	ok := t.next("[") && t.part(outer)
	for ok && t.next(",") {
		ok = t.part(outer)
	}
	return ok && t.next("]")
}

func (t *textReader) part(outer bool) bool {
	ok := t.next("{") && t.key(`"kind":`) && t.str(false) && t.optional(`"text":`, true) && t.optional(`"signature":`, false)
	if ok && t.key(`"call":`) {
		ok = t.next("{") && t.optional(`"id":`, false) && t.optional(`"name":`, true) && t.optional(`"arguments":`, true) && t.next("}")
	}
	if ok && outer && t.key(`"result":`) {
		ok = t.next("{") && t.optional(`"call_id":`, false) && t.optional(`"name":`, true)
		if ok && t.key(`"is_error":`) {
			ok = t.next("true")
		}
		if ok && t.key(`"output":`) {
			ok = t.parts(false)
		}
		ok = ok && t.next("}")
	}
	return ok && t.next("}")
}

// next skips s.
func (t *textReader) next(s string) bool {
	if len(t.b)-t.i < len(s) || string(t.b[t.i:t.i+len(s)]) != s {
		return false
	}
	t.i += len(s)
	return true
}

// key skips a key and the comma before it, which the first key of an object does
// not have.
func (t *textReader) key(k string) bool {
	from := t.i
	if from > 0 && t.b[from-1] != '{' && !t.next(",") {
		return false
	}
	if !t.next(k) {
		t.i = from
		return false
	}
	return true
}

// optional reads a member whose value is a string, if it is there.
func (t *textReader) optional(k string, keep bool) bool { return !t.key(k) || t.str(keep) }

// str reads a string. With keep it becomes a line of the text, if it is not
// empty.
func (t *textReader) str(keep bool) bool {
	if !t.next(`"`) {
		return false
	}
	end, from := len(t.dst), len(t.dst)
	if keep && end > t.base {
		t.dst = append(t.dst, '\n')
		from++
	}
	for {
		i := plainRun(t.b, t.i)
		if i >= len(t.b) || t.b[i] < ' ' {
			return false
		}
		if keep {
			t.dst = append(t.dst, t.b[t.i:i]...)
		}
		t.i = i + 1
		if t.b[i] == '"' {
			break
		}
		n := escapeLen(t.b[i:])
		if n == 0 {
			return false
		}
		if t.i = i + n; !keep {
			continue
		}
		if n == 2 {
			t.dst = append(t.dst, unescaped[t.b[i+1]])
			continue
		}
		if r := jsonstring.Hex4(t.b[i+2:]); r >= 0xd800 && r < 0xe000 {
			return false // half of a pair
		}
		t.dst = unescape(t.dst, t.b[i:t.i])
	}
	if len(t.dst) == from {
		t.dst = t.dst[:end]
	}
	return true
}

// unescaped is the byte that each escape of two characters stands for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Lacks reports that the search text of a JSON record does not contain a
// literal, without decoding the record. It is false where only the decoder can
// tell.
func Lacks(f llms.Format, record, literal []byte) bool {
	part := sameInJSON(literal)
	return len(part) > 1 && !bytes.Contains(record, part) && !disguised(f, record)
}

// sameInJSON returns the longest part of a text that a string of JSON has in the
// same bytes, unless it spells characters as \u and four digits.
func sameInJSON(text []byte) (longest []byte) {
	for part := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == '/' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// disguised reports that a record may spell printable characters with escapes or
// hold text in base64, or that its text has parts which the record has apart.
func disguised(f llms.Format, record []byte) bool {
	if bytes.Contains(record, []byte("base64")) || f == llms.FormatLCM && bytes.Contains(record, []byte(`"blob"`)) ||
		f == llms.FormatCodex && bytes.Contains(record, []byte("namespace")) {
		return true
	}
	for {
		i := bytes.Index(record, []byte(`\u`))
		if i < 0 {
			return false
		}
		record = record[i+2:]
		if !bytes.HasPrefix(record, []byte("000")) && !bytes.HasPrefix(record, []byte("001")) {
			return true // not a control character
		}
	}
}
