package redact

import "bytes"

// PrivateMark replaces a private block.
const PrivateMark = "[private]"

// Finding is a part of a text to be replaced.
type Finding struct {
	Start, End int
	Kind       string // "private", or the kind of secret
}

// Private finds the private blocks of a text, tags included. Nested blocks are
// one finding.
func Private(text []byte) []Finding {
	var found []Finding
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		if text[i]|0x20 != 'v' { // the rarest letter of the name
			continue
		}
		t, ok := tagAround(text, i)
		if !ok {
			continue
		}
		i = t.end - 1
		switch {
		case !t.closes:
			if depth == 0 {
				start = t.start
			}
			depth++
		case depth > 0:
			if depth--; depth == 0 {
				found = append(found, Finding{start, t.end, "private"})
			}
		}
	}
	if depth > 0 {
		found = append(found, Finding{start, len(text), "private"})
	}
	return found
}

// PrivateTexts finds the private blocks of texts that follow each other, as the
// parts of a message do: a block, and even its tag, may begin in one text and
// end in another. It returns the findings of each text.
func PrivateTexts(texts [][]byte) [][]Finding {
	out := make([][]Finding, len(texts))
	at := 0
	blocks := Private(bytes.Join(texts, nil))
	for i, text := range texts {
		for _, f := range blocks {
			from, to := max(f.Start-at, 0), min(f.End-at, len(text))
			if from < to {
				out[i] = append(out[i], Finding{from, to, f.Kind})
			}
		}
		at += len(text)
	}
	return out
}

const tagName = "private"

// tag is an opening or closing tag of a private block.
type tag struct {
	start, end int
	closes     bool
}

// The spellings of the signs of a tag: plain, in HTML, as an escape of JSON or a
// programming language, and in a URL.
var (
	lessThan    = []string{"<", "&lt;", "&#60;", "&#x3c;", `\u003c`, `\x3c`, "%3c"}
	greaterThan = []string{">", "&gt;", "&#62;", "&#x3e;", `\u003e`, `\x3e`, "%3e"}
	slash       = []string{"/", `\/`, "&#47;", "&#x2f;", `\u002f`, "%2f"}
)

// longestTag is how long the attributes of a tag may be.
const longestTag = 512

// tagAround returns the tag whose name has its v at i. A tag between backticks
// does not count, because texts about the tag are written so, and neither does
// an empty one that closes itself.
func tagAround(text []byte, i int) (tag, bool) {
	from, to := i-3, i-3+len(tagName)
	if from < 0 || to >= len(text) || !bytes.EqualFold(text[from:to], []byte(tagName)) {
		return tag{}, false
	}
	var t tag
	at := skipBack(text, from)
	blank := at < from
	if n := before(text, at, slash); n > 0 {
		t.closes = true
		at = skipBack(text, at-n)
	}
	n := before(text, at, lessThan)
	if n == 0 {
		return tag{}, false
	}
	t.start = at - n
	t.end = tagEnd(text, to, blank && !t.closes)
	if t.end == 0 || t.start > 0 && text[t.start-1] == '`' && t.end < len(text) && text[t.end] == '`' {
		return tag{}, false
	}
	return t, true
}

// tagEnd returns the end of the tag whose name ends at i, or 0. A bare tag may
// have no attributes: "a < private && b > c" is a comparison.
func tagEnd(text []byte, i int, bare bool) int {
	limit := min(len(text), i+longestTag)
	for at := i; at < limit; {
		if n := after(text, at, greaterThan); n > 0 {
			return at + n
		}
		if n := after(text, at, slash); n > 0 && after(text, at+n, greaterThan) > 0 {
			return 0
		}
		c := text[at]
		switch {
		case isBlank(c):
			at++
		case bare || at == i:
			return 0
		case c == '"' || c == '\'':
			n := bytes.IndexByte(text[at+1:limit], c)
			if n < 0 {
				return 0
			}
			at += n + 2
		case alnum[c] || c >= 0x80 || bytes.IndexByte([]byte("=_-:./,#@+\\&;%"), c) >= 0:
			at++
		default:
			return 0
		}
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// skipBack moves back over up to 16 blanks.
func skipBack(text []byte, i int) int {
	for n := 0; i > 0 && n < 16 && isBlank(text[i-1]); n++ {
		i--
	}
	return i
}

// before returns the length of the spelling that ends at i, or 0.
func before(text []byte, i int, spellings []string) int {
	for _, s := range spellings {
		if n := len(s); i >= n && bytes.EqualFold(text[i-n:i], []byte(s)) {
			return n
		}
	}
	return 0
}

// after returns the length of the spelling that begins at i, or 0.
func after(text []byte, i int, spellings []string) int {
	for _, s := range spellings {
		if n := len(s); i+n <= len(text) && bytes.EqualFold(text[i:i+n], []byte(s)) {
			return n
		}
	}
	return 0
}
