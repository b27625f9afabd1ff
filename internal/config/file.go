package config

import (
	"errors"

	"github.com/BurntSushi/toml"
)

// document is a configuration file: its values by key, and where they stand in
// its text.
type document struct {
	path    string
	values  map[string]any
	entries []entry
}

// parseFile reads the text of a file and refuses keys that the table does not
// hold. The types of the values are not checked here.
func parseFile(path string, src []byte) (*document, error) {
	var tree map[string]any
	if err := toml.Unmarshal(src, &tree); err != nil {
		e := &Error{Source: FromFile, File: path, Problem: err.Error(), Hint: "the file must be TOML, like the output of `lcm config`"}
		if syntax, ok := errors.AsType[toml.ParseError](err); ok {
			e.Line, e.Problem = syntax.Position.Line, syntax.Message
		}
		return nil, e
	}
	d := &document{path: path, values: map[string]any{}, entries: scan(string(src))}
	var wrong []error
	add := func(key string, value any) {
		if _, ok := lookup(key); !ok {
			wrong = append(wrong, unknown(&Error{Source: FromFile, File: path, Line: d.line(key), Key: key}))
			return
		}
		d.values[key] = value
	}
	for section, content := range sorted(tree) {
		names, ok := content.(map[string]any)
		if !ok {
			add(section, content)
			continue
		}
		for name, value := range sorted(names) {
			add(section+"."+name, value)
		}
	}
	return d, errors.Join(wrong...)
}

// line returns the line on which a key is set, else on which the innermost
// thing that holds it begins, else 0.
func (d *document) line(key string) int {
	line, length := 0, 0
	for _, e := range d.entries {
		if e.covers(key) && len(e.key) > length {
			line, length = e.line, len(e.key)
		}
	}
	return line
}
