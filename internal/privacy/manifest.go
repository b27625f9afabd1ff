package privacy

import (
	"bytes"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// manifest finds the values of a Secret of Kubernetes in YAML, whatever their names are. They
// are below data or stringData, where text[start:end] ends.
func manifest(text []byte, start, end int) (found []Finding) {
	from, to := max(0, start-longest), min(len(text), end+longest)
	from += bytes.LastIndex(text[from:start], []byte("\n---")) + 1
	if n := bytes.Index(text[end:to], []byte("\n---")); n >= 0 {
		to = end + n
	}
	if len(bytes.TrimSpace(text[end:lineEnd(text[:to], end)])) > 0 || !secretKind().Match(text[from:to]) {
		return nil
	}
	head := indentAt(text, bytes.LastIndexByte(text[:end-1], '\n')+1)
	for at := lineEnd(text[:to], end) + 1; at < to && indentAt(text, at) > head; at = lineEnd(text[:to], at) + 1 {
		line := bytes.TrimRight(text[at:lineEnd(text[:to], at)], " \t\r\"'")
		_, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimLeft(value, " \t\"'")
		if len(value) > 0 && len(value) < 3 && (value[0] == '|' || value[0] == '>') { // the lines below are the value
			name, begin := indentAt(text, at), lineEnd(text[:to], at)+1
			for next := begin; next < to && (indentAt(text, next) > name || text[next] == '\n'); next = at + 1 {
				at = lineEnd(text[:to], next)
			}
			if begin += indentAt(text[:to], begin); begin < at && !isMark(text[begin:at]) && !bytes.HasPrefix(text[begin:], []byte("{{")) {
				found = append(found, Finding{begin, at, "kubernetes secret"})
			}
			continue
		}
		if begin := at + len(line) - len(value); len(value) >= 4 && !isReference(value) && !isMark(value) && !isPlaceholder(value) {
			found = append(found, Finding{begin, begin + len(value), "kubernetes secret"})
		}
	}
	return found
}

var secretKind = lazyregexp.New(`(?m)^[ \t]*kind:[ \t]*["']?Secret["']?[ \t]*\r?$`)

// indentAt returns how many blanks a line begins with.
func indentAt(text []byte, i int) (n int) {
	for i+n < len(text) && text[i+n] == ' ' {
		n++
	}
	return n
}
