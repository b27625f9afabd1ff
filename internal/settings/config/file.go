package config

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/kit/tomledit"
)

// document is a parsed configuration file: its values by key, and its entries.
type document struct {
	path    string
	values  map[string]any
	entries []tomledit.Entry
	retired []string // keys of earlier versions
}

// parseFile parses a configuration file and refuses unknown keys. It does not
// check the types of the values.
func parseFile(path string, src []byte) (*document, error) {
	var tree map[string]any
	if err := toml.Unmarshal(src, &tree); err != nil {
		e := &Error{Source: FromFile, File: path, Problem: err.Error(), Hint: "the file must be TOML, like the output of `lcm config`"}
		if syntax, ok := errors.AsType[toml.ParseError](err); ok {
			e.Line, e.Problem = syntax.Position.Line, syntax.Message
		}
		return nil, e
	}
	d := &document{path: path, values: map[string]any{}, entries: tomledit.Scan(string(src))}
	var wrong []error
	add := func(key string, value any) {
		if slices.Contains(retired, key) {
			d.retired = append(d.retired, key)
			return
		}
		if _, ok := lookup(key); !ok {
			wrong = append(wrong, unknown(&Error{Source: FromFile, File: path, Line: d.line(key), Key: key}))
			return
		}
		d.values[key] = value
	}
	for _, section := range slices.Sorted(maps.Keys(tree)) {
		names, ok := tree[section].(map[string]any)
		if !ok {
			add(section, tree[section])
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			add(section+"."+name, names[name])
		}
	}
	return d, errors.Join(wrong...)
}

// line returns the line on which a key is set, else the line on which its
// section begins, else 0.
func (d *document) line(key string) int {
	path := strings.Split(key, ".")
	line, length := 0, 0
	for _, e := range d.entries {
		if n := len(e.Key); n > length && n <= len(path) && e.Below(path[:n]) {
			line, length = e.Line, n
		}
	}
	return line
}
