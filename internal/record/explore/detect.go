package explore

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// detect returns the kind of a payload. The bytes say whether it is text; the kind
// of text comes from the name, the media type and the bytes, in that order.
func detect(name, mimeType string, data []byte) kind {
	head := data[:min(len(data), 64<<10)]
	if len(bytes.TrimSpace(head)) == 0 && len(head) == len(data) {
		return named("empty")
	}
	if !isText(head) {
		if strings.HasPrefix(http.DetectContentType(head), "image/") {
			return named("image")
		}
		return named("binary")
	}
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(strings.ReplaceAll(name, `\`, "/")), "."))
	typ, _, _ := mime.ParseMediaType(mimeType)
	if _, suffix, ok := strings.Cut(typ, "+"); ok {
		typ = "application/" + suffix
	}
	told := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(strings.Fields(k.extensions), ext) })
	if told < 0 {
		told = slices.IndexFunc(kinds, func(k kind) bool {
			return typ != "" && typ != "text/plain" && (k.mime == typ || slices.Contains(strings.Fields(k.types), typ))
		})
	}
	if told >= 0 && kinds[told].name != "json" && kinds[told].name != "text" {
		return kinds[told]
	}
	// The bytes say more than .json and .txt do.
	k := sniff(head)
	if told >= 0 && k.name != "jsonl" && (kinds[told].name == "json" || k.name != "log" && k.name != "json") {
		return kinds[told]
	}
	return k
}

func named(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// isText reports whether the head of a payload is mostly text.
func isText(head []byte) bool {
	bad := 0
	for _, r := range string(head) {
		if r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\n\r\t\f\b\x1b", r) {
			bad++
		}
	}
	return bytes.IndexByte(head, 0) < 0 && bad*20 <= len(head)
}

// sniff tells the kind of a text from its first lines.
func sniff(head []byte) kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	var first [][]byte
	for n, line := range lines(text) {
		if n > 40 {
			break
		}
		first = append(first, line[:min(len(line), maxLine)])
	}
	best, most := named("text"), 1
	for _, k := range kinds {
		score := 0
		for _, line := range first {
			if k.sign != nil && k.sign().Match(line) {
				score++
			}
		}
		if score > most && (!k.mostly || score >= 3 && 2*score > len(first)) {
			best, most = k, score
		}
	}
	low := bytes.ToLower(text[:min(len(text), 400)])
	switch {
	case best.name != "text":
		return best
	case bytes.Contains(low, []byte("<!doctype html")), bytes.Contains(low, []byte("<html")):
		return named("html")
	case bytes.HasPrefix(low, []byte("<?xml")), element().Match(low) && bytes.Contains(text, []byte("</")):
		return named("xml")
	case len(first) > 1 && isObject(first[0]) && isObject(first[1]):
		return named("jsonl")
	case looksLikeJSON(text):
		return named("json")
	case looksLikeTable(first, "\t"):
		return named("tsv")
	case looksLikeTable(first, ","):
		return named("csv")
	}
	return best
}

// element begins an XML text without a declaration.
var element = lazyregexp.New(`^<[a-z][\w:.-]*(?:\s|/?>)`)

func isObject(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte{'{'}) && bytes.HasSuffix(line, []byte{'}'})
}

func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) > 0 && (text[0] == '{' && bytes.IndexByte([]byte(`"}`), rest[0]) >= 0 ||
		text[0] == '[' && bytes.IndexByte([]byte(`"{[]-0123456789tfn`), rest[0]) >= 0)
}

// looksLikeTable reports lines with the same number of separators.
func looksLikeTable(lines [][]byte, sep string) bool {
	if len(lines) < 3 {
		return false
	}
	want := bytes.Count(lines[0], []byte(sep))
	return want > 0 && !slices.ContainsFunc(lines[:min(len(lines), 12)], func(l []byte) bool { return bytes.Count(l, []byte(sep)) != want })
}
