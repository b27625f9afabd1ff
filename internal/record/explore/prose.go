package explore

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// headingLevel is the level of a Markdown heading, zero for other lines.
func headingLevel(line []byte) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n+1 >= len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

// markdown describes a document: how it begins, and its headings.
func (e *explorer) markdown() {
	e.title("Markdown")
	headings, fenced := 0, false
	var outline []string
	var opening []byte
	for n, line := range lines(e.data) {
		if bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~")) {
			fenced = !fenced
			continue
		}
		level := headingLevel(line)
		switch {
		case fenced:
		case level > 0:
			if headings++; headings <= 200 {
				outline = append(outline, strings.Repeat("  ", level)+prose.Number(n)+": "+oneLine(line[level:], 100))
			}
		case len(opening) == 0 && len(bytes.TrimSpace(line)) > 0:
			opening = line
		}
	}
	if len(opening) > 0 {
		e.out.add("begins: " + oneLine(opening, 200))
	}
	if headings == 0 {
		e.excerpt()
		return
	}
	e.out.addf("%s:", plural(headings, "heading"))
	e.out.addAll(outline)
}

// text describes anything else that can be read.
func (e *explorer) text() {
	e.title("text")
	e.excerpt()
}

// excerpt shows the beginning, the middle and the end of a text.
func (e *explorer) excerpt() {
	total := len(e.data)
	if total <= 1500 {
		e.quote("text", nonBlank(e.data, 12))
		return
	}
	e.quote("begins", nonBlank(e.data[:min(total, 4096)], 5))
	mid := e.data[total/2 : min(total, total/2+2048)]
	if i := bytes.IndexByte(mid, '\n'); i >= 0 && i+1 < len(mid) {
		mid = mid[i+1:]
	}
	e.quote("middle", nonBlank(mid, 2))
	tail := nonBlank(e.data[total-min(total, 2048):], 1<<16)
	e.quote("ends", tail[max(0, len(tail)-2):])
}

// quote shows lines under a label.
func (e *explorer) quote(label string, lines []string) {
	if len(lines) > 0 {
		e.out.add(label + ":")
		e.out.addAll(lines)
	}
}

// nonBlank returns the first lines of b that are not blank, shortened.
func nonBlank(b []byte, most int) (all []string) {
	for _, line := range lines(b) {
		if len(all) == most {
			break
		}
		if text := oneLine(line, 160); text != "" {
			all = append(all, "  "+text)
		}
	}
	return all
}
