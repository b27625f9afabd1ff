// Package explore says what is in a payload that is too large to be shown: a
// few hundred tokens from which a reader can tell whether to open it, and
// where.
//
// [Explore] looks at the name, the media type and the bytes, decides what
// kind of thing it is, and describes it the way that suits the kind: the
// shape of JSON, the columns of a table, the levels, time span and first
// errors of a log, the signatures of source code, the outline of a document,
// the dimensions of an image, the first bytes of anything else. No model is
// asked.
//
// Payloads are untrusted. Explore never panics and never fails; what it
// cannot parse it describes as far as it got. A summary holds no control
// characters and no invalid UTF-8, but quotes the payload: whoever shows it
// to a model labels it as quoted. The work is linear in the payload, with
// everything but counting done on samples, and the same bytes give the same
// summary.
package explore

import (
	"bytes"
	"mime"
)

// Report describes a payload.
type Report struct {
	// Kind is what the payload was taken for: json, jsonl, csv, tsv, log, go,
	// python, javascript, typescript, rust, markdown, text, xml, html, yaml,
	// toml, image, binary or empty.
	Kind string
	// MIME is the media type: the one given, or what the name and the bytes
	// suggest.
	MIME string
	// Lines is how many lines the payload has, zero if it is not text.
	Lines int
	// Summary is the description, one or more lines without a newline at the
	// end.
	Summary string
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

// Option adjusts an exploration.
type Option func(*explorer)

// Limit bounds the summary to about that many tokens. The default is 300.
func Limit(tokens int) Option {
	return func(e *explorer) { e.limit = max(tokens, 20) }
}

// explorer is one exploration under way.
type explorer struct {
	data  []byte
	lines int
	limit int
	out   notes
}

// Explore describes data. The name and the media type may be empty or wrong;
// what the bytes say decides where they disagree about being text.
func Explore(name, mimeType string, data []byte, options ...Option) Report {
	e := &explorer{data: data, limit: 300}
	for _, o := range options {
		o(e)
	}
	kind := detect(name, mimeType, data)
	if kind != kindBinary && kind != kindImage {
		e.lines = countLines(data)
	}
	e.out.limit = e.limit
	e.describe(kind)
	return Report{Kind: kind, MIME: mediaType(kind, name, mimeType, data), Lines: e.lines, Summary: e.out.String()}
}

func (e *explorer) describe(kind string) {
	switch kind {
	case kindEmpty:
		e.out.add("empty")
	case kindJSON:
		e.json()
	case kindJSONL:
		e.jsonl()
	case kindCSV:
		e.table(',')
	case kindTSV:
		e.table('\t')
	case kindLog:
		e.log()
	case kindGo, kindPython, kindJavaScript, kindTypeScript, kindRust:
		e.code(kind)
	case kindMarkdown:
		e.markdown()
	case kindXML, kindHTML:
		e.markup(kind)
	case kindYAML, kindTOML:
		e.keys(kind)
	case kindImage:
		e.image()
	case kindBinary:
		e.binary()
	default:
		e.text()
	}
}

// title writes the first line of a summary: what it is and how large.
func (e *explorer) title(what string) {
	s := what + ", "
	if e.lines > 0 {
		s += plural(e.lines, "line") + ", "
	}
	e.out.add(s + size(len(e.data)))
}

func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// mediaType settles on a media type without parameters.
func mediaType(kind, name, given string, data []byte) string {
	if t, _, err := mime.ParseMediaType(given); err == nil {
		return clean(t)
	}
	switch kind {
	case kindImage:
		return imageType[imageFormat(data)]
	case kindBinary:
		if m, ok := findMagic(data); ok && m.mime != "" {
			return m.mime
		}
	}
	if t := extensionType[extension(name)]; t != "" {
		return t
	}
	return kindType[kind]
}
