package assemble

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// What a stub shows of its message, in quarters of a token: about 100 tokens
// of the beginning and 50 of the end, whatever the script.
const (
	headQuarters = 400
	tailQuarters = 200
)

// maxStubArguments is how many bytes of a tool call's arguments a stub keeps
// as they are.
const maxStubArguments = 400

// RenderStub returns the replacement of a message that is too large to be shown:
// the same role, tool calls and results by id, so that pairs stay whole, and
// instead of the content a reference with an excerpt of it.
func RenderStub(m store.Message) llms.Message {
	head, tail := excerpt(m.Body)
	text := reference(m)
	if head != "" {
		text += "\n" + head
	}
	if tail != "" {
		text += "\n[…]\n" + tail
	}
	stub := m.Body
	stub.Parts = nil
	stub.Raw = llms.Raw{Format: m.Body.Raw.Format}
	said := false
	for _, p := range m.Body.Parts {
		switch {
		case p.Kind == llms.PartToolCall && p.Call != nil:
			stub.Parts = append(stub.Parts, llms.Part{Kind: llms.PartToolCall, Call: stubCall(p, m.ID)})
		case p.Kind == llms.PartToolResult && p.Result != nil:
			r := *p.Result
			r.Output = []llms.Part{{Kind: llms.PartText, Text: text}}
			stub.Parts = append(stub.Parts, llms.Part{Kind: llms.PartToolResult, Result: &r})
			text, said = reference(m), true
		}
	}
	if !said {
		// Text comes before the calls that it announces.
		stub.Parts = append([]llms.Part{{Kind: llms.PartText, Text: text}}, stub.Parts...)
	}
	return stub
}

// StubTokens returns the cost of a message as a stub.
func StubTokens(c llms.Counter, m store.Message) int {
	return llms.CountMessage(c, RenderStub(m))
}

func reference(m store.Message) string {
	id := m.ID.String()
	return "[" + id + " | " + string(m.Body.Role) + " | " + prose.Number(m.Tokens) + ` tokens | shown in part; lcm_describe(id: "` + id + `") has all of it]`
}

// stubCall keeps a call's id and name, and arguments that are short. Long ones
// are replaced by a JSON object, because providers take nothing else.
func stubCall(p llms.Part, id store.MessageID) *llms.ToolCall {
	c := *p.Call
	if len(c.Arguments) <= maxStubArguments {
		return &c
	}
	args, err := json.Marshal(map[string]string{
		"shown_in_part": id.String(),
		"begins":        first(c.Arguments, headQuarters/4),
	})
	if err != nil {
		args = []byte("{}")
	}
	c.Arguments = string(args)
	return &c
}

// excerpt returns the beginning and the end of a message's text, or all of
// it as the beginning if it is short.
func excerpt(m llms.Message) (head, tail string) {
	text := strings.ToValidUTF8(m.Render(), "\uFFFD")
	head = first(text, headQuarters)
	if len(head) == len(text) {
		return strings.TrimSpace(head), ""
	}
	tail = last(text[len(head):], tailQuarters)
	return strings.TrimSpace(head), strings.TrimSpace(tail)
}

// quarters estimates the cost of a rune in quarters of a token, on the high
// side.
func quarters(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case r < 0x2000:
		return 3
	case r < 0x10000:
		return 5
	}
	return 12
}

func first(text string, budget int) string {
	for i, r := range text {
		if budget -= quarters(r); budget < 0 {
			return text[:i]
		}
	}
	return text
}

func last(text string, budget int) string {
	for i := len(text); i > 0; {
		r, n := utf8.DecodeLastRuneInString(text[:i])
		if budget -= quarters(r); budget < 0 {
			return text[i:]
		}
		i -= n
	}
	return text
}
