package assemble_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// checkValid reports the messages that a provider would refuse.
func checkValid(ms []llms.Message) error {
	used := map[string]bool{}
	pending := map[string]bool{}
	for i, m := range ms {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		results := 0
		for k, p := range m.Parts {
			switch {
			case p.Kind == llms.PartText && p.Ref == nil && strings.TrimSpace(p.Text) == "":
				return fmt.Errorf("message %d has a blank part", i)
			case p.Kind == llms.PartToolResult:
				if !pending[p.Result.CallID] {
					return fmt.Errorf("message %d: result %q answers no open call", i, p.Result.CallID)
				}
				if k != results {
					return fmt.Errorf("message %d: result %q comes after other parts", i, p.Result.CallID)
				}
				results++
				delete(pending, p.Result.CallID)
			}
		}
		if len(pending) > 0 && (results == 0 || results < len(m.Parts)) {
			return fmt.Errorf("message %d comes before the results of %v", i, pending)
		}
		for _, c := range m.ToolCalls() {
			if used[c.ID] {
				return fmt.Errorf("message %d: call id %q was used before", i, c.ID)
			}
			used[c.ID], pending[c.ID] = true, true
		}
	}
	if len(pending) > 0 {
		return fmt.Errorf("calls %v have no result", pending)
	}
	return nil
}

var when = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// history builds inputs for Build.
type history struct {
	in assemble.Input
}

func newHistory(budget int) *history {
	return &history{assemble.Input{
		Messages:  map[store.MessageID]store.Message{},
		Summaries: map[store.SummaryID]store.Summary{},
		Budget:    budget,
		Counter:   llms.Estimate,
	}}
}

func (h *history) add(ms ...llms.Message) *history {
	for _, m := range ms {
		id := store.MessageID(len(h.in.Messages) + 1)
		tokens := llms.CountMessage(llms.Estimate, m)
		h.in.Messages[id] = store.Message{ID: id, Seq: int64(id), Tokens: tokens, Body: m}
		it := store.Item{ID: store.ID{Message: id}, Tokens: tokens, Role: m.Role}
		for _, c := range m.ToolCalls() {
			it.Calls = append(it.Calls, c.ID)
		}
		for _, r := range m.ToolResults() {
			it.Results = append(it.Results, r.CallID)
		}
		h.push(it)
	}
	return h
}

func (h *history) summary(body string) *history {
	id := store.SummaryID(fmt.Sprintf("sum_%016x", len(h.in.Summaries)+1))
	s := store.Summary{ID: id, Kind: summary.Leaf, Body: body, Messages: 3, Earliest: when, Latest: when.Add(time.Hour)}
	h.in.Summaries[id] = s
	h.push(store.Item{ID: store.ID{Summary: id}, Tokens: assemble.SummaryTokens(llms.Estimate, s, nil)})
	return h
}

func (h *history) push(it store.Item) {
	v := &h.in.View
	it.Pos = int64(len(v.Items) + 1)
	v.Items = append(v.Items, it)
	v.Count++
	v.Tokens += it.Tokens
	v.Gap = len(v.Items)
	if it.Role == llms.RoleUser && len(it.Results) == 0 {
		v.LastUser = it.Pos
	}
}

func (h *history) stub(i int) *history {
	it := &h.in.View.Items[i]
	it.Stub = true
	h.in.View.Tokens -= it.Tokens
	it.Tokens = assemble.StubTokens(llms.Estimate, h.in.Messages[it.Message])
	h.in.View.Tokens += it.Tokens
	return h
}

// drawHistory draws a conversation, sound or broken in every way that hosts
// have been seen to break one.
func drawHistory(t *rapid.T, budget int) *history {
	h := newHistory(budget)
	for range rapid.IntRange(0, 4).Draw(t, "summaries") {
		h.summary(drawText(t, 80))
	}
	id := rapid.StringMatching(`c[0-9]`)
	result := func() llms.Message {
		return llms.Result(id.Draw(t, "result of"), "tool", drawText(t, 200), rapid.Bool().Draw(t, "error"))
	}
	for range rapid.IntRange(1, 40).Draw(t, "messages") {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1:
			h.add(llms.User(drawText(t, 100)))
		case 2:
			h.add(llms.Assistant(drawText(t, 300)))
		case 3:
			h.add(llms.Calls(drawText(t, 50), llms.ToolCall{ID: id.Draw(t, "call"), Name: "tool", Arguments: "{}"}))
		case 4:
			h.add(llms.Calls("", llms.ToolCall{ID: id.Draw(t, "call"), Name: "a", Arguments: "{}"}, llms.ToolCall{ID: id.Draw(t, "call"), Name: "b", Arguments: "{}"}))
		case 5:
			h.add(result())
		case 6: // Anthropic's shape: results and text in one user message
			m := result()
			m.Role = llms.RoleUser
			m.Parts = append(m.Parts, llms.Part{Kind: llms.PartText, Text: drawText(t, 40)})
			m.Parts = append(m.Parts, result().Parts...)
			h.add(m)
		case 7:
			c := id.Draw(t, "call")
			h.add(llms.Calls("", llms.ToolCall{ID: c, Name: "tool", Arguments: "{}"}), llms.Result(c, "tool", drawText(t, 400), false))
		case 8:
			h.add(llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: " \n"}}})
		}
		if n := len(h.in.View.Items); rapid.IntRange(0, 9).Draw(t, "stub") == 0 {
			h.stub(n - 1)
		}
	}
	return h
}

func drawText(t *rapid.T, words int) string {
	n := rapid.IntRange(0, words).Draw(t, "words")
	return strings.TrimSpace(strings.Repeat("alpha beta ", n/2))
}
