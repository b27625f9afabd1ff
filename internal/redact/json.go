package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/jsonstring"
)

// maxNesting is how many levels of JSON inside strings of JSON are decoded. Tool
// arguments are one; a transcript in a transcript is two.
const maxNesting = 4

// editor edits a text and the texts nested in it: strings of JSON, and base64.
type editor struct {
	Redactor
	with   func(text []byte, binary bool) []byte // replaces the redactor, if set
	counts Counts
}

// Strings calls yield with every decoded string of a JSON text, field names
// included, or with the text itself if it is not JSON. The texts nested in a
// string, as JSON or base64, come before it.
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

// Rewrite calls edit with the decoded strings of a JSON text, or with the text
// itself if it is not JSON, and replaces them with the results; nil keeps one.
// It returns nil if nothing changed.
func Rewrite(raw []byte, edit func(text []byte) []byte) []byte {
	return (&editor{with: func(text []byte, _ bool) []byte { return edit(text) }}).text(raw, 0)
}

// json edits the strings of a JSON text. It rewrites only the changed literals,
// and returns nil if there are none.
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
			break // not JSON
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
	if bytes.IndexByte(text, '\\') >= 0 {
		var ok bool
		if text, ok = jsonstring.Unescape(make([]byte, 0, len(text)), text); !ok {
			return nil // not JSON
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

// text edits the texts nested in a text (JSON or base64), then the text itself.
// An edit of the whole counts only if JSON stays JSON.
func (e *editor) text(text []byte, depth int) []byte {
	var changed []byte
	nested := depth < maxNesting && looksJSON(text)
	switch {
	case nested:
		// Most texts have no finding, so validity is checked only after one.
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

func looksJSON(text []byte) bool {
	t := bytes.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	first, last := t[0], t[len(t)-1]
	return first == '{' && last == '}' || first == '[' && last == ']' || first == '"' && last == '"'
}

// minBase64 is the least length of base64 that is decoded: that of the shortest
// private block.
const minBase64 = 12

// base64 edits content that is encoded in base64, as a string or as a data: URL.
// It accepts the same forms as package llms: either alphabet, padded or not, with
// line breaks.
func (e *editor) base64(text []byte, depth int) []byte {
	prefix := 0
	if len(text) > 5 && bytes.EqualFold(text[:5], []byte("data:")) {
		n := bytes.IndexByte(text[:min(len(text), 1024)], ',')
		if n < 0 {
			return nil
		}
		if !bytes.HasSuffix(bytes.ToLower(text[:n]), []byte(";base64")) {
			return nil // a plain text: edit finds its tags
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

// base64Of returns the encoding of a base64 text, and the text without blanks and
// padding; nil if it is not base64.
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

// fromUTF16 converts UTF-16 with a byte order mark to UTF-8.
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
