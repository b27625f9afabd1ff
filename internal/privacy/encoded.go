package privacy

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"
)

// minBase64 is the least length of base64 that is decoded: that of the shortest
// private block.
const minBase64 = 12

// base64 edits the content that a text has in base64: all of it, perhaps over
// several lines, or runs in it, as in a sentence or a data: URL. It accepts the same
// forms as package llms: either alphabet, padded or not.
func (e *editor) base64(text []byte, depth int) []byte {
	if end := runEnd(text, 0); end > minBase64 && end < len(text) && isBlank(text[end]) {
		if compact := bytes.Join(bytes.Fields(text), nil); runEnd(compact, 0) == len(compact) {
			if changed := e.run64(compact, depth); changed != nil {
				return changed
			}
		}
	}
	var out []byte
	kept := 0
	for i := 0; i < len(text); i++ {
		if !urlsafe[text[i]] && text[i] != '+' && text[i] != '/' {
			continue
		}
		end := runEnd(text, i)
		if block := blockEnd(text, i, end); block > end {
			if changed := e.run64(bytes.Join(bytes.Fields(text[i:block]), nil), depth); changed != nil {
				out = append(append(out, text[kept:i]...), changed...)
				kept, i = block, block-1
				continue
			}
		}
		if end-i >= minBase64 {
			if changed := e.run64(text[i:end], depth); changed != nil {
				out = append(append(out, text[kept:i]...), changed...)
				kept = end
			}
		}
		i = end - 1
	}
	if out == nil {
		return nil
	}
	return append(out, text[kept:]...)
}

// blockEnd returns the end of the lines of base64 or hexadecimal digits of which a run is the
// first: all are as long as it, and the last may be shorter. It is the end of the run if there is
// no other line.
func blockEnd(text []byte, from, end int) int {
	width := end - from
	if width < minBase64 || from > 0 && !isBlank(text[from-1]) {
		return end
	}
	for n := width; n == width; {
		next := end
		if next < len(text) && text[next] == '\r' {
			next++
		}
		if next == len(text) || text[next] != '\n' {
			return end
		}
		last := runEnd(text, next+1)
		if n = last - next - 1; n == 0 || n > width || last < len(text) && text[last] != '\n' && text[last] != '\r' {
			return end
		}
		end = last
	}
	return end
}

// runEnd returns the end of the characters of base64 from i on, with padding.
func runEnd(text []byte, i int) int {
	for i < len(text) && (urlsafe[text[i]] || text[i] == '+' || text[i] == '/') {
		i++
	}
	for n := 0; n < 2 && i < len(text) && text[i] == '='; n++ {
		i++
	}
	return i
}

// run64 edits content in base64 or hexadecimal digits.
func (e *editor) run64(run []byte, depth int) []byte {
	if data, err := hex.DecodeString(string(run)); err == nil {
		if changed := e.data(data, depth); changed != nil {
			return hex.AppendEncode(nil, changed)
		}
	}
	body := bytes.TrimRight(run, "=")
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(body, "-_") {
		encoding = base64.RawURLEncoding
	}
	data := make([]byte, encoding.DecodedLen(len(body)))
	n, err := encoding.Decode(data, body)
	if err != nil {
		return nil
	}
	changed := e.data(data[:n], depth)
	if changed == nil {
		return nil
	}
	if len(run)%4 == 0 {
		encoding = encoding.WithPadding(base64.StdPadding)
	}
	return encoding.AppendEncode(nil, changed)
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

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
