package redact

import "bytes"

// PrivateMark stands where a private block stood.
const PrivateMark = "[private]"

// Finding is a part of a text that should not be remembered.
type Finding struct {
	Start, End int
	Kind       string // "private", or what kind of secret it is
}

// Private finds the blocks of a text that are marked as private, tags
// included. Blocks that nest are one.
func Private(text []byte) []Finding {
	var found []Finding
	depth, start := 0, 0
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '<')
		if n < 0 {
			break
		}
		i += n
		length, closes := tagAt(text, i)
		switch {
		case length == 0:
			i++
			continue
		case !closes:
			if depth == 0 {
				start = i
			}
			depth++
		case depth > 0:
			if depth--; depth == 0 {
				found = append(found, Finding{start, i + length, "private"})
			}
		}
		i += length
	}
	if depth > 0 {
		found = append(found, Finding{start, len(text), "private"})
	}
	return found
}

// tagAt returns the length of the tag that begins at i, or 0. A tag between
// backticks is none: it is how one writes about it.
func tagAt(text []byte, i int) (length int, closes bool) {
	at := i + 1
	if at < len(text) && text[at] == '/' {
		closes = true
		at++
	}
	const name = "private"
	if len(text)-at < len(name)+1 || !bytes.EqualFold(text[at:at+len(name)], []byte(name)) {
		return 0, false
	}
	at += len(name)
	for spaces := 0; at < len(text) && (text[at] == ' ' || text[at] == '\t') && spaces < 16; spaces++ {
		at++
	}
	if at >= len(text) || text[at] != '>' {
		return 0, false
	}
	at++
	if i > 0 && text[i-1] == '`' && at < len(text) && text[at] == '`' {
		return 0, false
	}
	return at - i, closes
}
