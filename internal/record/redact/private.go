package redact

import (
	"bytes"
	"encoding/json"
	"slices"
)

// PrivateMark replaces a private block.
const PrivateMark = "[private]"

// Finding is a part of a text to be replaced.
type Finding struct {
	Start, End int
	Kind       string // "private", or the kind of secret
}

// Private finds the private blocks of a text, tags included. Nested blocks are
// one finding. A tag directly after a letter, a digit or _ counts only if it is
// closed: List<Private> is code.
func Private(text []byte) []Finding {
	found, open := blocks(text)
	for _, t := range open {
		if t.start == 0 || !alnum[text[t.start-1]] && text[t.start-1] != '_' {
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
		switch {
		case !t.closes:
			open = append(open, t)
		case len(open) > 0:
			found = enclose(found, Finding{open[len(open)-1].start, t.end, "private"})
			open = open[:len(open)-1]
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
	closes     bool
}

const (
	longestTag  = 64 << 10 // with its attributes
	longestName = 48       // with its namespace
	mostBlanks  = 16       // before the name
)

// tagStart are the bytes that the first sign of a tag may begin with: plain, as an
// entity, in a URL, as an escape of a string or a mail, and wide.
var tagStart = classOf("<&%\\=\xe2\xe3\xef")

var wideLess = []string{"＜", "﹤", "‹", "〈", "⟨"}

// tagAt returns the tag that begins at i. A tag between backticks does not count,
// because texts about the tag are written so, and neither does an empty one that
// closes itself.
func tagAt(text []byte, i int) (tag, bool) {
	r := reader{text: text[:min(len(text), i+longestTag)], at: i}
	if c := text[i]; c >= 0xe0 && !slices.ContainsFunc(wideLess, func(s string) bool { return bytes.HasPrefix(text[i:], []byte(s)) }) || r.next() != '<' {
		return tag{}, false
	}
	t := tag{start: i}
	c := r.skipBlanks()
	bare := r.blanks > 0
	if c == '/' {
		t.closes = true
		c = r.skipBlanks()
	}
	name, c := r.name(c)
	if name != "private" {
		return tag{}, false
	}
	t.end = r.tagEnd(c, bare && !t.closes)
	if t.end == 0 || i > 0 && text[i-1] == '`' && t.end < len(text) && text[t.end] == '`' {
		return tag{}, false
	}
	return t, true
}

// skipBlanks returns the first character that is not blank.
func (r *reader) skipBlanks() byte {
	r.blanks = 0
	c := r.next()
	for c == ' ' && r.blanks < mostBlanks {
		r.blanks++
		c = r.next()
	}
	return c
}

// name reads a name that begins with c, without its namespace, and returns it with the
// character after it. A blank that is not plain may stand inside.
func (r *reader) name(c byte) (string, byte) {
	var name [longestName]byte
	n := 0
	for read := 0; read < longestName; read++ {
		switch {
		case c == ':' && n > 0:
			n = 0
		case urlsafe[c] || c == '.':
			name[n] = c
			n++
		case c != ' ' || r.width == 1 || string(name[:n]) == "private":
			return string(name[:n]), c
		}
		c = r.next()
	}
	return "", c
}

// tagEnd returns the end of the tag whose name is followed by c, or 0. A bare tag may
// have no attributes: "a < private && b > c" is a comparison.
func (r *reader) tagEnd(c byte, bare bool) int {
	for first := true; ; first = false {
		switch {
		case c == '>':
			return r.at
		case c == ' ':
		case c == '/' && !first: // but not <private/>, nor <private/file.h>
			if c = r.next(); c == '>' {
				return 0
			}
			continue
		case bare || first || c == 0:
			return 0
		case c == '"' || c == '\'':
			for quote := c; ; {
				if c = r.next(); c == 0 {
					return 0
				}
				if c == quote {
					break
				}
			}
		case alnum[c] || c == other || bytes.IndexByte([]byte("=_-:.,#@+\\&;%"), c) >= 0:
		default:
			return 0
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
