package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is how many layers of JSON inside strings of JSON are looked
// into. Tool arguments are one; a transcript in a transcript is two.
const maxNesting = 4

// editor walks through a text and whatever is in it: the strings of JSON, and
// the texts that are there as base64.
type editor struct {
	Redactor
	with   func(text []byte, binary bool) []byte // stands for the redactor, where it is set
	counts Counts
}

// Strings calls yield with what every string of a JSON text says, names of
// fields included, and with the text itself if it is not JSON. A string that
// holds JSON or base64 of a text is followed by what is in there.
func Strings(raw []byte, yield func(text []byte)) {
	if !json.Valid(raw) {
		yield(raw)
		return
	}
	e := &editor{with: func(text []byte, binary bool) []byte {
		if !binary {
			yield(text)
		}
		return nil
	}}
	e.json(raw, 0)
}

// Rewrite calls edit with what the strings of a JSON text say, or with the text
// itself if it is not JSON, and puts what edit returns in their place; nil
// leaves one as it is. It returns nil if nothing was replaced.
func Rewrite(raw []byte, edit func(text []byte) []byte) []byte {
	return (&editor{with: func(text []byte, _ bool) []byte { return edit(text) }}).text(raw, 0)
}

// json edits the strings of a JSON text and returns the text with those that
// were replaced written anew, or nil if there were none.
func (e *editor) json(raw []byte, depth int) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		i += n
		end := literalEnd(raw, i)
		if end < 0 {
			break // not JSON after all
		}
		if changed := e.literal(raw[i:end], depth); changed != nil {
			out = append(append(out, raw[kept:i]...), changed...)
			kept = end
		}
		i = end - 1
	}
	if out == nil {
		return nil
	}
	return append(out, raw[kept:]...)
}

// literalEnd returns the end of the string literal that begins at from.
func literalEnd(raw []byte, from int) int {
	for i := from + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func (e *editor) literal(lit []byte, depth int) []byte {
	text := lit[1 : len(lit)-1]
	if at := bytes.IndexByte(text, '\\'); at >= 0 {
		var ok bool
		if text, ok = unescape(text, at); !ok {
			return nil // not JSON after all
		}
	}
	changed := e.text(text, depth)
	if changed == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(bytes.Contains(lit, []byte(`\u003c`)) || bytes.Contains(lit, []byte(`\u003C`)))
	if enc.Encode(string(changed)) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// text edits a text: what is in it where it is JSON or base64 of a text, then
// the text as a whole. JSON stays JSON: its own strings are edited, and the
// whole only where that leaves it JSON.
func (e *editor) text(text []byte, depth int) []byte {
	var changed []byte
	nested := depth < maxNesting && looksJSON(text)
	switch {
	case nested:
		// Most texts have nothing to replace: whether this one is JSON
		// matters only where something was found.
		counts := e.counts
		if changed = e.json(text, depth+1); changed != nil && !json.Valid(text) {
			changed, nested, e.counts = nil, false, counts
		}
	case depth < maxNesting:
		changed = e.base64(text, depth+1)
	}
	now := text
	if changed != nil {
		now = changed
	}
	if whole := e.edit(now, false); whole != nil && (!nested || json.Valid(whole) || !json.Valid(now)) {
		return whole
	}
	return changed
}

// unescape returns what the inside of a JSON string says, whose first escape is
// at the given place.
func unescape(text []byte, at int) ([]byte, bool) {
	out := append(make([]byte, 0, len(text)), text[:at]...)
	for i := at; i < len(text); {
		if text[i] != '\\' {
			n := bytes.IndexByte(text[i:], '\\')
			if n < 0 {
				n = len(text) - i
			}
			out = append(out, text[i:i+n]...)
			i += n
			continue
		}
		if i+1 >= len(text) {
			return nil, false
		}
		switch c := text[i+1]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n := unit(text[i:])
			if n == 0 {
				return nil, false
			}
			if utf16.IsSurrogate(r) {
				if low, m := unit(text[i+n:]); m > 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
					r, n = utf16.DecodeRune(r, low), n+m
				} else {
					r = utf8.RuneError
				}
			}
			out = utf8.AppendRune(out, r)
			i += n
			continue
		default:
			return nil, false
		}
		i += 2
	}
	return out, true
}

// unit reads the \uXXXX that a text begins with.
func unit(text []byte) (r rune, n int) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(v), 6
}

func looksJSON(text []byte) bool {
	t := bytes.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	first, last := t[0], t[len(t)-1]
	return first == '{' && last == '}' || first == '[' && last == ']' || first == '"' && last == '"'
}

// minBase64 is how long base64 must be to be looked into: as long as that of
// the shortest private block.
const minBase64 = 12

// base64 edits the content that a string, or the data of a data: address, is
// the base64 of. It reads what the shapes of package llms read: either
// alphabet, padded or not, with line breaks.
func (e *editor) base64(text []byte, depth int) []byte {
	prefix := 0
	if len(text) > 5 && bytes.EqualFold(text[:5], []byte("data:")) {
		n := bytes.IndexByte(text[:min(len(text), 1024)], ',')
		if n < 0 {
			return nil
		}
		if !bytes.HasSuffix(bytes.ToLower(text[:n]), []byte(";base64")) {
			return nil // the text itself, whose tags are found as they are spelled
		}
		prefix = n + 1
	}
	body := text[prefix:]
	encoding, compact := base64Of(body)
	if encoding == nil {
		return nil
	}
	data := make([]byte, encoding.DecodedLen(len(compact)))
	n, err := encoding.Decode(data, compact)
	if err != nil {
		return nil
	}
	changed := e.data(data[:n], depth)
	if changed == nil {
		return nil
	}
	if bytes.IndexByte(body, '=') >= 0 || len(body)%4 == 0 {
		encoding = encoding.WithPadding(base64.StdPadding)
	}
	return encoding.AppendEncode(bytes.Clone(text[:prefix]), changed)
}

// base64Of returns the encoding of a text that is base64, and the text without
// blanks and padding; nil if it is none.
func base64Of(text []byte) (*base64.Encoding, []byte) {
	if len(text) < minBase64 {
		return nil, nil
	}
	compact, encoding, blanks := text, base64.RawStdEncoding, false
	for _, c := range text {
		switch {
		case alnum[c] || c == '+' || c == '/' || c == '=':
		case c == '-' || c == '_':
			encoding = base64.RawURLEncoding
		case isBlank(c):
			blanks = true
		default:
			return nil, nil
		}
	}
	if blanks {
		compact = bytes.Join(bytes.Fields(text), nil)
	}
	return encoding, bytes.TrimRight(compact, "=")
}

// data edits the content of a file.
func (e *editor) data(data []byte, depth int) []byte {
	if order, text := fromUTF16(data); order != nil {
		if changed := e.text(text, depth); changed != nil {
			return toUTF16(order, changed)
		}
		return nil
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return e.edit(data, true)
	}
	return e.text(data, depth)
}

// fromUTF16 returns a text of UTF-16 that begins with its mark in UTF-8.
func fromUTF16(data []byte) (binary.ByteOrder, []byte) {
	var order binary.ByteOrder
	switch {
	case len(data)%2 != 0 || len(data) < 2:
		return nil, nil
	case data[0] == 0xff && data[1] == 0xfe:
		order = binary.LittleEndian
	case data[0] == 0xfe && data[1] == 0xff:
		order = binary.BigEndian
	default:
		return nil, nil
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return order, []byte(string(utf16.Decode(units)))
}

func toUTF16(order binary.ByteOrder, text []byte) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + string(text))) {
		out = append(out, 0, 0)
		order.PutUint16(out[len(out)-2:], unit)
	}
	return out
}
