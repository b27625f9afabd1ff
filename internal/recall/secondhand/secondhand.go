// Package secondhand recognises messages that only repeat the record: calls of lcm, their
// results, the replies that rest on them, and the questions that led to them. Such a
// message may be wrong and never stands in for its source. Without this rule, a record that
// is asked often answers with earlier askings.
//
// It decides when asked, from the messages of a turn. Nothing is stored, so it also holds
// for old records.
package secondhand

import (
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/llms"
)

// Messages reports which messages of a turn repeat the record. A turn is a prompt and what
// follows up to the next prompt; its beginning may be missing.
//
// A reply repeats the record if lcm answered in the turn and no other tool was called:
// another tool may have found something new. The prompt of such a turn repeats the record
// if it is a question.
func Messages(turn []store.Message) []bool {
	out := make([]bool, len(turn))
	recalled, worked := false, false
	var calls []string // of lcm
	for i, m := range turn {
		own, other := 0, 0
		for _, c := range m.Body.ToolCalls() {
			if isOwn(c) {
				calls = append(calls, c.ID)
				own++
			} else {
				other++
			}
		}
		for _, r := range m.Body.ToolResults() {
			if slices.Contains(calls, r.CallID) {
				own++
			} else {
				other++
			}
		}
		out[i] = m.Flags&store.FlagEcho != 0 || own > 0 && other == 0
		recalled, worked = recalled || out[i], worked || other > 0 && !out[i]
	}
	if worked || !recalled {
		return out
	}
	for i, m := range turn {
		out[i] = out[i] || m.Body.Role == llms.RoleAssistant || m.Body.Role == llms.RoleUser && asks(m.Body.PlainText())
	}
	return out
}

// Label labels a reply that repeats the record with what it was answered from: the first message
// that lcm named in the turn.
func Label(turn []store.Message) string {
	for _, m := range turn {
		if len(m.Body.ToolResults()) == 0 {
			continue
		}
		if id := named().FindString(m.Body.SearchText()); id != "" {
			return "an earlier answer, from " + id
		}
	}
	return "an earlier answer"
}

var named = lazyregexp.New(`\bmsg_[0-9]+`)

// OnlyAsks reports whether a session, from its first message, did nothing but ask lcm: every
// turn has an answer of lcm and no call of another tool. Its prompts need not be questions.
func OnlyAsks(session []store.Message) bool {
	recalled := true // in the turn so far
	for i, m := range session {
		if m.Body.Role == llms.RoleUser && m.Flags.Said() {
			if !recalled {
				return false
			}
			recalled = false
		}
		if calls := m.Body.ToolCalls(); slices.ContainsFunc(calls, func(c llms.ToolCall) bool { return !isOwn(c) }) {
			return false
		} else if len(calls) > 0 || m.Flags&store.FlagEcho != 0 {
			recalled = true
		}
		if i == len(session)-1 {
			return recalled
		}
	}
	return false
}

// isOwn reports whether a call reads the record.
func isOwn(c llms.ToolCall) bool {
	return toolname.IsOwn(c.Name) || toolname.IsSearch(c.Name, c.Arguments) || strings.Contains(c.Arguments, "lcm") && runsOwn().MatchString(c.Arguments)
}

// Settles returns a function that takes messages of the turn of m, in any order, and reports
// when they are enough: [Messages] says of m what it says with the whole turn, and [Asking]
// says no. This is so once another tool was called, and what m is a result of is known.
func Settles(m store.Message) func(store.Message) bool {
	worked, results := false, m.Body.ToolResults()
	return func(of store.Message) bool {
		calls := of.Body.ToolCalls()
		worked = worked || of.Flags&store.FlagEcho == 0 && slices.ContainsFunc(calls, func(c llms.ToolCall) bool { return !isOwn(c) })
		results = slices.DeleteFunc(results, func(r llms.ToolResult) bool {
			return slices.ContainsFunc(calls, func(c llms.ToolCall) bool { return c.ID == r.CallID })
		})
		return worked && len(results) == 0
	}
}

// Asking returns the prompt of a turn that asked something and was answered without a
// tool. Where older text has the words of the prompt, the reply rests on that text.
func Asking(turn []store.Message) (prompt string, ok bool) {
	for i, m := range turn {
		if len(m.Body.ToolCalls())+len(m.Body.ToolResults()) > 0 {
			return "", false
		}
		if i == 0 {
			prompt = m.Body.PlainText()
			ok = m.Body.Role == llms.RoleUser && asks(prompt)
		}
	}
	return prompt, ok
}

// runsOwn matches the arguments of a shell that runs a command of lcm that reads the record.
var runsOwn = lazyregexp.New(`(?:^|[\s"'/;&|(])lcm(?:\s+-\S+(?:\s+[^-\s]\S*)?)*?\s+(?:grep|ask|show|describe|why|expand|context|brief|tree|conversations)\b`)

// question matches the beginning of a question.
var question = lazyregexp.New(`^(?:\W*(?:and|but|so|ok|okay|hey|hi|und|aber|also)\b)*\W*(?:` +
	`what|which|who|whose|where|when|why|how|did|do we|does|is|are|was|were|have we|remind|recall|tell me|look up|` +
	`welche[rsnm]?|wer|wem|wen|wo|wann|warum|wieso|weshalb|wie|wor?(?:mit|auf|an|in)|haben wir|hatten wir|hast du|erinner\w*|sag mir|such)\b`)

// asks reports whether a prompt is a question, with or without its mark.
func asks(prompt string) bool {
	return analysis.EndsWithQuestion([]byte(prompt)) || question().MatchString(strings.ToLower(prompt))
}
