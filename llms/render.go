package llms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SearchText returns everything in the message that can be searched for, in
// reading order, a line or more for each: text, reasoning, the names and
// arguments of tool calls as the model wrote them, tool output, the names of
// blobs and their content where it is text, the names of refs, and blocks of
// unknown types as JSON. The content of a ref is not part of it.
func (m Message) SearchText() string { return joinLines(searchable(m.Parts, 0)) }

// joinLines joins the texts that are not empty by newlines.
func joinLines(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

func searchable(parts []Part, depth int) (texts []string) {
	if depth > maxDepth {
		return nil
	}
	for _, p := range parts {
		texts = append(texts, p.Text)
		if p.Call != nil {
			texts = append(texts, p.Call.Name, p.Call.Arguments)
		}
		if p.Result != nil {
			texts = append(append(texts, p.Result.Name), searchable(p.Result.Output, depth+1)...)
		}
		if p.Blob != nil {
			texts = append(texts, p.Blob.Name, p.Blob.URL, blobText(p.Blob))
		}
		if p.Ref != nil {
			texts = append(texts, p.Ref.Name)
		}
		if p.Kind == PartOther {
			texts = append(texts, string(p.Extra))
		}
	}
	return texts
}

// blobText returns the content of a blob that is text.
func blobText(b *Blob) string {
	if strings.HasPrefix(b.MIME, "text/") && utf8.Valid(b.Data) {
		return string(b.Data)
	}
	return ""
}

// Render returns the message as people and summarisers read it in a
// transcript: text as it is, "[reasoning] …", "→ name(arguments)" for a call,
// "← name: output" or "← error: output" for a result, "[image/png photo.png
// 12 kB]" for a blob, and for a Ref its line.
func (m Message) Render() string { return joinLines(rendered(m.Parts, 0)) }

func rendered(parts []Part, depth int) (texts []string) {
	if depth > maxDepth {
		return nil
	}
	for _, p := range parts {
		switch {
		case p.Kind == PartToolCall && p.Call != nil:
			texts = append(texts, "→ "+p.Call.Name+"("+p.Call.Arguments+p.Ref.String()+")")
		case p.Kind == PartToolResult && p.Result != nil:
			texts = append(texts, renderResult(p, depth))
		case p.Ref != nil:
			texts = append(texts, p.Ref.String())
		case p.Kind == PartReasoning:
			if p.Text != "" {
				texts = append(texts, "[reasoning] "+p.Text)
			}
		case p.Kind == PartBlob && p.Blob != nil:
			texts = append(texts, blobLabel(p.Blob), blobText(p.Blob))
		case p.Kind == PartOther:
			texts = append(texts, "["+otherType(p)+"] "+string(p.Extra))
		default:
			texts = append(texts, p.Text)
		}
	}
	return texts
}

func renderResult(p Part, depth int) string {
	arrow := "← "
	switch {
	case p.Result.IsError:
		arrow += "error: "
	case p.Result.Name != "":
		arrow += p.Result.Name + ": "
	}
	return arrow + joinLines(append([]string{p.Ref.String()}, rendered(p.Result.Output, depth+1)...))
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

// blobLabel returns the text that stands for a blob in a transcript.
func blobLabel(b *Blob) string {
	words := []string{label(cmp.Or(b.MIME, "file"))}
	if b.Name != "" {
		words = append(words, label(b.Name))
	}
	switch {
	case len(b.Data) > 0:
		words = append(words, size(len(b.Data)))
	case b.URL != "":
		words = append(words, label(b.URL))
	}
	return "[" + strings.Join(words, " ") + "]"
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
// "[file_… | name | mime | N bytes | N tokens] note". A nil Ref has none.
func (r *Ref) String() string {
	if r == nil {
		return ""
	}
	text := "[" + r.ID
	for _, s := range []string{r.Name, r.MIME} {
		if s != "" {
			text += " | " + label(s)
		}
	}
	text += fmt.Sprintf(" | %d bytes | %d tokens]", r.Bytes, r.Tokens)
	if r.Note != "" {
		text += " " + r.Note
	}
	return text
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
