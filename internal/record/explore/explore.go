// Package explore describes a payload that is too large to be shown, in a few
// hundred tokens from which a reader can tell whether to open it, and where.
//
// [Explore] finds the kind of the payload from its name, its media type and its
// bytes. A kind is a row in the table kinds: most list the lines that a reader looks
// for (declarations, headings, keys, failures) with their numbers; JSON shows its
// shape, a table its columns, an image its dimensions. It asks no model.
//
// Payloads are untrusted. Explore never panics and never fails; it describes a
// damaged payload as far as it can parse it. A summary holds no control characters
// and no invalid UTF-8, but it quotes the payload: a caller that shows it to a model
// labels it as quoted. Time is linear in the size, and the same bytes give the same
// summary.
package explore

import (
	"bytes"
	"cmp"
	"iter"
	"mime"
	"net/http"
	"regexp"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Report describes a payload.
type Report struct {
	// Kind is json, jsonl, csv, tsv, log, go, python, javascript, typescript,
	// rust, sql, diff, markdown, text, xml, html, yaml, toml, image, binary or empty.
	Kind    string
	MIME    string // the given media type, else one that fits the name and the bytes
	Lines   int    // zero if it is not text
	Summary string // one or more lines without a newline at the end
}

// kind is a sort of payload.
type kind struct {
	name       string
	title      string
	mime       string // its media type
	extensions string // of file names
	types      string // other media types that name it
	describe   func(*explorer)
	found      string                // what outline finds, as a noun
	outline    func() *regexp.Regexp // the lines that a reader looks for
	sign       func() *regexp.Regexp // lines that tell the kind of a text without a name
	mostly     bool                  // other texts have such lines too: three lines, and most of the first, must be
}

// kinds is the table of all kinds. Of two that fit a text as well, the first is taken.
var kinds = []kind{
	{name: "text", title: "text", mime: "text/plain", extensions: "txt", describe: (*explorer).excerpt},
	{name: "empty", title: "empty", mime: "text/plain", describe: func(*explorer) {}},
	{name: "binary", title: "binary data", mime: "application/octet-stream", describe: (*explorer).binary},
	{name: "image", title: "image", describe: (*explorer).image},
	{name: "json", title: "JSON", mime: "application/json", extensions: "json ipynb", describe: (*explorer).json},
	{name: "jsonl", title: "JSON lines", mime: "application/jsonl", extensions: "jsonl ndjson", types: "application/x-ndjson application/x-jsonlines",
		describe: (*explorer).jsonl},
	{name: "csv", title: "CSV", mime: "text/csv", extensions: "csv", describe: (*explorer).table},
	{name: "tsv", title: "TSV", mime: "text/tab-separated-values", extensions: "tsv", describe: (*explorer).table},
	{name: "log", title: "log", mime: "text/plain", extensions: "log", found: "failure",
		outline: lazyregexp.New(`\b(?:FATAL|PANIC|CRITICAL|EMERG|ERROR|SEVERE|FAIL|fatal|panic|error|Error|failed|Traceback)\b|Exception`),
		sign:    lazyregexp.New(`^[\["( ]*(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|time=|(?:ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\b)`), mostly: true},
	{name: "go", title: "Go source", mime: "text/x-go", extensions: "go", found: "declaration",
		outline: lazyregexp.New(`^(?:package|func|type|const|var) `),
		sign:    lazyregexp.New(`^(?:package \w+$|func .*\{$|import ["(])`)},
	{name: "python", title: "Python source", mime: "text/x-python", extensions: "py pyi", found: "declaration",
		outline: lazyregexp.New(`^(?:async )?(?:def|class) `),
		sign:    lazyregexp.New(`^(?:(?:def|class) .*:$|from \S+ import |import [\w.]+$)`)},
	{name: "rust", title: "Rust source", mime: "text/x-rust", extensions: "rs", found: "declaration",
		outline: lazyregexp.New(`^(?:(?:pub(?:\(\w+\))?|async|unsafe|const|extern "C") )*(?:(?:fn|struct|enum|trait|impl|mod|type|const|static|macro_rules!|union) |impl<)`),
		sign:    lazyregexp.New(`^(?:use .*;$|(?:pub )?fn )`)},
	{name: "javascript", title: "JavaScript source", mime: "text/javascript", extensions: "js mjs cjs jsx", types: "application/javascript", found: "declaration",
		outline: lazyregexp.New(`^(?:(?:export|default|async) )*(?:(?:function\*?|class) |module\.exports|(?:const|let|var) .*(?:=>|= function|= async|= class))`),
		sign:    lazyregexp.New(`^(?:import .* from |const .*require\(|(?:export )?(?:async )?function )`)},
	{name: "typescript", title: "TypeScript source", mime: "text/x-typescript", extensions: "ts tsx mts", found: "declaration",
		outline: lazyregexp.New(`^(?:(?:export|default|declare|abstract|async) )*(?:(?:function\*?|class|interface|type|enum|namespace) |(?:const|let|var) .*(?:=>|= function|= async|= class))`),
		// It also has the signs of JavaScript: one line more tells them apart.
		sign: lazyregexp.New(`^(?:import .* from |const .*require\(|(?:export )?(?:async )?function |(?:export )?(?:declare |abstract )?(?:interface|type|enum|class) \w)|` +
			`[\w)\]]\??: (?:string|number|boolean|void|any|unknown|never|Promise<|\w+\[\])`)},
	{name: "sql", title: "SQL", mime: "application/sql", extensions: "sql ddl", found: "statement",
		outline: lazyregexp.New(`(?i)^\s*(?:create|alter|drop|insert|update|delete|select|with|grant|copy|begin|commit)\b`),
		sign: lazyregexp.New(`(?i)^\s*(?:create (?:or replace )?(?:temp\w* |unique )?(?:table|index|view|function|trigger|type|schema)|` +
			`insert into|alter table|drop (?:table|index|view)|select .* from|update \S+ set|delete from)\b`)},
	{name: "diff", title: "diff", mime: "text/x-diff", extensions: "diff patch", found: "file or hunk",
		outline: lazyregexp.New(`^(?:\+\+\+ |@@ -)`),
		sign:    lazyregexp.New(`^(?:diff --git |index [0-9a-f]{7,}\.\.|--- \S|\+\+\+ \S|@@ -\d)`)},
	{name: "markdown", title: "Markdown", mime: "text/markdown", extensions: "md markdown mdx", found: "heading",
		outline: lazyregexp.New(`^#{1,6} \S`), sign: lazyregexp.New(`^#{1,6} \S`)},
	{name: "html", title: "HTML", mime: "text/html", extensions: "html htm", found: "heading",
		outline: lazyregexp.New(`(?i)<(?:title|h[1-3])[ >]`)},
	{name: "xml", title: "XML", mime: "application/xml", extensions: "xml svg xsd xsl plist", types: "text/xml", describe: (*explorer).excerpt},
	{name: "yaml", title: "YAML", mime: "application/yaml", extensions: "yaml yml", types: "text/yaml application/x-yaml", found: "top-level key",
		outline: lazyregexp.New(`^[^\s#:-][^:]*:(?:\s|$)`),
		sign:    lazyregexp.New(`^\s*(?:- )?[\w."'/-]+:(?:\s.*[^\s,;{(]|\s*)$`), mostly: true},
	{name: "toml", title: "TOML", mime: "application/toml", extensions: "toml ini", found: "key",
		outline: lazyregexp.New(`^(?:\[|[\w."-]+\s*=)`)},
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
	data = unnumbered(data)
	e := &explorer{kind: detect(name, mimeType, data), data: data, out: notes{limit: maxTokens}}
	given, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		given = ""
	}
	title := e.title
	switch e.name {
	case "binary", "image":
		e.mime = http.DetectContentType(data)
		title += " (" + cmp.Or(given, e.mime) + ")"
	case "empty":
	default:
		e.lines = bytes.Count(data, []byte{'\n'})
		if data[len(data)-1] != '\n' {
			e.lines++
		}
		title += ", " + plural(e.lines, "line")
	}
	e.out.add(title + ", " + size(len(data)))
	if e.describe == nil {
		e.describe = (*explorer).listed
	}
	e.describe(e)
	return Report{Kind: e.name, MIME: clean(cmp.Or(given, e.mime)), Lines: e.lines, Summary: e.out.String()}
}

// numbered is a line as the tools of agents show those of a file.
var numbered = lazyregexp.New(`^ *\d+→`)

// unnumbered returns a text without the numbers that a tool put before each line.
func unnumbered(data []byte) []byte {
	for n, line := range lines(data) {
		if n > 3 {
			break
		}
		if !numbered().Match(line[:min(len(line), 16)]) {
			return data
		}
	}
	plain := make([]byte, 0, len(data))
	for line := range bytes.Lines(data) {
		plain = append(plain, line[len(numbered().Find(line)):]...)
	}
	return plain
}

// lines iterates over the lines of data with their numbers, from 1.
func lines(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if !yield(n, bytes.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}
