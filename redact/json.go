package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// maxNesting is how many layers of JSON inside strings of JSON are looked
// into. Tool arguments are one; a transcript in a transcript is two.
const maxNesting = 4

// Strings calls yield with what every string of a JSON text says, names of
// fields included, and with the text itself if it is not JSON. A string that
// holds JSON or base64 of a text is followed by what is in there.
func Strings(raw []byte, yield func(text []byte)) {
	edit := func(text []byte) []byte {
		yield(text)
		return nil
	}
	if !json.Valid(raw) {
		yield(raw)
		return
	}
	rewriteJSON(raw, edit, 0)
}

// rewriteJSON applies edit to the strings of a JSON text and returns the text
// with those that edit replaced written anew, or nil if there were none. edit
// returns nil for a string that stays as it is.
func rewriteJSON(raw []byte, edit func([]byte) []byte, depth int) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := literalEnd(raw, i)
		if end < 0 {
			break // not JSON after all
		}
		if changed := rewriteLiteral(raw[i:end], edit, depth); changed != nil {
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

func rewriteLiteral(lit []byte, edit func([]byte) []byte, depth int) []byte {
	text := lit[1 : len(lit)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if json.Unmarshal(lit, &s) != nil {
			return nil
		}
		text = []byte(s)
	}
	changed := rewriteText(text, edit, depth)
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

// rewriteText applies edit to a text: to what is in it where it is JSON or
// base64 of a text, then to the text as a whole. JSON stays JSON: its own
// strings are edited, and the whole only where that leaves it JSON.
func rewriteText(text []byte, edit func([]byte) []byte, depth int) []byte {
	var changed []byte
	nested := depth < maxNesting && looksJSON(text) && json.Valid(text)
	switch {
	case nested:
		changed = rewriteJSON(text, edit, depth+1)
	case depth < maxNesting:
		changed = rewriteBase64(text, edit, depth+1)
	}
	now := text
	if changed != nil {
		now = changed
	}
	if whole := edit(now); whole != nil && (!nested || json.Valid(whole)) {
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

// minBase64 is how long base64 must be to be looked into: shorter runs of its
// alphabet are words, ids and hashes.
const minBase64 = 64

// rewriteBase64 edits the text that a string, or the data of a data: address,
// is the base64 of.
func rewriteBase64(text []byte, edit func([]byte) []byte, depth int) []byte {
	prefix := 0
	if bytes.HasPrefix(text, []byte("data:")) {
		if n := bytes.Index(text[:min(len(text), 256)], []byte(";base64,")); n > 0 {
			prefix = n + len(";base64,")
		}
	}
	body := text[prefix:]
	if len(body) < minBase64 || len(body)%4 != 0 || !isBase64(body) {
		return nil
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Strict().Decode(data, body)
	if err != nil || !utf8.Valid(data[:n]) || bytes.IndexByte(data[:n], 0) >= 0 {
		return nil
	}
	changed := rewriteText(data[:n], edit, depth)
	if changed == nil {
		return nil
	}
	return base64.StdEncoding.AppendEncode(bytes.Clone(text[:prefix]), changed)
}

func isBase64(text []byte) bool {
	for _, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '=') {
			return false
		}
	}
	return true
}
