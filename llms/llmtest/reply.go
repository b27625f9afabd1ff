package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/llms"
)

// Responder answers requests. It must be safe for concurrent use.
type Responder func(r llms.Request) Reply

// Reply is the answer to one request.
type Reply struct {
	// ID is the end of the answer's id on the wire, as in msg_ID. Empty: the
	// server numbers its answers.
	ID        string
	Reasoning string // before the text
	// Signature is the provider's seal of Reasoning, which clients send back.
	// Empty: a fixed one.
	Signature string
	Text      string // of the reply
	// Calls are the tools it calls. A call without an id is given one.
	Calls []llms.ToolCall
	// Stop is derived from the rest when empty.
	Stop llms.StopReason
	// Usage is estimated from the texts when zero.
	Usage llms.Usage
	// Fault makes the reply fail; nil is a good one.
	Fault *Fault
}

// Say returns a reply of text alone.
func Say(text string) Reply { return Reply{Text: text} }

// Call returns a reply that calls one tool. args is marshalled; a string is
// taken as the JSON text itself, valid or not.
func Call(tool string, args any) Reply { return Reply{}.And(tool, args) }

// And returns the reply with one more tool call.
func (r Reply) And(tool string, args any) Reply {
	text, ok := args.(string)
	if !ok {
		raw, err := json.Marshal(args)
		if err != nil {
			raw = []byte(fmt.Sprintf("%q", err)) // shows up in the test that wrote it
		}
		text = string(raw)
	}
	r.Calls = append(r.Calls[:len(r.Calls):len(r.Calls)], llms.ToolCall{Name: tool, Arguments: text})
	return r
}

// Script returns a responder that gives the replies one after the other. It fails
// every request after the last.
func Script(replies ...Reply) Responder {
	var mu sync.Mutex
	next := 0
	return func(llms.Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(replies) {
			return scriptEnd(next)
		}
		next++
		return replies[next-1]
	}
}

// ByTurn returns a responder that gives the reply whose index is the number of
// the model's turns in the request.
func ByTurn(replies ...Reply) Responder {
	return func(r llms.Request) Reply {
		turn := Turn(r)
		if turn >= len(replies) {
			return scriptEnd(turn)
		}
		return replies[turn]
	}
}

// Turn counts how often the model has spoken in a conversation. Messages in a
// row count once: some shapes write one turn as several.
func Turn(r llms.Request) int {
	turns, spoke := 0, false
	for _, m := range r.Messages {
		if m.Role == llms.RoleAssistant && !spoke {
			turns++
		}
		spoke = m.Role == llms.RoleAssistant
	}
	return turns
}

func scriptEnd(n int) Reply {
	return Status(http.StatusBadRequest, fmt.Sprintf("the script has no reply number %d", n+1))
}

// finished returns the reply with everything derived filled in.
func (r Reply) finished(request llms.Request) Reply {
	calls := make([]llms.ToolCall, len(r.Calls))
	for i, call := range r.Calls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", len(request.Messages), i+1)
		}
		calls[i] = call
	}
	r.Calls = calls
	if r.Signature == "" {
		r.Signature = "c2NyaXB0ZWQ="
	}
	if r.Stop == "" {
		r.Stop = llms.StopEnd
		if len(calls) > 0 {
			r.Stop = llms.StopToolCalls
		}
	}
	if r.Usage == (llms.Usage{}) {
		r.Usage = llms.Usage{InputTokens: inputTokens(request), OutputTokens: r.outputTokens()}
	}
	return r
}

// inputTokens estimates the size of a request, so that a ledger has something
// to add up.
func inputTokens(r llms.Request) int {
	counter := llms.Estimate
	n := counter.Count(r.System)
	for _, m := range r.Messages {
		n += llms.CountMessage(counter, m)
	}
	for _, t := range r.Tools {
		n += counter.Count(t.Name) + counter.Count(t.Description) + counter.Count(string(t.Parameters))
	}
	return max(n, 1)
}

// inputOf is the part of a usage that is known before the first word.
func inputOf(u llms.Usage) llms.Usage {
	u.OutputTokens = 0
	return u
}

func (r Reply) outputTokens() int {
	counter := llms.Estimate
	n := counter.Count(r.Reasoning) + counter.Count(r.Text)
	for _, call := range r.Calls {
		n += counter.Count(call.Name) + counter.Count(call.Arguments)
	}
	return max(n, 1)
}

// pieces cuts a text the way models stream it.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// LastUserText returns the user's last message, for responders that decide by it.
func LastUserText(r llms.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == llms.RoleUser {
			return r.Messages[i].PlainText()
		}
	}
	return ""
}
