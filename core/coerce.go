package core

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Coerce corrects common mistakes of models in arguments: numbers and booleans in
// quotes, a single value in place of a list, and quotes or brackets around an id.
// It drops an empty text for an optional number or boolean. A value whose meaning
// is not clear stays as it is, and [Schema.Apply] refuses it.
func (s *Schema) Coerce(args map[string]any) map[string]any {
	out := make(map[string]any, len(args))
	for name, v := range args {
		if n := s.root.Properties.get(name); n != nil && len(n.Types) == 1 {
			if n.leftEmpty(v) && !slices.Contains(s.root.Required, name) {
				continue
			}
			v = n.coerce(v)
		}
		out[name] = v
	}
	return out
}

func (n *node) coerce(v any) any {
	text, isText := v.(string)
	switch n.Types[0] {
	case "integer", "number":
		if bare := strings.Trim(text, " \t\n\"'`[]()"); isText && bare != "" {
			// Not every number of Go is one of JSON: +5, 5., 0x1p4, inf.
			if f, err := strconv.ParseFloat(bare, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
				if json.Valid([]byte(bare)) {
					return json.Number(bare)
				}
				return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	case "boolean":
		switch strings.ToLower(strings.Trim(text, " \t\n\"'`")) {
		case "true", "yes":
			return true
		case "false", "no":
			return false
		}
	case "array":
		if isText {
			return n.list(text)
		}
	case "string":
		return n.word(v)
	}
	return v
}

// leftEmpty reports whether a model wrote an empty text where a number or a
// boolean is asked for.
func (n *node) leftEmpty(v any) bool {
	text, ok := v.(string)
	return ok && strings.TrimSpace(text) == "" && slices.Contains([]string{"integer", "number", "boolean"}, n.Types[0])
}

// list reads a list that was written as one text: in JSON, or with commas.
func (n *node) list(text string) any {
	text = strings.TrimSpace(text)
	if text == "" {
		return []any{}
	}
	if list, err := decodeValue([]byte(text)); err == nil {
		if list, ok := list.([]any); ok {
			return list
		}
	}
	list := []any{}
	for _, item := range strings.Split(strings.Trim(text, "[]()"), ",") {
		if item = strings.Trim(item, " \t\n\"'`"); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// word reads a text: a number or a boolean is written out, a list of one text
// is that text, and a name in an enumeration may be spelt in another case.
func (n *node) word(v any) any {
	switch w := v.(type) {
	case json.Number:
		v = w.String()
	case float64:
		v = strconv.FormatFloat(w, 'f', -1, 64)
	case bool:
		v = strconv.FormatBool(w)
	case []any:
		if len(w) == 1 {
			v = n.word(w[0])
		}
	}
	text, ok := v.(string)
	if !ok || len(n.Enum) == 0 {
		return v
	}
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.Trim(s, "\"'`")))
	}
	for _, e := range n.Enum {
		if name, ok := e.(string); ok && plain(name) == plain(text) {
			return name
		}
	}
	return v
}
