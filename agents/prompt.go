package agents

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/tools"
)

//go:embed prompts/delegate.md
var delegateHint string

//go:embed prompts/expand.md
var expandHint string

// systemPrompt returns the agent's own prompt, one line for each tool and
// sub-agent, and the guidance of its memory.
func systemPrompt(c AgentConfig) string {
	sections := []string{c.SystemPrompt}
	if len(c.Tools) > 0 {
		text := "[TOOLS]"
		for _, t := range c.Tools {
			text += promptLine(t.GetName(), core.BasicDescription(t))
		}
		sections = append(sections, text)
	}
	if len(c.SubAgents) > 0 {
		text := "[SUB AGENTS]"
		for _, s := range c.SubAgents {
			text += promptLine(s.Name(), s.BasicDescription())
		}
		sections = append(sections, text, delegateHint)
	}
	if hasTool(c.Tools, tools.ExpandName) {
		sections = append(sections, expandHint)
	}
	if c.Memory != nil {
		sections = append(sections, c.Memory.Guidance())
	}
	for i, section := range sections {
		sections[i] = strings.TrimSpace(section)
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n")
}

// promptLine returns one entry of a list. It joins the description into one
// line: line breaks could otherwise forge entries and sections of the prompt.
func promptLine(name, description string) string {
	description = strings.Join(strings.Fields(description), " ")
	if description == "" {
		return "\n- " + name
	}
	return "\n- " + name + ": " + description
}
