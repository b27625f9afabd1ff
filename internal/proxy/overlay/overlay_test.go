package overlay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/store"
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
}

func (h *history) store(role llms.Role, flags store.Flag, p llms.Part) {
	id := store.MessageID(len(h.stored) + 1)
	h.stored = append(h.stored, store.Message{ID: id, Seq: int64(id), Flags: flags, Body: llms.Message{Role: role, Parts: []llms.Part{p}}})
	last := &h.turns[len(h.turns)-1]
	last.stored = append(last.stored, id)
}

func (h *history) begin(role string) { h.turns = append(h.turns, turn{role: role}) }

func (h *history) text(role llms.Role, text string) {
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

// draw makes a history: prompts, answers with parallel calls, thinking, reminders,
// system messages, and texts that repeat.
func draw(t *rapid.T, rounds int) *history {
	h := &history{}
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
			h.result(i)
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
	r, err := apiform.Parse(apiform.Messages, body, nil)
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

// TestPromises checks the promises of the package on random histories and summaries.
func TestPromises(t *testing.T) {
	folded, deeper := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, rapid.IntRange(1, 30).Draw(t, "rounds"))
		ix := h.index()
		p := overlay.NewPlan(ix, h.covers(t, rapid.IntRange(0, len(h.stored)).Draw(t, "folded")))
		if rapid.Bool().Draw(t, "rewinds") {
			h.rewind(t)
		}
		r, laid := lay(t, h, ix, p, h.body(t, len(h.turns)))
		gone := dropped(r, laid)
		checkSources(t, h, r, p, laid, gone)
		for i := len(h.turns) - 1; i >= 0; i-- {
			if r.Messages[i].Prompt() {
				if gone[i] {
					t.Fatal("the newest prompt is gone")
				}
				break
			}
		}
		if gone[len(gone)-1] {
			t.Fatal("the last message is gone")
		}
		out := r.Rewrite(laid.Edits)
		checkBody(t, h, r, gone, laid, out)
		if len(laid.Edits) > 0 {
			folded++
		}
		if slices.ContainsFunc(laid.Used, func(c *overlay.Cover) bool { return !slices.Contains(p.Covers, c) }) {
			deeper++
		}
	})
	if folded == 0 || deeper == 0 {
		t.Errorf("%d histories were folded, %d with summaries beneath others: the test proves nothing", folded, deeper)
	}
}

// ids are stored messages.
type ids map[store.MessageID]bool

func (s ids) add(c *overlay.Cover) {
	for one := range c.All {
		for _, id := range one.Messages {
			s[id] = true
		}
	}
}

func (s ids) all(of []store.MessageID) bool {
	return !slices.ContainsFunc(of, func(id store.MessageID) bool { return !s[id] })
}

// checkSources compares the sources of the summaries that are used with the messages
// that are dropped.
func checkSources(t *rapid.T, h *history, r *apiform.Request, p *overlay.Plan, laid overlay.Laid, gone []bool) {
	used, planned, sent, whole := ids{}, ids{}, ids{}, ids{}
	for _, c := range laid.Used {
		used.add(c)
	}
	for _, turn := range h.turns {
		for _, id := range turn.stored {
			sent[id] = true
		}
	}
	for _, c := range p.Covers {
		planned.add(c)
		for one := range c.All {
			// This one alone can be used for its messages.
			if len(one.Messages) > 0 && one.Text != "" && sent.all(one.Messages) {
				whole.add(one)
			}
		}
	}
	for id := range used {
		if !sent[id] {
			t.Fatalf("%s is brought back", id)
		}
	}
	answer := slices.IndexFunc(h.turns, func(t turn) bool { return t.role == "assistant" })
	units := h.units(r)
	pinned := -1 // the last prompt that the plan covers
	for i := range h.turns {
		if r.Messages[i].Prompt() && len(units[i]) > 0 && planned.all(units[i]) && i < len(h.turns)-1 {
			pinned = i
		}
	}
	for i, turn := range h.turns {
		if turn.role == "system" || len(turn.stored) == 0 {
			continue
		}
		stays := answer < 0 || i < answer || slices.Equal(units[i], units[max(pinned, 0)]) && pinned >= 0
		switch {
		case gone[i] && (stays || !used.all(units[i])):
			t.Fatalf("message %d is dropped; it has to stay: %v", i, stays)
		case !gone[i] && !stays && used.all(units[i]):
			t.Fatalf("message %d stays, although the summaries that are used cover all of it", i)
		case !gone[i] && !stays && whole.all(units[i]) && !planned[h.last()]:
			t.Fatalf("message %d stays, although there are summaries for it", i)
		}
	}
}

// last is the last stored message that is sent.
func (h *history) last() store.MessageID {
	stored := h.turns[len(h.turns)-1].stored
	if len(stored) == 0 {
		return 0
	}
	return stored[len(stored)-1]
}

// units returns, for each message, the stored messages of it and of those that it is
// tied to by calls and results.
func (h *history) units(r *apiform.Request) [][]store.MessageID {
	units := make([][]store.MessageID, len(h.turns))
	for i := range h.turns {
		units[i] = h.turns[i].stored
		if i > 0 && len(r.Messages[i].Results) > 0 { // the calls are in the answer before
			units[i] = slices.Concat(units[i-1], units[i])
			units[i-1] = units[i]
		}
	}
	return units
}

type sent struct {
	System   []map[string]any
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// checkBody checks the new body: valid for the API, and nothing lost.
func checkBody(t *rapid.T, h *history, r *apiform.Request, gone []bool, laid overlay.Laid, out []byte) {
	if len(laid.Edits) == 0 {
		if !bytes.Equal(out, r.Body) {
			t.Fatal("a request without edits was changed")
		}
		return
	}
	var s sent
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for i := range gone {
		if !gone[i] && !bytes.Contains(out, r.Raw(i)) {
			t.Fatalf("message %d has changed", i)
		}
		for _, b := range h.turns[i].blocks {
			text, ok := b["text"].(string)
			known := len(h.turns[i].stored) > 0 && text != "a text that the record lacks" && !strings.HasPrefix(text, "<system-reminder>")
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			plain := bytes.ReplaceAll(bytes.ReplaceAll(quoted, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">"))
			if ok && !known && !bytes.Contains(out, quoted[1:len(quoted)-1]) && !bytes.Contains(out, plain[1:len(plain)-1]) {
				t.Fatalf("the text %s is lost", quoted)
			}
		}
	}
	marks := bytes.Count(out, []byte(`"cache_control"`))
	if marks > 4 {
		t.Fatalf("%d cache marks", marks)
	}
	if bytes.Count(out, []byte(`"ttl":"1h"`)) != marks {
		t.Fatal("a mark without the host's time to live")
	}
	for _, c := range laid.Used {
		if n := bytes.Count(out, []byte(fmt.Sprintf(`<summary id=\"%s\">`, c.ID))); n != 1 {
			t.Fatalf("%s is shown %d times", c.ID, n)
		}
	}
	checkPairs(t, s)
}

// checkPairs checks that results follow their calls at once, and the order of roles.
func checkPairs(t *rapid.T, s sent) {
	var open map[string]bool
	for i, m := range s.Messages {
		var blocks []struct {
			Type, ID string
			Call     string `json:"tool_use_id"`
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		if m.Role == "system" {
			if s.Messages[i-1].Role != "user" || i+1 < len(s.Messages) && s.Messages[i+1].Role != "assistant" {
				t.Fatalf("a system message stands between %s and %s", s.Messages[i-1].Role, s.Messages[i+1].Role)
			}
			continue
		}
		answered := map[string]bool{}
		calls := map[string]bool{}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				calls[b.ID] = true
			case "tool_result":
				if !open[b.Call] {
					t.Fatalf("a result without a call: %s", b.Call)
				}
				answered[b.Call] = true
			}
		}
		if len(answered) != len(open) {
			t.Fatal("a call without a result")
		}
		open = calls
	}
}

// TestBeginningStays: while the plan stays, the beginning of a request is made of the
// same bytes, however the history goes on.
func TestBeginningStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, rapid.IntRange(4, 30).Draw(t, "rounds"))
		ix := h.index()
		n := rapid.IntRange(len(h.turns)/2, len(h.turns)).Draw(t, "sent")
		for n < len(h.turns) && h.turns[n-1].role != "user" {
			n++
		}
		if len(h.turns[n-1].stored) == 0 {
			t.Skip("the last message is not in the record")
		}
		upTo := rapid.IntRange(0, int(h.turns[n-1].stored[0])-1).Draw(t, "covered")
		p := overlay.NewPlan(ix, h.covers(t, upTo))
		r1, laid1 := lay(t, h, ix, p, h.body(t, n))
		_, laid2 := lay(t, h, ix, p, h.body(t, len(h.turns)))
		if a, b := fmt.Sprint(laid1.Edits), fmt.Sprint(laid2.Edits); a != b {
			t.Fatalf("with %d of %d messages:\n%s\n%s", len(r1.Messages), len(h.turns), a, b)
		}
	})
}

// TestCheckpoint: messages behind a checkpoint need not be in the request, and a
// summary that spans it is used.
func TestCheckpoint(t *testing.T) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "before the checkpoint")
	h.begin("assistant")
	h.call("toolu_old")
	h.begin("user")
	h.result("toolu_old")
	behind := h.stored[len(h.stored)-1].ID
	old := len(h.turns)
	h.begin("user")
	h.unknown("summary " + apiform.CheckpointMark(int64(behind)))
	h.begin("assistant")
	h.call("toolu_1")
	h.begin("user")
	h.result("toolu_1")
	h.begin("assistant")
	h.text(llms.RoleAssistant, "done")
	h.begin("user")
	h.text(llms.RoleUser, "next")
	ix := h.index()
	c := &overlay.Cover{ID: "sum_1", Text: "the summary"}
	for _, m := range h.stored[:5] {
		c.Messages = append(c.Messages, m.ID)
	}
	p := overlay.NewPlan(ix, []*overlay.Cover{c})
	h.turns = h.turns[old:]
	rapid.Check(t, func(t *rapid.T) {
		r, err := apiform.Parse(apiform.Messages, h.body(t, len(h.turns)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Messages[0].Checkpoint; got != int64(behind) {
			t.Fatalf("checkpoint %d, want %d", got, behind)
		}
		without, err := p.Lay(r, ix, overlay.Options{})
		if err != nil || len(without.Edits) != 0 {
			t.Fatalf("without the checkpoint: %v, %v", without.Edits, err)
		}
		with, err := p.Lay(r, ix, overlay.Options{Checkpoint: behind})
		if err != nil || with.Dropped != 2 || len(with.Used) != 1 {
			t.Fatalf("with the checkpoint: %+v, %v", with, err)
		}
	})
}

// TestWrappedPrompt: a prompt that the host has wrapped in a text of its own is found,
// and the text is said again.
func TestWrappedPrompt(t *testing.T) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	h.begin("assistant")
	h.call("toolu_1")
	h.begin("user")
	h.result("toolu_1")
	h.unknown("<system-reminder>\nThe user sent this while you were working: stop at the second file\n</system-reminder>")
	h.store(llms.RoleUser, 0, llms.Part{Kind: llms.PartText, Text: "stop at the second file"})
	h.begin("assistant")
	h.text(llms.RoleAssistant, "I stop.")
	h.begin("user")
	h.text(llms.RoleUser, "thanks")
	ix := h.index()
	c := &overlay.Cover{ID: "sum_1", Text: "the summary"}
	for _, m := range h.stored[1:5] {
		c.Messages = append(c.Messages, m.ID)
	}
	p := overlay.NewPlan(ix, []*overlay.Cover{c})
	rapid.Check(t, func(t *rapid.T) {
		r, laid := lay(t, h, ix, p, h.body(t, len(h.turns)))
		if laid.Dropped != 3 || !bytes.Contains(r.Rewrite(laid.Edits), []byte("stop at the second file")) {
			t.Fatalf("%+v", laid)
		}
	})
}
