package agents

import (
	_ "embed"
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
	var b strings.Builder
	for _, section := range sections {
		if section = strings.TrimSpace(section); section == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(section)
	}
	return b.String()
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
