// Package explore describes a payload that is too large to be shown, in a few
// hundred tokens from which a reader can tell whether to open it, and where.
//
// [Explore] finds the kind of the payload from its name, its media type and its
// bytes, and describes it accordingly: the shape of JSON, the columns of a table,
// the levels, time span and first errors of a log, the signatures of source code,
// the outline of a document, the dimensions of an image, the first bytes of
// anything else. It asks no model. A new kind is a row in the table kinds.
//
// Payloads are untrusted. Explore never panics and never fails; it describes a
// damaged payload as far as it can parse it. A summary holds no control characters
// and no invalid UTF-8, but it quotes the payload: a caller that shows it to a model
// labels it as quoted. Time is linear in the size, only counting reads all bytes,
// and the same bytes give the same summary.
package explore

import (
	"bytes"
	"cmp"
	"iter"
	"mime"
	"slices"
	"strings"
)

// Report describes a payload.
type Report struct {
	// Kind is json, jsonl, csv, tsv, log, go, python, javascript, typescript,
	// rust, markdown, text, xml, html, yaml, toml, image, binary or empty.
	Kind    string
	MIME    string // the given media type, else one that fits the name and the bytes
	Lines   int    // zero if it is not text
	Summary string // one or more lines without a newline at the end
}

// The kinds of payload.
const (
	kindJSON       = "json"
	kindJSONL      = "jsonl"
	kindCSV        = "csv"
	kindTSV        = "tsv"
	kindLog        = "log"
	kindGo         = "go"
	kindPython     = "python"
	kindJavaScript = "javascript"
	kindTypeScript = "typescript"
	kindRust       = "rust"
	kindMarkdown   = "markdown"
	kindText       = "text"
	kindXML        = "xml"
	kindHTML       = "html"
	kindYAML       = "yaml"
	kindTOML       = "toml"
	kindImage      = "image"
	kindBinary     = "binary"
	kindEmpty      = "empty"
)

// kind is a sort of payload.
type kind struct {
	name       string
	mime       string // its media type, where the name does not say more
	extensions string // of file names
	types      string // the media types of which it is told
	describe   func(*explorer)
}

// kinds is the table of all kinds.
var kinds = []kind{
	{kindEmpty, "text/plain", "", "", func(e *explorer) { e.out.add("empty") }},
	{kindText, "text/plain", "txt", "", (*explorer).text},
	{kindBinary, "application/octet-stream", "", "", (*explorer).binary},
	{kindImage, "", "", "", (*explorer).image},
	{kindJSON, "application/json", "json ipynb", "application/json", (*explorer).json},
	{kindJSONL, "application/jsonl", "jsonl ndjson", "application/jsonl application/x-ndjson application/x-jsonlines", (*explorer).jsonl},
	{kindCSV, "text/csv", "csv", "text/csv", (*explorer).csv},
	{kindTSV, "text/tab-separated-values", "tsv", "text/tab-separated-values", (*explorer).tsv},
	{kindLog, "text/plain", "log", "", (*explorer).log},
	{kindGo, "text/x-go", "go", "text/x-go", (*explorer).code},
	{kindPython, "text/x-python", "py pyi", "text/x-python", (*explorer).code},
	{kindJavaScript, "text/javascript", "js mjs cjs jsx", "text/javascript application/javascript", (*explorer).code},
	{kindTypeScript, "text/x-typescript", "ts tsx mts", "", (*explorer).code},
	{kindRust, "text/x-rust", "rs", "text/x-rust", (*explorer).code},
	{kindMarkdown, "text/markdown", "md markdown mdx", "text/markdown", (*explorer).markdown},
	{kindXML, "application/xml", "xml svg", "text/xml application/xml image/svg+xml", (*explorer).markup},
	{kindHTML, "text/html", "html htm", "text/html application/xhtml+xml", (*explorer).markup},
	{kindYAML, "application/yaml", "yaml yml", "text/yaml application/yaml application/x-yaml", (*explorer).keys},
	{kindTOML, "application/toml", "toml ini", "application/toml", (*explorer).keys},
}

// kindWith returns the first kind whose column lists a word.
func kindWith(word string, column func(kind) string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(strings.Fields(column(k)), word) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// explorer is one exploration under way.
type explorer struct {
	kind
	data  []byte
	lines int
	out   notes
}

// maxTokens is about how long a summary may be.
const maxTokens = 300

// Explore describes data. The name and the media type may be empty or wrong;
// where they disagree with the bytes about being text, the bytes decide.
func Explore(name, mimeType string, data []byte) Report {
	e := &explorer{data: data, out: notes{limit: maxTokens}}
	e.kind, _ = kindWith(detect(name, mimeType, data), func(k kind) string { return k.name })
	if e.name != kindBinary && e.name != kindImage {
		e.lines = countLines(data)
	}
	e.describe(e)
	return Report{Kind: e.name, MIME: e.mediaType(name, mimeType), Lines: e.lines, Summary: e.out.String()}
}

// title writes the first line of a summary: the sort of the payload and its size.
func (e *explorer) title(sort string) {
	s := sort + ", "
	if e.lines > 0 {
		s += plural(e.lines, "line") + ", "
	}
	e.out.add(s + size(len(e.data)))
}

// lines iterates over the lines of data with their numbers, from 1.
func lines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if !yield(n, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})) {
				return
			}
		}
	}
}

func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// mediaType settles on a media type without parameters.
func (e *explorer) mediaType(name, given string) string {
	if t, _, err := mime.ParseMediaType(given); err == nil {
		return clean(t)
	}
	switch e.name {
	case kindImage:
		return imageType[imageFormat(e.data)]
	case kindBinary:
		if m, ok := findMagic(e.data); ok && m.mime != "" {
			return m.mime
		}
	}
	return cmp.Or(extensionType[extension(name)], e.mime)
}

// extensionType has the file names that say more than the kind.
var extensionType = map[string]string{
	"svg": "image/svg+xml", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar",
	"mp3": "audio/mpeg", "mp4": "video/mp4", "wav": "audio/wav", "ogg": "audio/ogg", "woff": "font/woff", "woff2": "font/woff2",
}
