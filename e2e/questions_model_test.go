//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// stage is a scripted model that plays one turn at a time.
type stage struct {
	mu    sync.Mutex
	turn  turnScript
	title string
	turns int // that were set
}

// turnScript has the steps of the model after a prompt.
type turnScript struct {
	prompt string
	steps  []func(r llms.Request) llmtest.Reply
}

func (s *stage) set(t turnScript, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.title = t, title
	s.turns++
}

// play answers with the step that follows the calls made since the prompt.
func (s *stage) play(r llms.Request) llmtest.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.Tools) == 0 {
		return llmtest.Say(s.title) // a side request
	}
	step := -1
	for _, m := range r.Messages {
		if m.Role == llms.RoleUser && says(m, s.turn.prompt) {
			step = 0
		}
		if step >= 0 && m.Role == llms.RoleAssistant && len(m.ToolCalls()) > 0 {
			step++
		}
	}
	if step < 0 || step >= len(s.turn.steps) {
		return llmtest.Say("There is nothing to do.")
	}
	reply := s.turn.steps[step](r)
	for i := range reply.Calls {
		// As with a real model, no two calls of a host have the same id: lcm
		// finds the session of a call by it.
		reply.Calls[i].ID = fmt.Sprintf("call_%d_%d_%d", s.turns, step, i)
	}
	return reply
}

// says reports whether a message is the prompt. opencode puts it in quotes;
// hosts add blocks of their own to it.
func says(m llms.Message, prompt string) bool {
	for _, p := range m.Parts {
		text := strings.TrimSpace(p.Text)
		if p.Kind == llms.PartText && (text == prompt || text == `"`+strings.ReplaceAll(prompt, `"`, `\"`)+`"`) {
			return true
		}
	}
	return false
}

// replay is a turn of the history as the model plays it. Tool calls become
// calls of the host's shell, which prints what the tool printed then.
func replay(t turn) turnScript {
	script := turnScript{prompt: t.prompt}
	text := ""
	for _, u := range t.does {
		if u.Tool == "" {
			text = strings.TrimPrefix(text+"\n\n"+u.Text, "\n\n")
			continue
		}
		before, command := text, ": <<'SAID'\n"+u.shell()+"\nSAID\ncat <<'SAID'\n"+u.Output+"\nSAID"
		text = ""
		script.steps = append(script.steps, func(r llms.Request) llmtest.Reply {
			for _, t := range r.Tools {
				switch t.Name {
				case "Bash", "bash":
					return llmtest.Reply{Text: before}.And(t.Name, map[string]any{"command": command, "description": "Runs a command"})
				case "exec_command":
					return llmtest.Reply{Text: before}.And(t.Name, map[string]any{"cmd": command})
				}
			}
			return llmtest.Say("There is no shell.")
		})
	}
	if text == "" {
		text = "Done."
	}
	script.steps = append(script.steps, func(llms.Request) llmtest.Reply { return llmtest.Say(text) })
	return script
}

// call is a way in which a model looks for the answer to a question, with no
// argument but those that the tool asks for.
type call struct {
	name, tool string
	args       func(q question) map[string]any
}

var calls = []call{
	{"grep keyword", "lcm_grep", func(q question) map[string]any { return map[string]any{"pattern": q.Keyword} }},
	{"grep question", "lcm_grep", func(q question) map[string]any {
		return map[string]any{"pattern": q.Question, "mode": "full_text"}
	}},
	{"expand_query", "lcm_expand_query", func(q question) map[string]any {
		return map[string]any{"query": q.Query, "prompt": q.Question}
	}},
}

// asking is a turn in which the model makes all the calls, beginning with a
// given one, and then says nothing that could answer the question.
func asking(q question, first int) turnScript {
	script := turnScript{prompt: q.Question}
	for i := range calls {
		c := calls[(first+i)%len(calls)]
		script.steps = append(script.steps, func(r llms.Request) llmtest.Reply { return llmtest.Call(offered(r, c.tool), c.args(q)) })
	}
	script.steps = append(script.steps, func(llms.Request) llmtest.Reply { return llmtest.Say("Thank you.") })
	return script
}
