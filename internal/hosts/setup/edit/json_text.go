package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// entries returns the values that begin and end each entry of an object or array, and
// the text before its closing bracket. Other values have none of them.
func entries(v *hujson.Value) (first, last []*hujson.Value, end *hujson.Extra) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			first, last = append(first, &c.Members[i].Name), append(last, &c.Members[i].Value)
		}
		end = &c.AfterExtra
	case *hujson.Array:
		for i := range c.Elements {
			first = append(first, &c.Elements[i])
		}
		last, end = first, &c.AfterExtra
	}
	return first, last, end
}

// trim splits white space off the end of a text.
func trim(e hujson.Extra) (kept, space string) {
	kept = strings.TrimRight(string(e), " \t\r\n")
	return kept, string(e[len(kept):])
}

// put replaces a value.
func (d *JSON) put(v *hujson.Value, value any, depth int) error {
	laid, err := d.layout(value, depth, multiline(v))
	if err != nil {
		return err
	}
	v.Value = laid.Value
	return d.changed()
}

// insert adds an entry at the end of an object (with a name) or an array.
func (d *JSON) insert(holder *hujson.Value, depth int, name string, value any) error {
	first, last, end := entries(holder)
	lines := multiline(holder)
	if len(first) == 0 {
		lines = multiline(&d.root) || depth == 0
	}
	v, err := d.layout(value, depth+1, lines)
	if err != nil {
		return err
	}
	kept, space := trim(*end)
	nl := lineEnd(d.src)
	gap := ""
	switch n := len(first); {
	case n > 0:
		gap = d.gap(first, depth, lines)
		if last[n-1].AfterExtra != nil { // the file has a comma after the last entry
			v.AfterExtra = hujson.Extra{}
		}
	case lines:
		gap, space = nl+strings.Repeat(d.unit(), depth+1), nl+strings.Repeat(d.unit(), depth)
	default:
		space = ""
	}
	*end = hujson.Extra(space)
	switch c := holder.Value.(type) {
	case *hujson.Object:
		if lines || bytes.Contains(d.src, []byte(`": `)) {
			v.BeforeExtra = hujson.Extra(" ")
		}
		member := hujson.Value{BeforeExtra: hujson.Extra(kept + gap), Value: hujson.String(name)}
		c.Members = append(c.Members, hujson.ObjectMember{Name: member, Value: v})
	case *hujson.Array:
		v.BeforeExtra = hujson.Extra(kept + gap)
		c.Elements = append(c.Elements, v)
	}
	return d.changed()
}

// gap is the white space before a new entry, copied from the last one.
func (d *JSON) gap(first []*hujson.Value, depth int, lines bool) string {
	_, space := trim(first[len(first)-1].BeforeExtra)
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		return lineEnd(d.src) + space[i+1:]
	}
	switch {
	case lines:
		return lineEnd(d.src) + strings.Repeat(d.unit(), depth+1)
	case len(first) > 1:
		return space
	case bytes.Contains(d.src, []byte(`, "`)):
		return " "
	}
	return ""
}

// cut removes the i-th entry. The comments before it stay, and so does a comma after the
// last entry.
func (d *JSON) cut(holder *hujson.Value, i int) error {
	first, last, end := entries(holder)
	kept, _ := trim(first[i].BeforeExtra)
	if i+1 < len(first) {
		end = &first[i+1].BeforeExtra
	} else if i > 0 {
		before := last[i-1]
		if last[i].AfterExtra == nil {
			kept = string(before.AfterExtra) + kept
			before.AfterExtra = nil
		} else if before.AfterExtra == nil {
			before.AfterExtra = hujson.Extra{}
		}
	} else if rest, _ := trim(*end); kept+rest == "" {
		*end = nil
	}
	*end = append(hujson.Extra(kept), *end...)
	switch c := holder.Value.(type) {
	case *hujson.Object:
		c.Members = slices.Delete(c.Members, i, i+1)
	case *hujson.Array:
		c.Elements = slices.Delete(c.Elements, i, i+1)
	}
	return d.changed()
}

// multiline reports whether the entries of a value are on lines of their own.
func multiline(v *hujson.Value) bool {
	first, _, end := entries(v)
	if len(first) > 0 {
		end = &first[0].BeforeExtra
	}
	return end != nil && bytes.IndexByte(*end, '\n') >= 0
}

// unit is the indentation of one level.
func (d *JSON) unit() string {
	if first, _, _ := entries(&d.root); len(first) > 0 {
		before := string(first[0].BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && i+1 < len(before) && strings.Trim(before[i+1:], " \t") == "" {
			return before[i+1:]
		}
	}
	return "  "
}

// layout encodes a value for a depth.
func (d *JSON) layout(value any, depth int, multiline bool) (hujson.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if multiline {
		e.SetIndent(strings.Repeat(d.unit(), depth), d.unit())
	}
	if err := e.Encode(value); err != nil {
		return hujson.Value{}, fmt.Errorf("write JSON: %w", err)
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(lineEnd(d.src))))
}
