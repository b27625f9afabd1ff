package apiform

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// Edit replaces the messages from From to To-1 with one user message that says the
// given texts. If both are the same, it replaces none.
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
	size := len(r.Body)
	for _, e := range edits {
		size += UnitsOf(e.Say)
		for _, m := range r.Messages[e.From:e.To] {
			size += m.from - m.to
		}
	}
	var out bytes.Buffer
	out.Grow(size)
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
	if r.Form == Gemini {
		type part struct {
			Text string `json:"text"`
		}
		var parts []part
		for _, t := range texts {
			parts = append(parts, part{t})
		}
		out, _ := jsonstring.Marshal(struct { // texts can always be encoded
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		}{"user", parts})
		return out
	}
	type block struct {
		Type string          `json:"type"`
		Text string          `json:"text"`
		Mark json.RawMessage `json:"cache_control,omitempty"`
	}
	m := struct {
		Type    string `json:"type,omitempty"`
		Role    string `json:"role"`
		Content any    `json:"content"`
	}{Role: "user"}
	kind := "text"
	if r.Form == Responses {
		m.Type, kind = "message", "input_text"
	}
	blocks := make([]block, len(texts))
	for i, t := range texts {
		blocks[i] = block{Type: kind, Text: t}
	}
	blocks[len(blocks)-1].Mark = mark
	if m.Content = blocks; r.Form == Chat { // not every server takes an array
		m.Content = strings.Join(texts, "\n\n")
	}
	out, _ := jsonstring.Marshal(m) // texts can always be encoded, and the mark is JSON
	return out
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
