package agents

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/tools"
)

//go:embed prompt.md
var promptText string

var promptTemplate = template.Must(template.New("prompt.md").Parse(promptText))

// line is one capability in the system prompt.
type line struct{ Name, Text string }

// systemPrompt writes the prompt: the agent's own, then one line for each tool
// and sub-agent, then what its memory has to say.
func systemPrompt(c AgentConfig) (string, error) {
	view := struct {
		System    string
		Tools     []line
		SubAgents []line
		Expand    bool
		Guidance  string
	}{System: strings.TrimSpace(c.SystemPrompt), Expand: hasTool(c.Tools, tools.ExpandName)}
	for _, t := range c.Tools {
		view.Tools = append(view.Tools, line{t.GetName(), oneLine(core.BasicDescription(t))})
	}
	for _, s := range c.SubAgents {
		view.SubAgents = append(view.SubAgents, line{s.Name(), oneLine(s.BasicDescription())})
	}
	if c.Memory != nil {
		view.Guidance = strings.TrimSpace(c.Memory.Guidance())
	}
	var b strings.Builder
	if err := promptTemplate.Execute(&b, view); err != nil {
		return "", fmt.Errorf("system prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// oneLine keeps a description to its line: one that brings line breaks could
// otherwise forge entries and sections of the prompt.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
