package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// span is the position of an entry of an object or array, with its name.
type span struct{ from, to int }

// spans returns the entries of an object or array.
func spans(v *hujson.Value) []span {
	var all []span
	switch c := v.Value.(type) {
	case *hujson.Object:
		for _, m := range c.Members {
			all = append(all, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range c.Elements {
			all = append(all, span{e.StartOffset, e.EndOffset})
		}
	}
	return all
}

// insert adds an entry at the end of an object (with a name) or an array.
func (d *JSON) insert(holder *hujson.Value, depth int, name string, value any) (*JSON, error) {
	entries := spans(holder)
	multiline := d.multiline(holder)
	if len(entries) == 0 {
		multiline = d.multiline(&d.root) || depth == 0
	}
	text, err := d.layout(value, depth+1, multiline)
	if err != nil {
		return nil, err
	}
	if name != "" {
		colon := ":"
		if multiline || bytes.Contains(d.src, []byte(`": `)) {
			colon = ": "
		}
		text = string(hujson.String(name)) + colon + text
	}
	end := holder.EndOffset - 1 // the closing brace
	if len(entries) == 0 {
		return d.fill(holder, end, depth, text, multiline)
	}
	last := entries[len(entries)-1]
	src, comma := d.src, d.comma(last.to, end)
	at := len(bytes.TrimRight(src[:end], " \t\r\n"))
	gap := d.gap(entries, depth, multiline)
	if comma >= 0 { // the file has a comma after the last entry
		text += ","
	}
	src = replace(src, at, at, gap+text)
	if comma < 0 {
		src = replace(src, last.to, last.to, ",")
	}
	return d.reparse(src)
}

// fill writes the first entry of an empty object or array.
func (d *JSON) fill(holder *hujson.Value, end, depth int, text string, multiline bool) (*JSON, error) {
	at := len(bytes.TrimRight(d.src[:end], " \t\r\n"))
	if !multiline {
		return d.reparse(replace(d.src, at, end, text))
	}
	nl, unit := lineEnd(d.src), d.unit()
	return d.reparse(replace(d.src, at, end, nl+strings.Repeat(unit, depth+1)+text+nl+strings.Repeat(unit, depth)))
}

// gap is the white space before a new entry, copied from the last one.
func (d *JSON) gap(entries []span, depth int, multiline bool) string {
	last := entries[len(entries)-1]
	before := d.src[:last.from]
	space := string(before[len(bytes.TrimRight(before, " \t\r\n")):])
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		return lineEnd(d.src) + space[i+1:]
	}
	switch {
	case multiline:
		return lineEnd(d.src) + strings.Repeat(d.unit(), depth+1)
	case len(entries) > 1 || bytes.Contains(d.src, []byte(`, "`)):
		if len(entries) > 1 {
			return space
		}
		return " "
	}
	return ""
}

// comma returns the offset of a comma between two offsets, outside of comments, or -1.
func (d *JSON) comma(from, to int) int {
	for i := from; i < to; i++ {
		switch {
		case d.src[i] == ',':
			return i
		case bytes.HasPrefix(d.src[i:to], []byte("//")):
			n := bytes.IndexByte(d.src[i:to], '\n')
			if n < 0 {
				return -1
			}
			i += n
		case bytes.HasPrefix(d.src[i:to], []byte("/*")):
			n := bytes.Index(d.src[i+2:to], []byte("*/"))
			if n < 0 {
				return -1
			}
			i += n + 3
		}
	}
	return -1
}

// cut removes the i-th entry, the white space before it, and one comma.
func (d *JSON) cut(holder *hujson.Value, i int) (*JSON, error) {
	entries := spans(holder)
	e, end := entries[i], holder.EndOffset-1
	from := len(bytes.TrimRight(d.src[:e.from], " \t\r\n"))
	next := end
	if i+1 < len(entries) {
		next = entries[i+1].from
	}
	behind := d.comma(e.to, next)
	src := d.src
	switch {
	case len(entries) == 1:
		to := e.to
		if behind >= 0 {
			to = behind + 1
		}
		if from == holder.StartOffset+1 && len(bytes.TrimSpace(src[to:end])) == 0 {
			to = end // no comment remains
		}
		src = replace(src, from, to, "")
	case behind >= 0:
		src = replace(src, e.from, behind+1, "")
		src = replace(src, from, e.from, "")
	default: // the last one: the comma before it goes
		src = replace(src, from, e.to, "")
		if c := d.comma(entries[i-1].to, e.from); c >= 0 {
			src = replace(src, c, c+1, "")
		}
	}
	return d.reparse(src)
}

// multiline reports whether the entries of a value are on lines of their own.
func (d *JSON) multiline(v *hujson.Value) bool {
	entries := spans(v)
	if len(entries) == 0 {
		return bytes.IndexByte(d.src[v.StartOffset:v.EndOffset], '\n') >= 0
	}
	return bytes.IndexByte(d.src[v.StartOffset:entries[0].from], '\n') >= 0
}

// unit is the indentation of one level.
func (d *JSON) unit() string {
	if entries := spans(&d.root); len(entries) > 0 {
		before := d.src[d.root.StartOffset:entries[0].from]
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
			if unit := before[i+1:]; len(unit) > 0 && len(bytes.TrimLeft(unit, " \t")) == 0 {
				return string(unit)
			}
		}
	}
	return "  "
}

// layout encodes a value for a depth.
func (d *JSON) layout(value any, depth int, multiline bool) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if multiline {
		e.SetIndent(strings.Repeat(d.unit(), depth), d.unit())
	}
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("write JSON: %w", err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return strings.ReplaceAll(text, "\n", lineEnd(d.src)), nil
}
