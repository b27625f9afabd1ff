//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

// scene is the play that a prompt names: "play:recall".
var scene = regexp.MustCompile(`play:(\w+)`)

// contextBlock is the block of context. Copilot CLI puts it into the prompt, and others escape it.
var contextBlock = regexp.MustCompile(`(?s)(?:<|&lt;)lcm-context.*?(?:<|&lt;)/lcm-context`)

// play answers as the newest prompt says, by how often tools were called
// since.
func play(r llms.Request) llmtest.Reply {
	name, said, steps, last := "", "", 0, ""
	for _, m := range r.Messages {
		if m.Role == llms.RoleAssistant && len(m.ToolCalls()) > 0 {
			steps++
		}
		for _, res := range m.ToolResults() {
			for _, p := range res.Output {
				last = p.Text
			}
		}
		if m.Role == llms.RoleUser {
			// The block of context quotes earlier prompts; what the user
			// says now comes last.
			for _, p := range m.Parts {
				if found := scene.FindAllStringSubmatch(contextBlock.ReplaceAllString(p.Text, ""), -1); p.Kind == llms.PartText && found != nil {
					name, said, steps = found[len(found)-1][1], p.Text, 0
				}
			}
		}
	}
	if len(r.Tools) == 0 && strings.Contains(llmtest.LastUserText(r), "<state_snapshot>") {
		return llmtest.Say("<state_snapshot>Something about a harbour.</state_snapshot>")
	}
	if len(r.Tools) == 0 {
		return llmtest.Say("The harbour gate")
	}
	if said := llmtest.LastUserText(r); strings.Contains(said, "summary of the conversation") || strings.Contains(said, "CONTEXT CHECKPOINT") {
		return llmtest.Say("<summary>Something about a harbour.</summary>")
	}
	reply := llmtest.Say("I was told nothing.")
	switch name {
	case "tell":
		reply = telling(r, said, steps)
	case "recall":
		reply = recalling(r, steps, last)
	case "fail":
		reply = failing(r, steps)
	}
	for i := range reply.Calls { // lcm finds the session of a call by its id
		reply.Calls[i].ID = fmt.Sprintf("call_%s_%d_%d", name, steps, i)
	}
	return reply
}

func telling(r llms.Request, said string, step int) llmtest.Reply {
	if step > 0 {
		return llmtest.Say("Noted: the gate " + opens.FindString(said) + ".")
	}
	return runs(r, "cat notes.txt")
}

// failing calls a command with a flag that it does not have, and then without.
func failing(r llms.Request, step int) llmtest.Reply {
	switch step {
	case 0:
		return runs(r, badCall)
	case 1:
		return runs(r, goodCall)
	}
	return llmtest.Say("It is low tide.")
}

const (
	badCall  = "ls --harbour notes.txt"
	goodCall = "ls -l notes.txt"
)

// runs runs a command with the tool that the host offers for it.
func runs(r llms.Request, command string) llmtest.Reply {
	for _, t := range r.Tools {
		switch t.Name {
		case "Bash", "bash":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"command": command, "description": "Reads the notes"})
		case "run_shell_command":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"command": command, "description": "Reads the notes", "is_background": false})
		case "run_commands":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"commands": []string{command}})
		case "exec":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"command": command})
		case "exec_command":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"cmd": command})
		case "Execute":
			return llmtest.Reply{Text: "Looking at the tide."}.And(t.Name, map[string]any{"command": command, "summary": "Reads the notes",
				"riskLevel": "low", "riskLevelReason": "It only reads."})
		}
	}
	return llmtest.Say("There is no shell.")
}

var opens = regexp.MustCompile(`opens with [\w-]+`)

var messageID = regexp.MustCompile(`msg_\d+`)

// recalling goes the way that agents are taught: grep, describe, expand. Where lcm's tools are
// not listed, it looks for them first, as the server's instructions say.
func recalling(r llms.Request, step int, last string) llmtest.Reply {
	switch {
	case offers(r, toolSearch): // Droid shows lcm's tools when they are looked for
		if step--; step < 0 {
			return llmtest.Call(toolSearch, searchTools)
		}
	case offers(r, bridge) && offered(r, "lcm_grep") == "lcm_grep" && !offers(r, "lcm_grep"): // Qwen Code does not list them
		if step--; step < 0 {
			return llmtest.Call("tool_search", map[string]any{"query": "lcm_grep"})
		}
	}
	if step == 3 && offers(r, "lcm_grep") && !offers(r, "expand") { // OpenClaw's plugin has the three tools that look
		step++
	}
	switch step {
	case 0:
		return use(r, "lcm_grep", map[string]any{"pattern": "harbour"})
	case 1:
		return use(r, "lcm_describe", map[string]any{"id": messageID.FindString(last)})
	case 2:
		return use(r, "lcm_expand_query", map[string]any{"query": "harbour gate", "prompt": "What opens the harbour gate?"})
	case 3:
		return use(r, "expand", map[string]any{"subject_type": "tool", "subject_name": "lcm_grep"})
	}
	return llmtest.Say("It opens with " + needle + ".")
}

// bridge is the tool with which Qwen Code calls tools that it does not list.
const bridge = "tool_call"

// use calls a tool of lcm's, through the bridge if it is not listed.
func use(r llms.Request, tool string, args map[string]any) llmtest.Reply {
	for _, t := range r.Tools {
		if t.Name == bridge && offered(r, tool) == tool && !offers(r, tool) {
			return llmtest.Call(bridge, map[string]any{"name": "mcp__lcm__" + tool, "arguments": args})
		}
	}
	return llmtest.Call(offered(r, tool), args)
}

// toolSearch is the tool with which a model of Droid finds lcm's, and searchTools are its
// arguments.
const toolSearch = "ToolSearch"

var searchTools = map[string]any{"query": "select:lcm___" + strings.Join(everyTool(), ",lcm___")}

// everyTool are the tools that an agent gets.
func everyTool() []string { return append(toolname.Agent(), toolname.Why, tools.ExpandName) }

func offers(r llms.Request, tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t llms.ToolSpec) bool { return t.Name == tool })
}

// offered is the name under which a host offers a tool of lcm's.
func offered(r llms.Request, tool string) string {
	for _, t := range r.Tools {
		if toolOf(t.Name) == tool {
			return t.Name
		}
	}
	return tool
}

// toolOf is lcm's own name of a tool: hosts put the server's before it.
func toolOf(name string) string {
	for _, prefix := range []string{"mcp__lcm__", "mcp__plugin_lcm_lcm__", "mcp_lcm_", "lcm___", "lcm__", "lcm_", "lcm-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (strings.HasPrefix(rest, "lcm_") || rest == "expand") {
			return rest
		}
	}
	return name
}

// toolResult is a call of a tool and the result that the host gave its model.
type toolResult struct {
	tool, args, text string
}

// bridged finds the name of the tool in a call of the bridge.
var bridged = regexp.MustCompile(`"(?:name|id)":"((?:mcp__)?lcm__[^"]+)"`)

// toolResults lists the calls of some exchanges that were answered, in their
// order.
func toolResults(asked []llmtest.Exchange) []toolResult {
	results := map[string]string{}
	for _, x := range asked {
		for _, m := range x.Request.Messages {
			for _, r := range m.ToolResults() {
				var text strings.Builder
				for _, p := range r.Output {
					text.WriteString(p.Text)
				}
				results[plainID(r.CallID)] = text.String()
			}
		}
	}
	var all []toolResult
	for _, x := range asked {
		for _, c := range x.Reply.Calls {
			if text, ok := results[plainID(c.ID)]; ok {
				name := c.Name
				if m := bridged.FindStringSubmatch(c.Arguments); c.Name == bridge && m != nil {
					name = m[1]
				}
				all = append(all, toolResult{tool: toolOf(name), args: c.Arguments, text: text})
			}
		}
	}
	return all
}

// plainID is the id of a call as OpenClaw sends it back.
func plainID(id string) string { return strings.ReplaceAll(id, "_", "") }
