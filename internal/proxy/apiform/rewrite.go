package apiform

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// Edit replaces the messages from From to To-1 with one user message that says the
// given texts.
type Edit struct {
	From, To int
	Say      []string
}

// maxMarks is how many cache marks Anthropic's API accepts.
const maxMarks = 4

// Rewrite returns a body with the edits made, which are in order and do not overlap.
// Everything else keeps its bytes. In an Anthropic request the last new message gets a
// cache mark like the host's own, if there is room for one: it ends the part that
// stays the same until the next fold.
func (r *Request) Rewrite(edits []Edit) []byte {
	if len(edits) == 0 {
		return r.Body
	}
	var out bytes.Buffer
	out.Grow(len(r.Body) / 2)
	out.Write(r.Body[:r.from])
	mark := r.freeMark(edits)
	comma := false
	element := func(b []byte) {
		if comma {
			out.WriteByte(',')
		}
		comma = true
		out.Write(b)
	}
	next := 0
	for n, e := range edits {
		for ; next < e.From; next++ {
			element(r.Raw(next))
		}
		var own []byte
		if n == len(edits)-1 {
			own = mark
		}
		if len(e.Say) > 0 {
			element(r.userMessage(e.Say, own))
		}
		next = e.To
	}
	for ; next < len(r.Messages); next++ {
		element(r.Raw(next))
	}
	out.Write(r.Body[r.to:])
	return out.Bytes()
}

// freeMark returns the host's own cache mark if the edited request may have one more,
// else nil.
func (r *Request) freeMark(edits []Edit) []byte {
	if r.Form != Messages {
		return nil
	}
	var mark []byte
	marks := r.outside
	for i, m := range r.Messages {
		if m.marks > 0 {
			mark = m.mark
		}
		if !edited(edits, i) {
			marks += m.marks
		}
	}
	if marks >= maxMarks {
		return nil
	}
	return mark
}

func edited(edits []Edit, i int) bool {
	for _, e := range edits {
		if i >= e.From && i < e.To {
			return true
		}
	}
	return false
}

// userMessage returns a user message of the request's form.
func (r *Request) userMessage(texts []string, mark []byte) []byte {
	var b bytes.Buffer
	kind := "text"
	switch r.Form {
	case Chat: // not every server takes an array
		b.WriteString(`{"role":"user","content":`)
		b.Write(quote(strings.Join(texts, "\n\n")))
		b.WriteByte('}')
		return b.Bytes()
	case Responses:
		kind = "input_text"
		b.WriteString(`{"type":"message","role":"user","content":[`)
	default:
		b.WriteString(`{"role":"user","content":[`)
	}
	for i, t := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"` + kind + `","text":`)
		b.Write(quote(t))
		if i == len(texts)-1 && mark != nil {
			b.WriteString(`,"cache_control":`)
			b.Write(mark)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return b.Bytes()
}

// quote returns a text as a JSON string.
func quote(text string) []byte {
	literal, _ := jsonstring.Marshal(text) // a string can always be encoded
	return literal
}

// UnitsOf is the size that texts have in a request.
func UnitsOf(texts []string) int {
	units := 64
	for _, t := range texts {
		units += len(quote(t)) + 32
	}
	return units
}
