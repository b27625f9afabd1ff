package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Metadata is arbitrary, and a map[string]any can hold values that JSON cannot.
// Three of them are written as an object with an "encoding":
// strings that are not UTF-8 ("base64"), objects with a key that is not UTF-8
// ("entries", a list of pairs), and objects that have a member "encoding"
// themselves ("object"). Numbers come back as float64, or as json.Number
// where a float64 would not be written the same way.

// appendValue writes a metadata value with its keys sorted. Values of types
// that JSON does not give back are first put through encoding/json.
func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if depth > partDepth {
		return nil, fmt.Errorf("nested more than %d deep", partDepth)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v), nil
	case float64:
		return appendFloat(dst, v)
	case json.Number:
		if check([]byte(v)) != nil || strings.Trim(string(v), "-0123456789.eE+") != "" {
			return nil, fmt.Errorf("%q is not a number", string(v))
		}
		return append(dst, v...), nil
	case []any:
		list := len(dst)
		for _, e := range v {
			var err error
			if dst, err = appendValue(append(dst, ','), e, depth+1); err != nil {
				return nil, err
			}
		}
		return closeList(dst, list), nil
	case map[string]any:
		return appendMap(dst, v, depth)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, err
	}
	return appendValue(dst, plain, depth)
}

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	keys := slices.Sorted(maps.Keys(m))
	entries := slices.ContainsFunc(keys, func(k string) bool { return !utf8.ValidString(k) })
	_, wrapped := m["encoding"]
	open, end := byte('{'), "}"
	switch {
	case entries:
		dst, open, end = append(dst, `{"encoding":"entries","data":`...), '[', "]}"
	case wrapped:
		dst, end = append(dst, `{"encoding":"object","data":`...), "}}"
	}
	list := len(dst)
	for _, k := range keys {
		if dst = append(dst, ','); entries {
			dst = append(appendString(append(dst, '['), k), ',')
		} else {
			dst = append(appendQuoted(dst, k), ':')
		}
		var err error
		if dst, err = appendValue(dst, m[k], depth+1); err != nil {
			return nil, fmt.Errorf("%q: %w", k, err)
		}
		if entries {
			dst = append(dst, ']')
		}
	}
	if len(keys) == 0 {
		return append(dst, "{}"...), nil
	}
	dst[list] = open
	return append(dst, end...), nil
}

// appendFloat writes whole numbers without an exponent where JavaScript does.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v cannot be written as JSON", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}

// value is the inverse of appendValue.
func (r *lcmReader) value(val []byte, depth int) any {
	if depth > partDepth+2 { // a wrapping adds a level or two
		r.fail("metadata is nested too deeply")
		return nil
	}
	switch val[0] {
	case 'n':
		return nil
	case 't', 'f':
		return val[0] == 't'
	case '"':
		return unquote(val)
	case '[':
		list := []any{}
		for e := range elements(val) {
			list = append(list, r.value(e, depth+1))
		}
		return list
	case '{':
		return r.object(val, depth)
	}
	return number(string(val))
}

func (r *lcmReader) object(val []byte, depth int) any {
	data := member(val, "data")
	switch unquote(member(val, "encoding")) {
	case "":
	case "base64":
		return r.str("metadata", val)
	case "object":
		val = data
	case "entries":
		return r.entries(data, depth)
	default:
		r.fail("metadata has an unknown encoding")
		return nil
	}
	m := map[string]any{}
	for key, v := range members(val) {
		m[string(plainKey(key))] = r.value(v, depth+1)
	}
	return m
}

func (r *lcmReader) entries(list []byte, depth int) any {
	m := map[string]any{}
	for pair := range elements(list) {
		var key string
		n := 0
		for e := range elements(pair) {
			switch n++; n {
			case 1:
				key = r.str("a key of the metadata", e)
			case 2:
				m[key] = r.value(e, depth+1)
			}
		}
	}
	return m
}

// number reads a literal as float64 unless that would be written differently.
func number(lit string) any {
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return json.Number(lit)
	}
	if back, err := appendFloat(nil, f); err != nil || string(back) != lit {
		return json.Number(lit)
	}
	return f
}
