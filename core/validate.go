package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// ArgumentError is a tool call whose arguments do not fit the tool's schema.
// Its text is for the model that made the call. It lists all problems, so that the
// model can correct them with one more call.
type ArgumentError struct {
	Tool     string   // name of the tool
	Problems []string // one sentence for each wrong argument
}

// Error implements error.
func (e *ArgumentError) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("bad arguments for tool '%s': %s", e.Tool, e.Problems[0])
	}
	return fmt.Sprintf("bad arguments for tool '%s':\n- %s", e.Tool, strings.Join(e.Problems, "\n- "))
}

// Apply checks args against the schema and returns them as JSON values with
// the defaults filled in: numbers are json.Number, lists []any. The problems
// are in the order of the schema; there are none when the arguments fit.
func (s *Schema) Apply(args map[string]any) (map[string]any, []string) {
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, []string{fmt.Sprintf("the arguments cannot be written as JSON: %v", err)}
	}
	value, err := decodeValue(raw)
	if err != nil {
		return nil, []string{fmt.Sprintf("the arguments cannot be read as JSON: %v", err)}
	}
	applied, problems := s.root.apply("", value)
	object, _ := applied.(map[string]any)
	return object, problems
}

func decodeValue(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

// apply checks v against n and returns it with defaults filled in.
func (n *node) apply(path string, v any) (any, []string) {
	if n.nothing {
		return v, []string{fmt.Sprintf("%s must not be given", subject(path))}
	}
	if len(n.Types) > 0 && !slices.ContainsFunc(n.Types, func(t string) bool { return hasType(v, t) }) {
		return v, []string{fmt.Sprintf("%s must be %s, got %s", subject(path), n.want(), show(v))}
	}
	if len(n.Enum) > 0 && !n.inEnum(v) {
		return v, []string{fmt.Sprintf("%s must be %s, got %s", subject(path), n.want(), show(v))}
	}
	switch v := v.(type) {
	case map[string]any:
		return n.applyObject(path, v)
	case []any:
		return n.applyArray(path, v)
	case string:
		return v, outside(path, "characters", utf8.RuneCountInString(v), n.MinLength, n.MaxLength)
	case json.Number:
		return n.applyNumber(path, v)
	}
	return v, nil
}

func (n *node) applyObject(path string, object map[string]any) (any, []string) {
	var problems []string
	out := make(map[string]any, len(object))
	for _, p := range n.Properties {
		at := join(path, p.Name)
		v, given := object[p.Name]
		required := slices.Contains(n.Required, p.Name)
		if v == nil && !(given && slices.Contains(p.Schema.Types, "null")) {
			// Models write null for "not given".
			switch {
			case required:
				problems = append(problems, fmt.Sprintf("%s is missing: it is required and must be %s", subject(at), p.Schema.want()))
			case len(p.Schema.Default) > 0:
				usual, _ := decodeValue(p.Schema.Default) // checked when the schema was parsed
				if usual != nil {
					out[p.Name] = usual
				}
			}
			continue
		}
		applied, wrong := p.Schema.apply(at, v)
		out[p.Name] = applied
		problems = append(problems, wrong...)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := join(path, name)
		switch {
		case n.Properties.get(name) != nil:
		case n.Additional == nil:
			out[name] = object[name]
		case n.Additional.nothing && len(n.Properties) == 0:
			problems = append(problems, fmt.Sprintf("%s is unknown: no arguments are taken", subject(at)))
		case n.Additional.nothing:
			problems = append(problems, fmt.Sprintf("%s is unknown; the names are %s", subject(at), strings.Join(n.Properties.names(), ", ")))
		default:
			applied, wrong := n.Additional.apply(at, object[name])
			out[name] = applied
			problems = append(problems, wrong...)
		}
	}
	return out, problems
}

func (n *node) applyArray(path string, list []any) (any, []string) {
	problems := outside(path, "items", len(list), n.MinItems, n.MaxItems)
	if n.Items == nil {
		return list, problems
	}
	out := make([]any, len(list))
	for i, v := range list {
		applied, wrong := n.Items.apply(fmt.Sprintf("%s[%d]", path, i), v)
		out[i] = applied
		problems = append(problems, wrong...)
	}
	return out, problems
}

func (n *node) applyNumber(path string, v json.Number) (any, []string) {
	f, err := v.Float64()
	if err != nil {
		return v, []string{fmt.Sprintf("%s is out of range: %s", subject(path), show(v))}
	}
	if n.Minimum != nil && f < *n.Minimum {
		return v, []string{fmt.Sprintf("%s must be at least %v, got %s", subject(path), *n.Minimum, show(v))}
	}
	if n.Maximum != nil && f > *n.Maximum {
		return v, []string{fmt.Sprintf("%s must be at most %v, got %s", subject(path), *n.Maximum, show(v))}
	}
	if slices.Contains(n.Types, "integer") && hasType(v, "integer") {
		return integer(v), nil // 5.0 is an integer, but Go's decoder disagrees
	}
	return v, nil
}

func outside(path, unit string, have int, least, most *float64) []string {
	switch {
	case least != nil && float64(have) < *least:
		return []string{fmt.Sprintf("%s must have at least %v %s, has %d", subject(path), *least, unit, have)}
	case most != nil && float64(have) > *most:
		return []string{fmt.Sprintf("%s must have at most %v %s, has %d", subject(path), *most, unit, have)}
	}
	return nil
}

func hasType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	case json.Number:
		return t == "number" || t == "integer" && integer(v) != ""
	}
	return false
}

// maxExponent bounds how far "1e9" may be written out as digits: a model, or
// whoever writes its input, could ask for 1e999999999.
const maxExponent = 30

// integer returns v in plain digits if it is a whole number, else "".
func integer(v json.Number) json.Number {
	f, err := v.Float64()
	if err != nil || f > 1e30 || f < -1e30 || len(v) > 2*maxExponent {
		return ""
	}
	r, ok := new(big.Rat).SetString(v.String())
	if !ok || !r.IsInt() {
		return ""
	}
	return json.Number(r.Num().String())
}

func (n *node) inEnum(v any) bool {
	return slices.ContainsFunc(n.Enum, func(e any) bool {
		x, isNumber := e.(json.Number)
		if y, ok := v.(json.Number); ok && isNumber {
			return x == y || integer(x) != "" && integer(x) == integer(y)
		}
		a, errA := json.Marshal(e)
		b, errB := json.Marshal(v)
		return errA == nil && errB == nil && bytes.Equal(a, b)
	})
}

// want describes the values that n accepts.
func (n *node) want() string {
	if len(n.Enum) > 0 {
		options := make([]string, len(n.Enum))
		for i, e := range n.Enum {
			options[i] = show(e)
		}
		return "one of " + strings.Join(options, ", ")
	}
	words := make([]string, 0, len(n.Types))
	for _, t := range n.Types {
		if t == "null" {
			words = append(words, t)
			continue
		}
		article := "a "
		if strings.ContainsRune("aio", rune(t[0])) {
			article = "an "
		}
		words = append(words, article+t)
	}
	if len(words) == 0 {
		return "a value"
	}
	return strings.Join(words, " or ")
}

func subject(path string) string {
	if path == "" {
		return "the arguments"
	}
	return fmt.Sprintf("argument %q", path)
}

// show quotes a value for a message, cut so that a bad call with a huge
// argument does not fill the context with its own error.
func show(v any) string {
	const most = 80
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	if utf8.RuneCount(raw) <= most {
		return string(raw)
	}
	return string([]rune(string(raw))[:most]) + "…"
}
