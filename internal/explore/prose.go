package explore

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/prose"
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
	headings := 0
	fenced := false
	var outline []string
	var opening []byte
	eachLine(e.data, func(n int, line []byte) bool {
		if bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~")) {
			fenced = !fenced
			return true
		}
		level := headingLevel(line)
		switch {
		case fenced:
		case level > 0:
			headings++
			if len(outline) < 200 {
				outline = append(outline, strings.Repeat("  ", level)+prose.Number(n)+": "+oneLine(line[level:], 100))
			}
		case len(opening) == 0 && len(bytes.TrimSpace(line)) > 0:
			opening = line
		}
		return true
	})
	if len(opening) > 0 {
		e.out.add("begins: " + oneLine(opening, 200))
	}
	if headings == 0 {
		e.excerpt()
		return
	}
	e.out.addf("%s:", plural(headings, "heading"))
	for _, h := range outline {
		if !e.out.add(h) {
			return
		}
	}
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
		e.quote("text", e.data, 12)
		return
	}
	e.quote("begins", e.data[:min(total, 4096)], 5)
	mid := e.data[total/2 : min(total, total/2+2048)]
	if i := bytes.IndexByte(mid, '\n'); i >= 0 && i+1 < len(mid) {
		mid = mid[i+1:]
	}
	e.quote("middle", mid, 2)
	tail := e.data[max(0, total-2048):]
	lines := nonBlank(tail, 1<<16)
	if len(lines) > 2 {
		lines = lines[len(lines)-2:]
	}
	e.lineList("ends", lines)
}

// quote shows up to n lines of b that are not blank.
func (e *explorer) quote(label string, b []byte, n int) {
	e.lineList(label, nonBlank(b, n))
}

func (e *explorer) lineList(label string, lines [][]byte) {
	if len(lines) == 0 {
		return
	}
	e.out.add(label + ":")
	for _, l := range lines {
		if !e.out.add("  " + oneLine(l, 160)) {
			return
		}
	}
}

// nonBlank returns the first n lines of b with something on them.
func nonBlank(b []byte, n int) [][]byte {
	var lines [][]byte
	eachLine(b, func(_ int, line []byte) bool {
		if len(bytes.TrimSpace(line)) > 0 && oneLine(line, 40) != "" {
			lines = append(lines, line)
		}
		return len(lines) < n
	})
	return lines
}
