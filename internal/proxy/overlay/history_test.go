package overlay_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// turn is a message of a request with the stored messages that it consists of.
type turn struct {
	role   string
	blocks []map[string]any
	stored []store.MessageID
}

// history is a conversation as a host sends it and as the record has it.
type history struct {
	turns  []turn
	stored []store.Message
	unique bool // no text repeats
}

func (h *history) store(role llms.Role, flags store.Flag, p llms.Part) {
	id := store.MessageID(len(h.stored) + 1)
	h.stored = append(h.stored, store.Message{ID: id, Seq: int64(id), Flags: flags, Body: llms.Message{Role: role, Parts: []llms.Part{p}}})
	last := &h.turns[len(h.turns)-1]
	last.stored = append(last.stored, id)
}

func (h *history) begin(role string) { h.turns = append(h.turns, turn{role: role}) }

func (h *history) text(role llms.Role, text string) {
	if h.unique {
		text = fmt.Sprint(text, " ", len(h.stored))
	}
	last := &h.turns[len(h.turns)-1]
	last.blocks = append(last.blocks, map[string]any{"type": "text", "text": text})
	h.store(role, 0, llms.Part{Kind: llms.PartText, Text: text})
}

// unknown adds a text that the record does not have.
func (h *history) unknown(text string) {
	last := &h.turns[len(h.turns)-1]
	last.blocks = append(last.blocks, map[string]any{"type": "text", "text": text})
}

func (h *history) call(id string) {
	last := &h.turns[len(h.turns)-1]
	last.blocks = append(last.blocks, map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": "<ls> & " + id}})
	h.store(llms.RoleAssistant, 0, llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "Bash"}})
}

func (h *history) result(id string) {
	last := &h.turns[len(h.turns)-1]
	last.blocks = append(last.blocks, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "output of " + id})
	h.store(llms.RoleTool, 0, llms.Part{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: id}})
}

// madeUp adds a result that the record does not have.
func (h *history) madeUp(id string) {
	last := &h.turns[len(h.turns)-1]
	last.blocks = append(last.blocks, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "no result of " + id})
}

// draw makes a history: prompts, answers with parallel calls, some of them without a
// stored result, thinking, reminders, system messages, and texts that repeat.
func draw(t *rapid.T, rounds int) *history { return (&history{}).draw(t, rounds) }

func (h *history) draw(t *rapid.T, rounds int) *history {
	calls := 0
	prompt := func() {
		h.begin("user")
		if rapid.IntRange(0, 3).Draw(t, "reminded") == 0 {
			h.unknown("<system-reminder>\nkeep to the rules\n</system-reminder>")
		}
		h.text(llms.RoleUser, rapid.SampledFrom([]string{"continue", "ok", "fix the \"test\" <now>", "explain"}).Draw(t, "prompt"))
		if rapid.IntRange(0, 3).Draw(t, "system") == 0 {
			h.begin("system")
			h.unknown(fmt.Sprintf("the host says %d", rapid.IntRange(0, 3).Draw(t, "what")))
		}
	}
	prompt()
	for range rounds {
		h.begin("assistant")
		if rapid.Bool().Draw(t, "thinks") {
			last := &h.turns[len(h.turns)-1]
			last.blocks = append(last.blocks, map[string]any{"type": "thinking", "thinking": "hm", "signature": "sig"})
		}
		n := rapid.IntRange(0, 3).Draw(t, "calls")
		if n == 0 || rapid.Bool().Draw(t, "says") {
			h.text(llms.RoleAssistant, rapid.SampledFrom([]string{"done", "I look.", "ok"}).Draw(t, "text"))
		}
		ids := make([]string, n)
		for i := range ids {
			calls++
			ids[i] = fmt.Sprintf("toolu_%d", calls)
			h.call(ids[i])
		}
		if n == 0 {
			prompt()
			continue
		}
		h.begin("user")
		for _, i := range rapid.Permutation(ids).Draw(t, "order") {
			if rapid.IntRange(0, 7).Draw(t, "interrupted") == 0 {
				h.madeUp(i)
			} else {
				h.result(i)
			}
		}
		switch rapid.IntRange(0, 5).Draw(t, "beside") {
		case 0:
			h.unknown("<system-reminder>\nthe file changed\n</system-reminder>")
		case 1:
			h.unknown("a text that the record lacks")
		case 2:
			h.begin("system")
			h.unknown("the tools were not used")
		}
	}
	return h
}

func (h *history) index() *overlay.Index {
	ix := overlay.NewIndex()
	for _, m := range h.stored {
		ix.Add(m)
	}
	return ix
}

// body is the request, with the marks that Claude Code sets.
func (h *history) body(t *rapid.T, n int) []byte {
	type message struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	}
	messages := make([]message, n)
	for i, turn := range h.turns[:n] {
		messages[i] = message{turn.role, turn.blocks}
	}
	mark := map[string]any{"type": "ephemeral", "ttl": "1h"}
	last := &messages[n-1]
	last.Content = slices.Clone(last.Content)
	block := map[string]any{"cache_control": mark}
	for k, v := range last.Content[len(last.Content)-1] {
		block[k] = v
	}
	last.Content[len(last.Content)-1] = block
	raw, err := json.Marshal(map[string]any{
		"model": "m", "max_tokens": 10, "messages": messages, "stream": true,
		"system": []any{map[string]any{"type": "text", "text": "x", "cache_control": mark}, map[string]any{"type": "text", "text": "y", "cache_control": mark}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// covers cuts the stored messages up to a number into summaries. Some are left out, some
// have lost their text, and some are beneath another one. The cuts may part calls from
// their results.
func (h *history) covers(t *rapid.T, upTo int) []*overlay.Cover {
	var covers []*overlay.Cover
	text := func(c *overlay.Cover) {
		if rapid.IntRange(0, 7).Draw(t, "erased") > 0 {
			c.Text = fmt.Sprintf("<summary id=%q>", c.ID)
		}
	}
	for from := 0; from < upTo; {
		to := min(upTo, from+rapid.IntRange(1, 12).Draw(t, "size"))
		if rapid.IntRange(0, 4).Draw(t, "unfolded") > 0 {
			c := &overlay.Cover{ID: store.SummaryID(fmt.Sprintf("sum_%d", from))}
			for _, m := range h.stored[from:to] {
				c.Messages = append(c.Messages, m.ID)
			}
			text(c)
			covers = append(covers, c)
		}
		from = to
	}
	for depth := range rapid.IntRange(0, 3).Draw(t, "depth") {
		var above []*overlay.Cover
		for len(covers) > 0 {
			n := min(len(covers), rapid.IntRange(1, 4).Draw(t, "condensed"))
			c := covers[0]
			if n > 1 {
				c = &overlay.Cover{ID: store.SummaryID(fmt.Sprintf("con_%d_%d", depth, len(above))), Summaries: covers[:n:n]}
				text(c)
			}
			above = append(above, c)
			covers = covers[n:]
		}
		covers = above
	}
	return covers
}

func lay(t *rapid.T, h *history, ix *overlay.Index, p *overlay.Plan, body []byte) (*apiform.Request, overlay.Laid) {
	r, err := apiform.Parse(apiform.Messages, body)
	if err != nil {
		t.Fatal(err)
	}
	laid, err := p.Lay(r, ix, overlay.Options{Intro: "intro"})
	if err != nil {
		t.Fatal(err)
	}
	return r, laid
}

// dropped says which messages the edits replace.
func dropped(r *apiform.Request, l overlay.Laid) []bool {
	gone := make([]bool, len(r.Messages))
	for _, e := range l.Edits {
		for i := e.From; i < e.To; i++ {
			gone[i] = true
		}
	}
	return gone
}

// rewind cuts the history that is sent after a user message, and goes on with a prompt
// that the record does not have yet.
func (h *history) rewind(t *rapid.T) {
	n := rapid.IntRange(1, len(h.turns)).Draw(t, "rewound")
	for n < len(h.turns) && h.turns[n-1].role == "assistant" {
		n++
	}
	for h.turns[n-1].role == "system" { // an answer would have to follow
		n--
	}
	h.turns = h.turns[:n:n]
	h.begin("user")
	h.unknown("another way")
}

// leaveOut removes answers and the results of their calls from the history that is sent,
// as hosts do after an interrupted turn.
func (h *history) leaveOut(t *rapid.T) {
	kept := h.turns[:1:1]
	for i := 1; i < len(h.turns); i++ {
		to := i + 1
		for to < len(h.turns) && h.turns[to].role != "assistant" && !h.prompts(to) {
			to++
		}
		if h.turns[i].role == "assistant" && h.turns[i-1].role == "user" && to < len(h.turns)-1 && rapid.IntRange(0, 3).Draw(t, "left out") == 0 {
			i = to - 1
			continue
		}
		kept = append(kept, h.turns[i])
	}
	h.turns = kept
}

// prompts reports whether a turn has a text of the user.
func (h *history) prompts(i int) bool {
	return slices.ContainsFunc(h.turns[i].stored, func(id store.MessageID) bool {
		m := h.stored[id-1].Body
		return m.Role == llms.RoleUser && m.Parts[0].Kind == llms.PartText
	})
}
