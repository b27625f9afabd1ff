package privacy

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// PrivateMark replaces a private block.
const PrivateMark = "[private]"

// Finding is a part of a text to be replaced.
type Finding struct {
	Start, End int
	Kind       string // "private", or the kind of secret
}

// Private finds the private blocks of a text, tags included. Nested blocks are
// one finding. A tag that is written oddly, or stands directly after a letter, a digit
// or _, counts only if it is closed: List<Private> is code.
func Private(text []byte) []Finding {
	found, open := blocks(text)
	for _, t := range open {
		if !t.odd {
			return enclose(found, Finding{t.start, len(text), "private"})
		}
	}
	return found
}

// blocks returns the closed blocks of a text, and the tags that nothing closes.
func blocks(text []byte) (found []Finding, open []tag) {
	for i := 0; i < len(text); i++ {
		if !tagStart[text[i]] {
			continue
		}
		t, ok := tagAt(text, i)
		if !ok {
			continue
		}
		i = t.end - 1
		if !t.closes {
			open = append(open, t)
			continue
		}
		last := len(open) - 1
		for last >= 0 && open[last].sign != t.sign && last > len(open)-16 {
			last--
		}
		if last >= 0 && open[last].sign == t.sign {
			if len(bytes.Trim(text[open[last].end:t.start], " .…")) == 0 {
				open = open[:last] // <private>…</private> says how to write it
				continue
			}
			found = enclose(found, Finding{open[last].start, t.end, "private"})
			open = open[:last]
		}
	}
	return found, open
}

// enclose adds a block in place of the ones inside it.
func enclose(found []Finding, block Finding) []Finding {
	for len(found) > 0 && found[len(found)-1].Start >= block.Start {
		found = found[:len(found)-1]
	}
	return append(found, block)
}

// PrivateTexts finds the private blocks of texts that follow each other, as the
// parts of a message do: a block, and even its tag, may begin in one text and
// end in another. It returns the findings of each text.
func PrivateTexts(texts [][]byte) [][]Finding {
	return spread(Private(bytes.Join(texts, between)), texts)
}

// between separates joined texts; a tag may have it inside.
var between = []byte{0}

// spread returns the findings in joined texts by text.
func spread(found []Finding, texts [][]byte) [][]Finding {
	out := make([][]Finding, len(texts))
	at := 0
	for i, text := range texts {
		for _, f := range found {
			from, to := max(f.Start-at, 0), min(f.End-at, len(text))
			if from < to {
				out[i] = append(out[i], Finding{from, to, f.Kind})
			}
		}
		at += len(text) + len(between)
	}
	return out
}

// tag is an opening or closing tag of a private block.
type tag struct {
	start, end int
	sign       byte // <, [ or {
	closes     bool
	odd        bool // it is a tag only if it is closed
}

const (
	longestTag  = 64 << 10 // with its attributes
	longestName = 48       // with its namespace, blanks and signs around it
)

// tagStart are the bytes that the first sign of a tag may begin with: plain, as an
// entity, in a URL, as an escape of a string or a mail, and wide.
var tagStart = classOf("<[{&%\\=+\xcb\xe1\xe2\xe3\xef")

// tagAt returns the tag that begins at i. A tag between backticks does not count,
// because texts about the tag are written so, and neither does an empty one that
// closes itself. One among other words between backticks is odd.
func tagAt(text []byte, i int) (tag, bool) {
	r := reader{text: text[:min(len(text), i+longestTag)], at: i}
	if c := text[i]; c >= utf8.RuneSelf {
		if wide, _ := utf8.DecodeRune(text[i:]); lookAlikes[wide] != '<' {
			return tag{}, false
		}
	}
	t := tag{start: i, sign: r.next(), odd: i > 0 && (alnum[text[i-1]] || text[i-1] == '_')}
	if t.sign != '<' && t.sign != '[' && t.sign != '{' {
		return tag{}, false
	}
	t.odd = t.odd || t.sign != '<'
	c, bare, ok := r.name(&t)
	if !ok {
		return tag{}, false
	}
	if t.end, ok = r.tagEnd(c, t.sign, bare && !t.closes); !ok {
		return tag{}, false
	}
	if t.end > 0 {
		alone, code := inBackticks(text, i, t.end)
		if alone {
			return tag{}, false
		}
		t.odd = t.odd || code
	}
	if t.end == 0 { // attributes that do not end: it ends after its name
		t.end, t.odd = r.nameEnd, true
	}
	return t, true
}

// inBackticks reports whether text[from:to] stands alone between backticks, which may be escaped,
// and whether it stands between those of its line, as code does.
func inBackticks(text []byte, from, to int) (alone, code bool) {
	const far = 200 // near enough, so that time stays linear
	before, after := text[max(0, from-far):from], text[to:min(len(text), to+far)]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	after, _, _ = bytes.Cut(after, []byte("\n"))
	code = bytes.Count(before, []byte("`"))%2 == 1 && bytes.IndexByte(after, '`') >= 0
	return bytes.HasSuffix(bytes.TrimRight(before, " "), []byte("`")) && bytes.HasPrefix(bytes.TrimLeft(after, " \\"), []byte("`")), code
}

// name reads the name of a tag, and returns the character after it and whether a blank
// stands before it. A namespace is left out, and so are signs around the name and blanks
// between its letters, which make the tag odd.
func (r *reader) name(t *tag) (c byte, bare, ok bool) {
	const name = "private"
	n := 0 // letters of the name, or -1 after another letter
	for range longestName {
		r.nameEnd = r.at
		switch c = r.next(); {
		case c == '/' && n == 0 && !t.closes:
			t.closes = true
		case c == ' ' && n <= 0:
			bare = bare || n == 0
		case c == ' ' && n < len(name):
			t.odd = t.odd || r.width == 1
		case c == ':' && n != 0 && n < len(name):
			n = 0
		case n >= 0 && n < len(name) && c == name[n]:
			n++
		case alnum[c] || n == len(name) && c == '.' || c == other:
			n = -1
		case n == len(name) && bytes.IndexByte([]byte("_-*"), c) < 0:
			return c, bare, true
		case c == 0 || tagStart[c] || bytes.IndexByte([]byte(">)]}\"'`,;"), c) >= 0:
			return c, bare, false
		case n >= 0:
			t.odd = true
		}
		if n < 0 && c == ' ' {
			return c, bare, false
		}
	}
	return c, bare, false
}

// tagEnd returns the end of the tag whose name is followed by c; 0 says that its attributes
// have none, and false that it closes itself. A bare tag may have no attributes:
// "a < private && b > c" is a comparison.
func (r *reader) tagEnd(c, sign byte, bare bool) (int, bool) {
	for first := true; ; first = false {
		switch {
		case c == sign+2: // > ] } have the codes of < [ { plus 2
			return r.at, true
		case c == ' ':
		case c == '/':
			if c = r.next(); c == '>' {
				return 0, false
			}
			if first {
				return 0, true
			}
			continue
		case bare || first:
			return 0, true
		case c == '"' || c == '\'':
			for quote := c; ; {
				last := c
				if c = r.next(); c == 0 || c == '/' && last == '<' {
					return 0, true
				}
				if c == quote {
					break
				}
			}
		case alnum[c] || c == other || bytes.IndexByte([]byte("=_-:.,#@+\\&;%"), c) >= 0:
		default:
			return 0, true
		}
		c = r.next()
	}
}

// SplitBlocks finds private blocks that begin in one string of a JSON text and end in
// another. It returns the strings that they reach with their replacements. Names of
// fields inside a block stay.
func SplitBlocks(raw []byte) map[string][]byte {
	if !looksJSON(raw) || count(raw, tagStart) == 0 || !json.Valid(raw) {
		return nil
	}
	var texts [][]byte
	names := map[int]bool{}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := literalEnd(raw, i)
		names[len(texts)] = bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":"))
		texts = append(texts, unquote(raw[i:end]))
		i = end - 1
	}
	changes := map[string][]byte{}
	closed, _ := blocks(bytes.Join(texts, between))
	for i, found := range spread(closed, texts) {
		text := texts[i]
		if alone, _ := blocks(text); !slices.Equal(found, alone) && !(names[i] && count(text, tagStart) == 0) {
			changes[string(text)] = Replace(text, found)
		}
	}
	return changes
}
