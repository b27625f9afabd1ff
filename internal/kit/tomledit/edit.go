package tomledit

import (
	"fmt"
	"slices"
	"strings"
)

// Set writes `key = value` into a table: in place of the old value, after the last entry,
// or into a new table at the end. It fails if the table is a value in braces.
func Set(src string, table []string, key, value string) (string, error) {
	path := slices.Concat(table, []string{key})
	eol := lineEnd(src)
	var last *Entry
	for _, e := range Scan(src) {
		switch {
		case e.Header && slices.Equal(e.Key, table), !e.Header && len(e.Key) == len(path) && e.Below(table):
			if !e.Header && e.Key[len(table)] == key {
				return src[:e.Value] + value + src[e.End:], nil
			}
			last = &e
		case !e.Header && len(e.Key) <= len(table) && slices.Equal(e.Key, table[:len(e.Key)]):
			return "", fmt.Errorf("line %d holds %s in braces", e.Line, strings.Join(e.Key, "."))
		}
	}
	if last == nil {
		if src != "" && !strings.HasSuffix(src, "\n") {
			src += eol
		}
		if src != "" {
			src += eol
		}
		return src + "[" + strings.Join(table, ".") + "]" + eol + key + " = " + value + eol, nil
	}
	line := strings.Join(path[len(last.Table):], ".") + " = " + value
	at := endOfLine(src, last.End)
	if at == len(src) {
		return src + eol + line + eol, nil
	}
	return src[:at+1] + line + eol + src[at+1:], nil
}

// CutTable removes a table and the tables below it, each with the empty line before it.
// Comments after a table belong to the next one.
func CutTable(src string, path []string) string {
	entries := Scan(src)
	for i, e := range slices.Backward(entries) {
		if !e.Header || !e.Below(path) {
			continue
		}
		end := e.End
		for _, next := range entries[i+1:] {
			if next.Header {
				break
			}
			end = next.End
		}
		start := e.Start
		if blank := strings.TrimRight(src[:start], " \t\r\n"); strings.Count(src[len(blank):start], "\n") > 1 || blank == "" && start > 0 {
			start = strings.LastIndexByte(src[:start-1], '\n') + 1
		}
		src = src[:start] + src[min(endOfLine(src, end)+1, len(src)):]
	}
	return src
}

// lineEnd returns the line ending of a text.
func lineEnd(src string) string {
	if strings.Contains(src, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
