package edit

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// SetTable gives a TOML file the table [a.b] with the given lines below its
// header. A table that is there keeps its other keys: only keys that the lines
// name are set. A table that is written in another way than under a header of
// its own is left alone, with an error that says so, if it says anything else.
func SetTable(src []byte, path []string, lines []string) ([]byte, error) {
	before, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	want, err := parseTOML([]byte(strings.Join(lines, "\n")))
	if err != nil {
		return nil, fmt.Errorf("the new table: %w", err)
	}
	if have, ok := lookup(before, path); ok && covers(have, want) {
		return src, nil
	}
	out := setTable(string(src), path, lines)
	after, err := parseTOML([]byte(out))
	if err != nil || inline(string(src), path) || !onlyChanged(before, after, path, want) {
		return nil, &Error{Err: fmt.Errorf("[%s] is written in a way that cannot be edited safely: change it by hand to\n[%s]\n%s",
			strings.Join(path, "."), strings.Join(path, "."), strings.Join(lines, "\n"))}
	}
	return []byte(out), nil
}

// CutTable takes a table and the tables below it out of a TOML file, with the
// empty line before it. It is no error if there is none.
func CutTable(src []byte, path []string) ([]byte, error) {
	before, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	if _, ok := lookup(before, path); !ok {
		return src, nil
	}
	out := string(src)
	for {
		from, to, found := tableSpan(out, path)
		if !found {
			break
		}
		out = cutLines(out, from, to)
	}
	after, err := parseTOML([]byte(out))
	if err != nil || !onlyChanged(before, after, path, nil) {
		return nil, &Error{Err: fmt.Errorf("[%s] is written in a way that cannot be edited safely: take it out by hand", strings.Join(path, "."))}
	}
	return []byte(out), nil
}

// HasTable returns the table at a path of a TOML file, or nil.
func HasTable(src []byte, path []string) (map[string]any, error) {
	doc, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	v, _ := lookup(doc, path)
	return v, nil
}

func parseTOML(src []byte) (map[string]any, error) {
	var doc map[string]any
	_, err := toml.Decode(strings.TrimPrefix(string(src), string(byteOrderMark)), &doc)
	var p toml.ParseError
	if errors.As(err, &p) {
		return nil, &Error{Line: p.Position.Line, Column: p.Position.Col, Err: errors.New(p.Message)}
	}
	if err != nil {
		return nil, &Error{Err: err}
	}
	return doc, nil
}

func lookup(doc map[string]any, path []string) (map[string]any, bool) {
	for _, name := range path {
		next, ok := doc[name].(map[string]any)
		if !ok {
			return nil, false
		}
		doc = next
	}
	return doc, true
}

// covers reports whether a table says everything that want says.
func covers(have, want map[string]any) bool {
	for k, v := range want {
		if !reflect.DeepEqual(have[k], v) {
			return false
		}
	}
	return true
}

// onlyChanged reports whether two documents differ in nothing but the table at
// a path, which has what want says (nil: which is gone).
func onlyChanged(before, after map[string]any, path []string, want map[string]any) bool {
	now, ok := lookup(after, path)
	if want == nil && ok || want != nil && !(ok && covers(now, want)) {
		return false
	}
	return reflect.DeepEqual(without(before, path, want), without(after, path, want))
}

// without is a document less the keys of want at a path, or less the whole
// table there. Tables that are empty then are as good as absent.
func without(doc map[string]any, path []string, want map[string]any) map[string]any {
	out := maps.Clone(doc)
	if len(path) == 0 {
		if want == nil {
			return nil
		}
		for k := range want {
			delete(out, k)
		}
		return out
	}
	next, ok := out[path[0]].(map[string]any)
	if !ok {
		return out
	}
	if rest := without(next, path[1:], want); len(rest) > 0 {
		out[path[0]] = rest
	} else {
		delete(out, path[0])
	}
	return out
}

// inline reports whether the table at the path, or one above it, is written as
// a value or with dotted keys, as in a = { c = 1 } or a.b.c = 1. It cannot be
// added to under a header: the parser here may take that, but those of others
// refuse the whole file.
func inline(src string, path []string) bool {
	var in []string
	for line := range strings.Lines(src) {
		if h := header(line); h != nil {
			in = h
			continue
		}
		key, _, ok := strings.Cut(line, "=")
		if !ok || comment(line) {
			continue
		}
		at := slices.Concat(in, header("["+key+"]"))
		shared := min(len(at), len(path))
		if len(at) > len(in) && len(in) < len(path) && slices.Equal(at[:shared], path[:shared]) {
			return true
		}
	}
	return false
}

// setTable writes the table, or its keys where its header is there.
func setTable(src string, path, lines []string) string {
	nl := lineEnd([]byte(src))
	from, to, found := ownSpan(src, path)
	if !found {
		if src != "" && !strings.HasSuffix(src, "\n") {
			src += nl
		}
		if src != "" {
			src += nl
		}
		return src + "[" + strings.Join(path, ".") + "]" + nl + strings.Join(lines, nl) + nl
	}
	all := strings.SplitAfter(src, "\n")
	body := all[from+1 : to]
	var missing []string
	for _, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		i := slices.IndexFunc(body, func(have string) bool {
			k, _, ok := strings.Cut(have, "=")
			return ok && strings.TrimSpace(k) == strings.TrimSpace(key)
		})
		if i >= 0 {
			body[i] = line + nl
		} else {
			missing = append(missing, line+nl)
		}
	}
	if !strings.HasSuffix(all[from], "\n") {
		all[from] += nl
	}
	return strings.Join(slices.Concat(all[:from+1], missing, all[from+1:]), "")
}

// ownSpan returns the lines of a table: its header and what follows it up to
// the next one.
func ownSpan(src string, path []string) (from, to int, found bool) {
	return headed(src, func(header []string) bool { return slices.Equal(header, path) })
}

// tableSpan is ownSpan for a table or one below it.
func tableSpan(src string, path []string) (from, to int, found bool) {
	return headed(src, func(header []string) bool {
		return len(header) >= len(path) && slices.Equal(header[:len(path)], path)
	})
}

func headed(src string, match func([]string) bool) (from, to int, found bool) {
	lines := strings.SplitAfter(src, "\n")
	from, to = -1, len(lines)
	for i, line := range lines {
		header := header(line)
		if header == nil {
			continue
		}
		if from >= 0 {
			to = i
			break
		}
		if match(header) {
			from = i
		}
	}
	if from < 0 {
		return 0, 0, false
	}
	// Comments and empty lines at the end belong to what follows.
	for to > from+1 && comment(lines[to-1]) {
		to--
	}
	return from, to, true
}

func comment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// header returns the path of a line that opens a table, or nil.
func header(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") {
		return nil
	}
	var doc map[string]any
	if _, err := toml.Decode(line, &doc); err != nil {
		return nil // a line of an array, or of a text
	}
	var path []string
	for len(doc) == 1 {
		for name, v := range doc {
			path = append(path, name)
			if list, ok := v.([]map[string]any); ok && len(list) == 1 {
				v = list[0]
			}
			doc, _ = v.(map[string]any)
		}
	}
	return path
}

// cutLines takes lines out, with the empty line before them where they end a
// paragraph of their own.
func cutLines(src string, from, to int) string {
	lines := strings.SplitAfter(src, "\n")
	if from > 0 && strings.TrimSpace(lines[from-1]) == "" {
		from--
	}
	return strings.Join(slices.Concat(lines[:from], lines[to:]), "")
}
