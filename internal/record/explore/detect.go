package explore

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// sniffBytes is how much of a payload is looked at to tell its kind.
const sniffBytes = 64 << 10

// detect returns the kind of a payload. The bytes say whether it is text; the kind
// of text comes from the name, the media type and the bytes, in that order.
func detect(name, mimeType string, data []byte) string {
	head := data[:min(len(data), sniffBytes)]
	if len(head) == len(data) && len(bytes.TrimSpace(data)) == 0 {
		return kindEmpty
	}
	if imageFormat(head) != "" {
		return kindImage
	}
	if !isText(head) {
		return kindBinary
	}
	if k, ok := kindWith(extension(name), func(k kind) string { return k.extensions }); ok {
		return refine(k.name, head)
	}
	if kind := mimeKind(mimeType); kind != "" {
		return refine(kind, head)
	}
	return sniff(head)
}

// refine corrects a kind that the bytes contradict: JSON that is one object a
// line, or a log in a file called .txt.
func refine(name string, head []byte) string {
	if name != kindJSON && name != kindText {
		return name
	}
	s := sniff(head)
	if s == kindJSONL || name == kindText && (s == kindLog || s == kindJSON) {
		return s
	}
	return name
}

// extension is the last part of a file name after a dot, in lower case.
func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, `\`, "/")), "."))
}

func mimeKind(mimeType string) string {
	t, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	if k, ok := kindWith(t, func(k kind) string { return k.types }); ok {
		return k.name
	}
	switch {
	case strings.HasSuffix(t, "+json"):
		return kindJSON
	case strings.HasSuffix(t, "+xml"):
		return kindXML
	}
	return "" // text/plain says nothing
}

// isText reports whether the head of a payload is mostly text.
func isText(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	bad := 0
	for i := 0; i < len(head); {
		b := head[i]
		if b < utf8.RuneSelf {
			if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b && b != '\b' {
				bad++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && i+utf8.UTFMax <= len(head) {
			bad++
		}
		i += n
	}
	return bad*20 <= len(head)
}

// sniff tells the kind of a text from its first lines.
func sniff(head []byte) string {
	text := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 {
		return kindText
	}
	first := firstLines(text, 40)
	switch text[0] {
	case '{', '[':
		if looksLikeJSONL(first) {
			return kindJSONL
		}
		if looksLikeJSON(text) {
			return kindJSON
		}
	case '<':
		low := bytes.ToLower(text[:min(len(text), 400)])
		switch {
		case bytes.Contains(low, []byte("<!doctype html")), bytes.Contains(low, []byte("<html")):
			return kindHTML
		case bytes.HasPrefix(low, []byte("<?xml")), looksLikeTag(low):
			return kindXML
		}
	}
	if looksLikeLog(first) {
		return kindLog
	}
	if kind := sniffCode(first); kind != "" {
		return kind
	}
	headings := 0
	for _, l := range first {
		headings += min(headingLevel(l), 1)
	}
	switch {
	case headings >= 2:
		return kindMarkdown
	case looksLikeTable(first, '\t'):
		return kindTSV
	case looksLikeTable(first, ','):
		return kindCSV
	}
	return kindText
}

func firstLines(text []byte, most int) (first [][]byte) {
	for n, line := range lines(text) {
		if n > most {
			break
		}
		first = append(first, line)
	}
	return first
}

func looksLikeJSONL(lines [][]byte) bool {
	objects := 0
	for _, l := range lines[:min(len(lines), 3)] {
		l = bytes.TrimSpace(l)
		if len(l) < 2 || l[0] != '{' || l[len(l)-1] != '}' {
			break
		}
		objects++
	}
	return objects >= 2
}

func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	if len(rest) == 0 {
		return false
	}
	if text[0] == '{' {
		return rest[0] == '"' || rest[0] == '}'
	}
	return bytes.IndexByte([]byte(`"{[]-0123456789tfn`), rest[0]) >= 0 && !looksLikeLog(firstLines(text, 5))
}

func looksLikeTag(low []byte) bool {
	return len(low) > 3 && low[1] >= 'a' && low[1] <= 'z' && bytes.IndexByte(low, '>') > 0
}

// looksLikeTable reports lines with the same number of separators.
func looksLikeTable(lines [][]byte, sep byte) bool {
	if len(lines) < 3 || bytes.IndexByte(lines[0], sep) < 0 {
		return false
	}
	want := bytes.Count(lines[0], []byte{sep})
	same := 0
	for _, l := range lines[:min(len(lines), 12)] {
		if bytes.Count(l, []byte{sep}) == want && len(l) < 2000 {
			same++
		}
	}
	return same*10 >= min(len(lines), 12)*9
}
