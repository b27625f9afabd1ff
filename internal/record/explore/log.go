package explore

import (
	"bytes"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// logHead is how much of a line is searched for its level and its time.
const logHead = 160

// levels are the severities of log lines and how they are written, worst
// first. A line has the worst level it names.
var levels = []struct {
	name  string
	words [][]byte
}{
	{"fatal", words("FATAL PANIC CRITICAL EMERG fatal panic:")},
	{"error", words("ERROR SEVERE error Error Exception Traceback FAIL failed")},
	{"warn", words("WARN warn Warn")},
	{"info", words("INFO NOTICE info Info")},
	{"debug", words("DEBUG debug Debug")},
	{"trace", words("TRACE trace")},
}

// worstLevels is how many of levels report failures.
const worstLevels = 2

func words(list string) [][]byte { return bytes.Fields([]byte(list)) }

// log describes a log: its length and time span, how many lines of each
// level, and the first and the last lines that report failures.
func (e *explorer) log() {
	e.title("log")
	counts := make([]int, len(levels))
	var failures []string
	last, first := "", ""
	for n, line := range lines(e.data) {
		if first == "" && n <= 50 {
			first = timestamp(line)
		}
		i := lineLevel(line)
		if i < 0 {
			continue
		}
		if counts[i]++; i >= worstLevels {
			continue
		}
		last = "  line " + prose.Number(n) + ": " + oneLine(line, 160)
		if len(failures) < 5 {
			failures = append(failures, last)
		}
	}
	if final := lastTimestamp(e.data); first != "" && final != "" {
		e.out.addf("from %s to %s", first, final)
	}
	var histogram []string
	for i, l := range levels {
		if counts[i] > 0 {
			histogram = append(histogram, l.name+" "+prose.Number(counts[i]))
		}
	}
	if len(histogram) > 0 {
		e.out.add("levels: " + strings.Join(histogram, ", "))
	}
	if len(failures) == 0 {
		e.excerpt()
		return
	}
	e.out.add("first failures:")
	e.out.addAll(failures)
	if last != failures[len(failures)-1] {
		e.out.add("last failure:")
		e.out.add(last)
	}
}

// lineLevel returns the index of the worst level a line names, or -1.
func lineLevel(line []byte) int {
	line = line[:min(len(line), logHead)]
	for i, l := range levels {
		if slices.ContainsFunc(l.words, func(w []byte) bool { return bytes.Contains(line, w) }) {
			return i
		}
	}
	return -1
}

// timestamp returns the time that a line begins with, in brackets or not, or
// carries as a field called time or ts.
func timestamp(line []byte) string {
	line = line[:min(len(line), logHead)]
	for _, key := range []string{"", "time=", `"time":`, `"ts":`, `"timestamp":`, "ts="} {
		i := bytes.Index(line, []byte(key))
		if i < 0 {
			continue
		}
		if t := leadingTime(bytes.TrimLeft(line[i+len(key):], ` "[(`)); t != "" {
			return t
		}
	}
	return ""
}

// leadingTime returns the date and time at the start of b: digits and the
// marks between them, at least hh:mm:ss or yyyy-mm-dd, or a syslog date.
func leadingTime(b []byte) string {
	i := 0
	if len(b) > 15 && isLetter(b[0]) && isLetter(b[1]) && isLetter(b[2]) && b[3] == ' ' {
		i = 4 // Nov 15 02:06:04
	}
	digits, marks := 0, 0
	for i < len(b) && i < 40 {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == ':' || c == '-' || c == '/':
			marks++
		case c == '.' || c == ',' || c == '+' || c == 'T' || c == 'Z':
		case c == ' ' && i+1 < len(b) && (b[i+1] >= '0' && b[i+1] <= '9') && digits <= 8 && marks <= 2:
		default:
			return timeText(b[:i], digits, marks)
		}
		i++
	}
	return timeText(b[:i], digits, marks)
}

func timeText(b []byte, digits, marks int) string {
	if digits < 6 || marks < 2 {
		return ""
	}
	return oneLine(bytes.TrimRight(b, " .,-:+T"), 40)
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// lastTimestamp is the time of the last line that has one, among the last few.
func lastTimestamp(data []byte) string {
	tail := data[max(0, len(data)-sniffBytes):]
	for range 50 {
		tail = bytes.TrimRight(tail, "\r\n")
		if len(tail) == 0 {
			return ""
		}
		i := bytes.LastIndexByte(tail, '\n')
		if t := timestamp(tail[i+1:]); t != "" {
			return t
		}
		tail = tail[:i+1]
	}
	return ""
}

// looksLikeLog reports that most lines begin with a time, or name a level in
// capitals.
func looksLikeLog(lines [][]byte) bool {
	timed, total := 0, 0
	for _, l := range lines {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		total++
		if leadingTime(bytes.TrimLeft(l, ` "[(`)) != "" || bytes.HasPrefix(l, []byte("time=")) || capitalLevel(l) {
			timed++
		}
	}
	return total >= 3 && timed*2 > total
}

func capitalLevel(line []byte) bool {
	line = line[:min(len(line), 40)]
	for _, w := range words("ERROR WARN INFO DEBUG TRACE FATAL") {
		if bytes.HasPrefix(line, w) || bytes.Contains(line, append([]byte{'['}, w...)) {
			return true
		}
	}
	return false
}
