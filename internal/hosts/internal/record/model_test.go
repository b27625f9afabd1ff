//go:build record

package record

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// A prompt names the model's script: "play:look".
var play = regexp.MustCompile(`play:(\w+)`)

// model answers as the newest prompt says, by how often it has spoken since.
func model(r llms.Request) llmtest.Reply {
	name, steps := "", 0
	for _, m := range r.Messages {
		switch m.Role {
		case llms.RoleAssistant:
			if len(m.ToolCalls()) > 0 {
				steps++
			}
		case llms.RoleUser:
			for _, p := range m.Parts {
				if found := play.FindAllStringSubmatch(p.Text, -1); p.Kind == llms.PartText && found != nil {
					name, steps = found[len(found)-1][1], 0
				}
			}
		}
	}
	if n := len(r.Messages); n > 0 && strings.Contains(r.Messages[n-1].PlainText(), "<state_snapshot>") && len(r.Tools) == 0 { // Gemini CLI
		return llmtest.Say("<state_snapshot>The user asked what notes.txt says; it says needle-42.</state_snapshot>")
	}
	if summary(r) {
		return llmtest.Say("<summary>The user asked what notes.txt says; it says needle-42.</summary>")
	}
	if len(r.Tools) == 0 {
		return llmtest.Say("What the notes say")
	}
	return answer(r, name, steps)
}

// summary reports whether the host asks for a summary of the session.
func summary(r llms.Request) bool {
	last := ""
	if n := len(r.Messages); n > 0 {
		last = r.Messages[n-1].PlainText()
	}
	return strings.Contains(last, "summary of the conversation") || strings.Contains(last, "CONTEXT CHECKPOINT") ||
		strings.Contains(last, "create a detailed summary") || strings.Contains(last, "Provide a detailed prompt") || strings.Contains(last, "anchored summary")
}

func answer(r llms.Request, name string, step int) llmtest.Reply {
	if name == "remember" && step == 1 && offers(r, "ToolSearch") { // which loaded it
		step = 0
	}
	if step > 0 {
		return map[string]llmtest.Reply{
			"look":     {Text: "The note says needle-42."},
			"both":     {Text: "One is needle-42, the other is empty."},
			"delegate": {Text: "The helper says that the build is green."},
			"remember": {Text: "Nothing was found."},
			"flood":    {Text: "It counts to twenty thousand."},
			"fail":     {Text: "There is no such file."},
		}[name]
	}
	if offers(r, "complete_task") { // with which a sub-agent of Gemini CLI ends
		return llmtest.Call("complete_task", map[string]any{"result": map[string]any{"response": "The build is green."}})
	}
	switch name {
	case "look":
		return shell(r, llmtest.Reply{Reasoning: "The notes will tell.", Text: "Looking."}, "cat notes.txt")
	case "both":
		return shell(r, shell(r, llmtest.Reply{}, "cat notes.txt"), "cat empty.txt")
	case "fail":
		return shell(r, llmtest.Reply{}, "cat missing.txt")
	case "flood":
		return shell(r, llmtest.Reply{}, "seq 1 20000")
	case "delegate":
		return delegate(r)
	case "remember":
		switch {
		case offers(r, "tool_describe"): // OpenClaw does not list it
			return llmtest.Call("tool_call", map[string]any{"id": "lcm__lcm_grep", "args": map[string]any{"pattern": "needle-42"}})
		case offers(r, "tool_call"): // Qwen Code does not list it
			return llmtest.Call("tool_call", map[string]any{"name": "mcp__lcm__lcm_grep", "arguments": map[string]any{"pattern": "needle-42"}})
		case !offers(r, "lcm_grep") && offers(r, "ToolSearch"):
			return llmtest.Call("ToolSearch", map[string]any{"query": "select:lcm___lcm_grep"})
		}
		return llmtest.Call(tool(r, "lcm_grep"), map[string]any{"pattern": "needle-42"})
	case "other":
		return llmtest.Say("Then it is the other way round.")
	}
	return llmtest.Reply{Text: "Hello. The build is green."}
}

// offers reports whether a request has a tool, under any server's name.
func offers(r llms.Request, name string) bool {
	return slices.ContainsFunc(r.Tools, func(t llms.ToolSpec) bool { return strings.HasSuffix(t.Name, name) })
}

// tool returns the name under which a host offers a tool.
func tool(r llms.Request, name string) string {
	for _, t := range r.Tools {
		if strings.HasSuffix(t.Name, name) {
			return t.Name
		}
	}
	return name
}

func shell(r llms.Request, reply llmtest.Reply, command string) llmtest.Reply {
	for _, t := range r.Tools {
		switch t.Name {
		case "Bash", "bash":
			return reply.And(t.Name, map[string]any{"command": command, "description": "Reads a file"})
		case "run_shell_command":
			return reply.And(t.Name, map[string]any{"command": command, "description": "Reads a file", "is_background": false})
		case "run_commands":
			return reply.And(t.Name, map[string]any{"commands": []string{command}})
		case "exec":
			return reply.And(t.Name, map[string]any{"command": command})
		case "exec_command":
			return reply.And(t.Name, map[string]any{"cmd": command})
		case "Execute":
			return reply.And(t.Name, map[string]any{"command": command, "summary": "Reads a file", "riskLevel": "low", "riskLevelReason": "It only reads."})
		}
	}
	return llmtest.Say("there is no shell")
}

func delegate(r llms.Request) llmtest.Reply {
	for _, t := range r.Tools {
		switch t.Name {
		case "Agent", "agent":
			return llmtest.Call(t.Name, map[string]any{"description": "Check the build", "prompt": "Is the build green? play:hello", "subagent_type": "general-purpose"})
		case "task":
			return llmtest.Call(t.Name, map[string]any{"description": "Check the build", "prompt": "Is the build green? play:hello", "subagent_type": "general",
				"agent_type": "general-purpose", "name": "builder"})
		case "invoke_agent":
			return llmtest.Call(t.Name, map[string]any{"agent_name": "generalist", "prompt": "Is the build green? play:hello"})
		case "Task":
			return llmtest.Call(t.Name, map[string]any{"description": "Check the build", "prompt": "Is the build green? play:hello", "subagent_type": "worker", "await": true})
		case "spawn_agent":
			return llmtest.Call(t.Name, map[string]any{"systemPrompt": "You check builds.", "task": "Is the build green? play:hello"})
		case "multi_agent_v1__spawn_agent":
			return llmtest.Call(t.Name, map[string]any{"message": "Is the build green? play:hello"})
		}
	}
	return llmtest.Say("there is no helper")
}
