package explore

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"
)

// sniffBytes is how much of a payload is looked at to tell its kind.
const sniffBytes = 64 << 10

// detect tells the kind of a payload: that it is text or not from its bytes,
// then what text from its name, its media type and its bytes, in that order.
func detect(name, mimeType string, data []byte) string {
	if len(bytes.TrimSpace(data[:min(len(data), sniffBytes)])) == 0 && len(data) <= sniffBytes {
		return kindEmpty
	}
	head := data[:min(len(data), sniffBytes)]
	if imageFormat(head) != "" {
		return kindImage
	}
	if !isText(head) {
		return kindBinary
	}
	if kind := extensionKind[extension(name)]; kind != "" {
		return refine(kind, head)
	}
	if kind := mimeKind(mimeType); kind != "" {
		return refine(kind, head)
	}
	return sniff(head)
}

// refine corrects a kind that the bytes contradict: JSON that is one object a
// line, or prose in a file called .json.
func refine(kind string, head []byte) string {
	switch kind {
	case kindJSON:
		if s := sniff(head); s == kindJSONL {
			return s
		}
	case kindText:
		if s := sniff(head); s == kindLog || s == kindJSON || s == kindJSONL {
			return s
		}
	}
	return kind
}

// extension is the last part of a name, in small letters, without the dot.
func extension(name string) string {
	if i := strings.LastIndexAny(name, "/\\"); i >= 0 {
		name = name[i+1:]
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return ""
	}
	return strings.ToLower(name[i+1:])
}

func mimeKind(mimeType string) string {
	t, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	switch t {
	case "application/json":
		return kindJSON
	case "application/jsonl", "application/x-ndjson", "application/x-jsonlines":
		return kindJSONL
	case "text/csv":
		return kindCSV
	case "text/tab-separated-values":
		return kindTSV
	case "text/markdown":
		return kindMarkdown
	case "text/html", "application/xhtml+xml":
		return kindHTML
	case "text/xml", "application/xml", "image/svg+xml":
		return kindXML
	case "text/yaml", "application/yaml", "application/x-yaml":
		return kindYAML
	case "application/toml":
		return kindTOML
	case "text/javascript", "application/javascript":
		return kindJavaScript
	case "text/x-python":
		return kindPython
	case "text/x-go":
		return kindGo
	case "text/x-rust":
		return kindRust
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
	lines := firstLines(text, 40)
	switch text[0] {
	case '{', '[':
		if looksLikeJSONL(lines) {
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
	if looksLikeLog(lines) {
		return kindLog
	}
	if kind := sniffCode(lines); kind != "" {
		return kind
	}
	if headings(lines) >= 2 {
		return kindMarkdown
	}
	switch {
	case looksLikeTable(lines, '\t'):
		return kindTSV
	case looksLikeTable(lines, ','):
		return kindCSV
	}
	return kindText
}

func firstLines(text []byte, n int) [][]byte {
	var lines [][]byte
	for len(lines) < n && len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		lines = append(lines, bytes.TrimRight(line, "\r"))
		text = rest
	}
	return lines
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
	if len(lines) < 3 {
		return false
	}
	want := bytes.Count(lines[0], []byte{sep})
	if want == 0 {
		return false
	}
	same := 0
	for _, l := range lines[:min(len(lines), 12)] {
		if bytes.Count(l, []byte{sep}) == want && len(l) < 2000 {
			same++
		}
	}
	return same*10 >= min(len(lines), 12)*9
}

func headings(lines [][]byte) int {
	n := 0
	for _, l := range lines {
		if headingLevel(l) > 0 {
			n++
		}
	}
	return n
}

var extensionKind = map[string]string{
	"json": kindJSON, "ipynb": kindJSON, "jsonl": kindJSONL, "ndjson": kindJSONL, "csv": kindCSV, "tsv": kindTSV, "log": kindLog,
	"go": kindGo, "py": kindPython, "pyi": kindPython, "js": kindJavaScript, "mjs": kindJavaScript, "cjs": kindJavaScript, "jsx": kindJavaScript,
	"ts": kindTypeScript, "tsx": kindTypeScript, "mts": kindTypeScript, "rs": kindRust, "md": kindMarkdown, "markdown": kindMarkdown, "mdx": kindMarkdown,
	"txt": kindText, "xml": kindXML, "svg": kindXML, "html": kindHTML, "htm": kindHTML, "yaml": kindYAML, "yml": kindYAML, "toml": kindTOML, "ini": kindTOML,
}

// kindType is the media type of a kind, where the name does not say more.
var kindType = map[string]string{
	kindJSON: "application/json", kindJSONL: "application/jsonl", kindCSV: "text/csv", kindTSV: "text/tab-separated-values", kindLog: "text/plain",
	kindGo: "text/x-go", kindPython: "text/x-python", kindJavaScript: "text/javascript", kindTypeScript: "text/x-typescript", kindRust: "text/x-rust",
	kindMarkdown: "text/markdown", kindText: "text/plain", kindXML: "application/xml", kindHTML: "text/html", kindYAML: "application/yaml",
	kindTOML: "application/toml", kindBinary: "application/octet-stream", kindEmpty: "text/plain",
}

// extensionType has the names that say more than the kind.
var extensionType = map[string]string{
	"svg": "image/svg+xml", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar",
	"mp3": "audio/mpeg", "mp4": "video/mp4", "wav": "audio/wav", "ogg": "audio/ogg", "woff": "font/woff", "woff2": "font/woff2",
}
