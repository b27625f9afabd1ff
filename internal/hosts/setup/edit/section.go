package edit

import (
	"bytes"
	"errors"
	"strings"
)

// The marks around lcm's section in a text file.
const (
	SectionBegin = "<!-- lcm:begin (written by `lcm setup`, taken out by `lcm setup --remove`) -->"
	SectionEnd   = "<!-- lcm:end -->"
)

// SetSection puts a text between marks at the end of a file, or replaces the section.
func SetSection(src []byte, text string) ([]byte, error) {
	nl := lineEnd(src)
	section := SectionBegin + nl + strings.ReplaceAll(strings.TrimSpace(text), "\n", nl) + nl + SectionEnd + nl
	from, to, err := sectionSpan(src)
	if err != nil {
		return nil, err
	}
	if to > 0 {
		return replace(src, from, to, section), nil
	}
	if len(src) > 0 {
		if !bytes.HasSuffix(src, []byte("\n")) {
			section = nl + section
		}
		section = nl + section
	}
	return replace(src, len(src), len(src), section), nil
}

// CutSection removes the section, with the empty line before it.
func CutSection(src []byte) ([]byte, error) {
	from, to, err := sectionSpan(src)
	if err != nil || to == 0 {
		return src, err
	}
	if bytes.HasSuffix(src[:from], []byte("\r\n\r\n")) {
		from -= 2
	} else if bytes.HasSuffix(src[:from], []byte("\n\n")) {
		from--
	}
	return replace(src, from, to, ""), nil
}

// sectionSpan finds the section with its last line ending; to is 0 if there is none.
func sectionSpan(src []byte) (from, to int, err error) {
	from = bytes.Index(src, []byte("<!-- lcm:begin"))
	if from < 0 {
		return 0, 0, nil
	}
	n := bytes.Index(src[from:], []byte(SectionEnd))
	if n < 0 {
		line := bytes.Count(src[:from], []byte("\n")) + 1
		return 0, 0, &Error{Line: line, Err: errors.New("the section of lcm begins here but has no end: put \"" + SectionEnd + "\" below it, or take it out")}
	}
	to = from + n + len(SectionEnd)
	if bytes.HasPrefix(src[to:], []byte("\r\n")) {
		to += 2
	} else if bytes.HasPrefix(src[to:], []byte("\n")) {
		to++
	}
	return from, to, nil
}
