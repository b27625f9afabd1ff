package llms

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SearchText returns everything in the message that can be searched for, in
// reading order, a line or more for each: text, reasoning, the names and
// arguments of tool calls as the model wrote them, tool output, the names of
// blobs and their content where it is text, the names of refs, and blocks of
// unknown types as JSON. What a ref stands for is searched where it is kept.
func (m Message) SearchText() string {
	if len(m.Parts) == 1 && m.Parts[0].Kind == PartText && m.Parts[0].Ref == nil {
		return m.Parts[0].Text
	}
	var w lines
	w.Grow(bulk(m.Parts, 0))
	w.search(m.Parts, 0)
	return w.String()
}

// lines joins what is written to it by newlines.
type lines struct {
	strings.Builder
	inline bool // the next piece continues the line
}

func (w *lines) add(s string) {
	if s != "" {
		w.start()
		w.WriteString(s)
	}
}

// start begins a line.
func (w *lines) start() {
	if w.Len() > 0 && !w.inline {
		w.WriteByte('\n')
	}
	w.inline = false
}

// bulk is about how many bytes parts take when they are written out, so that
// room for them is made once.
func bulk(parts []Part, depth int) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + 16
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil && depth < maxDepth {
			n += len(p.Result.Name) + bulk(p.Result.Output, depth+1)
		}
		if p.Blob != nil {
			n += len(p.Blob.MIME) + len(p.Blob.Name) + len(p.Blob.URL)
			if p.Blob.isText() {
				n += len(p.Blob.Data)
			}
		}
		if p.Ref != nil {
			n += p.Ref.bulk()
		}
		if p.Kind == PartOther {
			n += len(p.Extra)
		}
	}
	return n
}

func (r *Ref) bulk() int { return len(r.ID) + len(r.Name) + len(r.MIME) + len(r.Note) + 64 }

func (w *lines) search(parts []Part, depth int) {
	if depth > maxDepth {
		return
	}
	for _, p := range parts {
		w.add(p.Text)
		if p.Call != nil {
			w.add(p.Call.Name)
			w.add(p.Call.Arguments)
		}
		if p.Result != nil {
			w.add(p.Result.Name)
			w.search(p.Result.Output, depth+1)
		}
		if p.Blob != nil {
			w.add(p.Blob.Name)
			w.add(p.Blob.URL)
			w.add(p.Blob.text())
		}
		if p.Ref != nil {
			w.add(p.Ref.Name)
		}
		if p.Kind == PartOther {
			w.add(string(p.Extra))
		}
	}
}

// text returns the content of a blob that is text.
func (b *Blob) text() string {
	if b.isText() {
		return string(b.Data)
	}
	return ""
}

func (b *Blob) isText() bool { return strings.HasPrefix(b.MIME, "text/") && utf8.Valid(b.Data) }

// Render returns the message as people and summarisers read it in a
// transcript: text as it is, "[reasoning] …", "→ name(arguments)" for a call,
// "← name: output" or "← error: output" for a result, "[image/png photo.png
// 12 kB]" for a blob, and for a Ref its line.
func (m Message) Render() string {
	if len(m.Parts) == 1 {
		return m.Parts[0].shown()
	}
	var w lines
	w.Grow(bulk(m.Parts, 0))
	for _, p := range m.Parts {
		w.render(p, 0)
	}
	return w.String()
}

// shown returns one part as Render writes it.
func (p Part) shown() string {
	if p.Kind == PartText && p.Ref == nil {
		return p.Text
	}
	var w lines
	w.Grow(bulk([]Part{p}, 0))
	w.render(p, 0)
	return w.String()
}

func (w *lines) render(p Part, depth int) {
	if depth > maxDepth {
		return
	}
	switch {
	case p.Kind == PartToolCall && p.Call != nil:
		w.add("→ ")
		w.WriteString(p.Call.Name)
		w.WriteByte('(')
		w.WriteString(p.Call.Arguments)
		if p.Ref != nil {
			p.Ref.write(&w.Builder)
		}
		w.WriteByte(')')
	case p.Kind == PartToolResult && p.Result != nil:
		w.renderResult(p, depth)
	case p.Ref != nil:
		w.start()
		p.Ref.write(&w.Builder)
	case p.Kind == PartReasoning:
		if p.Text != "" {
			w.add("[reasoning] ")
			w.WriteString(p.Text)
		}
	case p.Kind == PartBlob && p.Blob != nil:
		w.start()
		p.Blob.write(&w.Builder)
		w.add(p.Blob.text())
	case p.Kind == PartOther:
		w.add("[")
		w.WriteString(otherType(p))
		w.WriteString("] ")
		w.Write(p.Extra)
	default:
		w.add(p.Text)
	}
}

// otherType names the type of a block that has no kind of its own.
func otherType(p Part) string {
	var block map[string]json.RawMessage
	if json.Unmarshal(p.Extra, &block) != nil {
		return string(PartOther)
	}
	literal := string(block["type"])
	if inside, ok := strings.CutPrefix(literal, `"`); ok && len(inside) > 1 && !strings.Contains(inside, `\`) {
		return inside[:len(inside)-1] // as it is, also where it is not UTF-8
	}
	var typ string
	_ = json.Unmarshal(block["type"], &typ)
	return cmp.Or(typ, string(PartOther))
}

func (w *lines) renderResult(p Part, depth int) {
	w.add("← ")
	switch {
	case p.Result.IsError:
		w.WriteString("error: ")
	case p.Result.Name != "":
		w.WriteString(p.Result.Name)
		w.WriteString(": ")
	}
	w.inline = true
	if p.Ref != nil {
		w.start()
		p.Ref.write(&w.Builder)
	}
	for _, o := range p.Result.Output {
		w.render(o, depth+1)
	}
	w.inline = false
}

// write writes what stands for a blob in a transcript.
func (b *Blob) write(w *strings.Builder) {
	w.WriteByte('[')
	if b.MIME == "" {
		w.WriteString("file")
	}
	w.WriteString(label(b.MIME))
	if b.Name != "" {
		w.WriteByte(' ')
		w.WriteString(label(b.Name))
	}
	switch {
	case len(b.Data) > 0:
		w.WriteByte(' ')
		w.WriteString(size(len(b.Data)))
	case b.URL != "":
		w.WriteByte(' ')
		w.WriteString(label(b.URL))
	}
	w.WriteByte(']')
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " B"
	case n < 1000*1000:
		return strconv.Itoa((n+500)/1000) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// String returns the text that a model is shown in place of the content:
// "[file_… | name | mime | N bytes | N tokens] note".
func (r *Ref) String() string {
	var w strings.Builder
	w.Grow(r.bulk())
	r.write(&w)
	return w.String()
}

func (r *Ref) write(w *strings.Builder) {
	var digits [20]byte
	w.WriteByte('[')
	w.WriteString(r.ID)
	for _, s := range [...]string{r.Name, r.MIME} {
		if s != "" {
			w.WriteString(" | ")
			w.WriteString(label(s))
		}
	}
	w.WriteString(" | ")
	w.Write(strconv.AppendInt(digits[:0], r.Bytes, 10))
	w.WriteString(" bytes | ")
	w.Write(strconv.AppendInt(digits[:0], int64(r.Tokens), 10))
	w.WriteString(" tokens]")
	if r.Note != "" {
		w.WriteByte(' ')
		w.WriteString(r.Note)
	}
}

// label makes a name that came from outside safe between the brackets of a
// reference: it can neither close them nor begin a line, and so not pass for a
// reference to something else.
func label(name string) string {
	if !strings.ContainsFunc(name, isMark) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case r == '|':
			return '/'
		case isMark(r):
			return ' '
		}
		return r
	}, name)
}

func isMark(r rune) bool {
	return r == '[' || r == ']' || r == '|' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}
