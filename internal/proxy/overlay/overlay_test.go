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
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestPromises checks the promises of the package on random histories and summaries.
func TestPromises(t *testing.T) {
	folded, deeper := 0, 0
	promises := func(t *rapid.T) {
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
			if h.prompts(i) {
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
	}
	for range 5 { // a hundred histories may have no rewind into a condensed summary
		if rapid.Check(t, promises); deeper > 0 {
			break
		}
	}
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
	for _, c := range laid.Used {
		checkNamed(t, h, laid, c, sent)
	}
	answer := slices.IndexFunc(h.turns, func(t turn) bool { return t.role == "assistant" })
	units := h.units(r)
	pinned := -1 // the last prompt that the plan covers
	for i := range h.turns {
		if h.prompts(i) && planned.all(units[i]) && i < len(h.turns)-1 {
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

// checkNamed checks that the messages beneath a summary are sent, or named beside it, and
// that the host went on after those that are named.
func checkNamed(t *rapid.T, h *history, laid overlay.Laid, c *overlay.Cover, sent ids) {
	beneath, leftOut := ids{}, 0
	beneath.add(c)
	for id := range beneath {
		if sent[id] || h.unanswered(id) {
			continue
		}
		leftOut++
		if id > h.last() {
			t.Fatalf("%s is brought back", id)
		}
	}
	said := ""
	for _, e := range laid.Edits {
		if i := slices.Index(e.Say, c.Text); i >= 0 && i+1 < len(e.Say) {
			said = e.Say[i+1]
		}
	}
	named := 0
	if n, err := fmt.Sscanf(said, "[The agent has left out %d of the messages of this summary", &named); n != 1 && leftOut > 0 || named != leftOut {
		t.Fatalf("%d messages beneath %s are not sent, and %q says %d (%v)", leftOut, c.ID, said, named, err)
	}
}

// TestLeftOut: the promises hold where the host leaves out messages in the middle.
func TestLeftOut(t *testing.T) {
	named := 0
	rapid.Check(t, func(t *rapid.T) {
		h := (&history{unique: true}).draw(t, rapid.IntRange(4, 30).Draw(t, "rounds"))
		ix := h.index()
		p := overlay.NewPlan(ix, h.covers(t, rapid.IntRange(0, len(h.stored)).Draw(t, "folded")))
		h.leaveOut(t)
		if rapid.Bool().Draw(t, "rewinds") {
			h.rewind(t)
		}
		r, laid := lay(t, h, ix, p, h.body(t, len(h.turns)))
		gone := dropped(r, laid)
		checkSources(t, h, r, p, laid, gone)
		out := r.Rewrite(laid.Edits)
		checkBody(t, h, r, gone, laid, out)
		named += bytes.Count(out, []byte("[The agent has left out "))
	})
	if named == 0 {
		t.Error("no message was left out beneath a summary: the test proves nothing")
	}
}

// TestOneLeftOut: a call that the host leaves out does not keep its summary, and those
// above it, from being used.
func TestOneLeftOut(t *testing.T) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "start")
	for i := range 20 {
		h.begin("assistant")
		h.call(fmt.Sprintf("toolu_%d", i))
		h.begin("user")
		h.result(fmt.Sprintf("toolu_%d", i))
	}
	ix := h.index()
	whole := &overlay.Cover{ID: "sum_0", Text: "all"}
	for from := 1; from < 31; from += 10 {
		leaf := &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum_", from)), Text: "leaf"}
		for _, m := range h.stored[from : from+10] {
			leaf.Messages = append(leaf.Messages, m.ID)
		}
		whole.Summaries = append(whole.Summaries, leaf)
	}
	p := overlay.NewPlan(ix, []*overlay.Cover{whole})
	h.turns = slices.Delete(h.turns, 7, 9) // the fourth call and its result
	rapid.Check(t, func(t *rapid.T) {
		_, laid := lay(t, h, ix, p, h.body(t, len(h.turns)))
		want := []string{"intro", "all", "[The agent has left out 2 of the messages of this summary, so they may no longer count: msg_8, msg_9.]"}
		if len(laid.Edits) != 1 || laid.Dropped != 28 || !slices.Equal(laid.Edits[0].Say, want) {
			t.Fatalf("%+v", laid)
		}
	})
}

// unanswered reports whether a stored message is a call that has no stored result.
func (h *history) unanswered(id store.MessageID) bool {
	call := h.stored[id-1].Body.Parts[0].Call
	return call != nil && !slices.ContainsFunc(h.stored, func(m store.Message) bool {
		r := m.Body.Parts[0].Result
		return r != nil && r.CallID == call.ID
	})
}

// last is the last stored message that is sent.
func (h *history) last() store.MessageID {
	for _, turn := range slices.Backward(h.turns) {
		if n := len(turn.stored); n > 0 {
			return turn.stored[n-1]
		}
	}
	return 0
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
			if result, _ := b["content"].(string); strings.HasPrefix(result, "no result of ") && !bytes.Contains(out, []byte(result)) {
				t.Fatalf("%q is lost", result)
			}
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
		r, err := apiform.Parse(apiform.Messages, h.body(t, len(h.turns)))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Messages[0].Checkpoint; got != int64(behind) {
			t.Fatalf("checkpoint %d, want %d", got, behind)
		}
		without, err := p.Lay(r, ix, overlay.Options{})
		if err != nil || !strings.Contains(fmt.Sprint(without.Edits), "left out 3 of") {
			t.Fatalf("without the checkpoint: %v, %v", without.Edits, err)
		}
		with, err := p.Lay(r, ix, overlay.Options{Checkpoint: behind})
		if err != nil || with.Dropped != 2 || len(with.Used) != 1 || len(with.Edits[0].Say) != 1 {
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
