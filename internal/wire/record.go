package wire

import (
	"slices"

	"github.com/lossless-context/lcm/llms"
)

// Members returns the raw values of the named members of a record that is a
// JSON object, nil for one that it does not have. They are parts of the
// record, not copies. An error says that the record is not JSON.
func Members(record []byte, names ...string) ([][]byte, error) {
	if err := Check(record); err != nil {
		return nil, err
	}
	slots := make([]slot, len(names))
	for i, name := range names {
		slots[i].name = name
	}
	find(record, slots)
	values := make([][]byte, len(names))
	for i, s := range slots {
		values[i] = s.val
	}
	return values, nil
}

// Without returns an object of the other members of a record, each as it is, nil if there
// are none.
func Without(record []byte, names ...string) (rest []byte) {
	for key, val := range members(record) {
		if !slices.Contains(names, string(plainKey(key))) {
			rest = appendMember(rest, key, val)
		}
	}
	return closeObject(rest)
}

// find fills the slots from the members of obj.
func find(obj []byte, slots []slot) {
	for key, val := range members(obj) {
		for k := range slots {
			if slots[k].name == string(plainKey(key)) {
				slots[k].val = val
				break
			}
		}
	}
}

// text returns the text of a string, and any other value as JSON.
func text(val []byte) string {
	if len(val) > 0 && val[0] == '"' {
		return Unquote(val)
	}
	return string(val)
}

// textParts makes a part of a string literal that is not empty.
func textParts(literal []byte) []llms.Part {
	if s := Unquote(literal); s != "" {
		return []llms.Part{{Kind: llms.PartText, Text: s}}
	}
	return nil
}

// shape returns the provider's shape of the blocks in a record of shape f.
func shape(f llms.Format) llms.Format {
	if f == llms.FormatClaude {
		return llms.FormatAnthropic
	}
	return f
}

// shown returns a part as text.
func shown(p llms.Part) string { return llms.Message{Parts: []llms.Part{p}}.Render() }
