package edit

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/kit/tomledit"
)

// SetTable sets the keys of a TOML table [a.b] to lines like `key = value`. Other keys
// stay. It fails if a table with other values has no header of its own.
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
	out := string(src)
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " = ")
		if out, err = tomledit.Set(out, path, key, value); err != nil {
			break
		}
	}
	var after map[string]any
	if err == nil {
		after, err = parseTOML([]byte(out))
	}
	if err != nil || inline(string(src), path) || !onlyChanged(before, after, path, want) {
		return nil, fmt.Errorf("[%s] is written in a way that cannot be edited safely: change it by hand to\n[%s]\n%s",
			strings.Join(path, "."), strings.Join(path, "."), strings.Join(lines, "\n"))
	}
	return []byte(out), nil
}

// CutTable removes a table, if there is one, and the tables below it.
func CutTable(src []byte, path []string) ([]byte, error) {
	before, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	if _, ok := lookup(before, path); !ok {
		return src, nil
	}
	out := tomledit.CutTable(string(src), path)
	after, err := parseTOML([]byte(out))
	if err != nil || !onlyChanged(before, after, path, nil) {
		return nil, fmt.Errorf("[%s] is written in a way that cannot be edited safely: remove it by hand", strings.Join(path, "."))
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
		err = at(p.Position.Line, p.Position.Col, p.Message)
	}
	return doc, err
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

// covers reports whether a table has every key of want with the same value.
func covers(have, want map[string]any) bool {
	for k, v := range want {
		if !reflect.DeepEqual(have[k], v) {
			return false
		}
	}
	return true
}

// onlyChanged reports whether two documents differ only in the table at a path, and that
// table has the values of want (nil: it is gone).
func onlyChanged(before, after map[string]any, path []string, want map[string]any) bool {
	now, ok := lookup(after, path)
	if want == nil && ok || want != nil && !(ok && covers(now, want)) {
		return false
	}
	return reflect.DeepEqual(without(before, path, want), without(after, path, want))
}

// without returns a document without the keys of want at a path (nil: without the table),
// and without tables that are empty then.
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

// inline reports whether the table at the path, or one above it, is a value or has dotted
// keys, as in a = { c = 1 } or a.b.c = 1. A header must not add to it.
func inline(src string, path []string) bool {
	return slices.ContainsFunc(tomledit.Scan(src), func(e tomledit.Entry) bool {
		shared := min(len(e.Key), len(path))
		return !e.Header && len(e.Table) < len(path) && e.Below(path[:shared])
	})
}
