package explore

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// notes collects the lines of a summary, cleaned, up to a limit of tokens.
type notes struct {
	limit int
	used  int // in quarters of a token
	full  bool
	lines []string
}

// maxLine bounds one line of a summary, in bytes.
const maxLine = 400

// add appends a line and reports whether there is room for more.
func (n *notes) add(line string) bool {
	if n.full {
		return false
	}
	line = strings.TrimRight(clean(clip(line, maxLine)), " ")
	cost := quarters(line) + 4
	if n.used+cost > 4*n.limit {
		n.full = true
		if room := 4*n.limit - n.used - 8; room >= 40 {
			line = clip(line, room/2)
			n.lines = append(n.lines, line)
		}
		n.lines = append(n.lines, "…")
		return false
	}
	n.used += cost
	n.lines = append(n.lines, line)
	return true
}

// addAll appends lines while there is room.
func (n *notes) addAll(lines []string) {
	for _, line := range lines {
		n.add(line)
	}
}

func (n *notes) addf(format string, args ...any) bool { return n.add(fmt.Sprintf(format, args...)) }

func (n *notes) String() string { return strings.Join(n.lines, "\n") }

// quarters estimates the cost of s in quarters of a token: about four ASCII
// letters a token, and one for any other character.
func quarters(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= utf8.RuneSelf:
			n += 4
		case r == ' ' || r >= 'a' && r <= 'z':
			n++
		default:
			n += 2
		}
	}
	return n
}

// clean removes control characters, invalid UTF-8, and invisible characters that
// reorder or hide text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), safetext.Escaped(r), safetext.Unseen(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// clip cuts s to at most limit bytes at a rune's edge and marks the cut.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit-len("…"), 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// oneLine makes one short line of a stretch of bytes.
func oneLine(b []byte, limit int) string {
	if len(b) > 4*limit {
		b = b[:4*limit]
	}
	return clip(strings.Join(strings.Fields(clean(string(b))), " "), limit)
}

// plural writes "1 line", "12,000 lines".
func plural(n int, noun string) string { return prose.Count(n, noun, noun+"s") }

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1000:
		return plural(n, "byte")
	case n < 1000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}
