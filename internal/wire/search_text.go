package wire

import (
	"bytes"

	"github.com/lossless-context/lcm/llms"
)

// AppendSearchText appends the search text of a record to dst. The text is that
// of Decode and SearchText, and so is the error. A record of the lcm shape with
// nothing but texts, calls and results is not decoded: decoding took 62 % of the
// time of a search that reads every text.
func AppendSearchText(dst []byte, f llms.Format, role llms.Role, record []byte) ([]byte, error) {
	if f == llms.FormatLCM && Check(record) == nil {
		env := readEnvelope(record)
		t := textReader{dst: dst, base: len(dst)}
		if _, err := env.message(lcmRoles); err == nil && string(env.version) == "1" && env.meta == nil && t.parts(env.parts, 0) {
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
	dst  []byte // the texts, one in a line
	base int    // where they begin
}

func (t *textReader) parts(list []byte, depth int) bool {
	if len(list) == 0 || list[0] != '[' || depth > 1 {
		return false
	}
	for part := range Elements(list) {
		s := [...]slot{{name: "kind"}, {name: "text"}, {name: "signature"}, {name: "call"}, {name: "result"}, {name: "blob"}, {name: "ref"}, {name: "extra_text"}}
		find(part, s[:])
		if !s[0].is('"') || s[0].str() == string(llms.PartOther) || s[5].val != nil || s[6].val != nil || s[7].val != nil {
			return false
		}
		call, result := [...]slot{{name: "name"}, {name: "arguments"}, {name: "id"}}, [...]slot{{name: "name"}, {name: "call_id"}, {name: "output"}}
		find(s[3].val, call[:])
		find(s[4].val, result[:])
		if !t.line(s[1]) || !t.line(call[0]) || !t.line(call[1]) || !t.line(result[0]) || result[2].val != nil && !t.parts(result[2].val, depth+1) {
			return false
		}
		for _, other := range []slot{s[2], call[2], result[1]} {
			if other.val != nil && !other.is('"') {
				return false
			}
		}
	}
	return true
}

// line adds a string as a line of the text, if it is there and not empty.
func (t *textReader) line(s slot) bool {
	if len(s.val) == 0 || string(s.val) == `""` {
		return true
	}
	if len(t.dst) > t.base {
		t.dst = append(t.dst, '\n')
	}
	t.dst = unescape(t.dst, s.val[1:len(s.val)-1])
	return s.is('"')
}

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
