package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
)

//go:embed expand.md
var expandText string

// The subject types of expand.
const (
	SubjectTool  = "tool"
	SubjectAgent = "agent"
)

// ExpandName is the name of the expand tool.
const ExpandName = "expand"

// expandArgs describes the arguments to a model. Calls are not checked against it:
// the tool's own error texts are part of its contract, and no other may come first.
type expandArgs struct {
	SubjectType  string `json:"subject_type" enum:"tool,agent" description:"The type of subject to expand"`
	SubjectName  string `json:"subject_name" description:"The exact name of the tool or agent (case-sensitive)"`
	Troubleshoot bool   `json:"troubleshoot" default:"false" description:"Whether to include troubleshooting information"`
}

// ExpandTool is the tool "expand". It finds its subjects in the agent context
// that it is called with, and is itself one of them. Package agents gives it that
// context; a loop of your own passes [core.WithAgentContext], or names the tools to
// [NewExpandTool].
type ExpandTool struct {
	*core.FuncTool // name, schema and descriptions
	beside         []core.Tool
}

// NewExpandTool returns the tool "expand". It also describes the tools that it is given,
// where the agent context has none of their names.
func NewExpandTool(beside ...core.Tool) *ExpandTool {
	info := core.MustToolInfo(ExpandName, expandText)
	info.Behavior.ReadOnly = true
	described := core.MustTool(info,
		func(context.Context, expandArgs) (core.Result, error) { return core.Result{}, nil })
	return &ExpandTool{described, beside}
}

// Run implements [core.Tool]. It reads the arguments with good will: whatever
// a model sends is answered with a description or one of the three errors.
func (t *ExpandTool) Run(ctx context.Context, args map[string]any) (core.Result, error) {
	ac := core.AgentContextFrom(ctx)
	subjectType, name := text(args["subject_type"]), text(args["subject_name"])
	return Expand(slices.Concat(ac.Tools(), t.beside, []core.Tool{t}), ac.SubAgents(), subjectType, name, truth(args["troubleshoot"])), nil
}

// Call implements [core.Tool].
func (t *ExpandTool) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(t, ac, args)
}

// Expand describes one of the given tools or sub-agents, as the expand tool does.
// IsError is set if the text is an error.
func Expand(tools []core.Tool, subAgents []core.SubAgent, subjectType, name string, troubleshoot bool) core.Result {
	switch subjectType {
	case SubjectTool:
		for _, t := range tools {
			if !core.IsNil(t) && t.GetName() == name {
				return describe("Tool", name, t, troubleshoot)
			}
		}
		return failure("Tool '%s' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools.", name)
	case SubjectAgent:
		for _, a := range subAgents {
			if !core.IsNil(a) && a.Name() == name {
				return describe("Agent", name, a, troubleshoot)
			}
		}
		return agentNotFound(name)
	}
	return failure("Invalid subject_type '%s'. Must be either 'tool' or 'agent'", subjectType)
}

func agentNotFound(name string) core.Result {
	return failure("Agent '%s' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS].", name)
}

func failure(format string, args ...any) core.Result {
	return core.Result{Text: core.ErrorPrefix + fmt.Sprintf(format, args...), IsError: true}
}

// describe renders a subject. kind is "Tool" or "Agent".
func describe(kind, name string, subject any, troubleshoot bool) core.Result {
	d, ok := core.AsDiscoverable(subject)
	if !ok {
		return failure("%s '%s' exists but is not Discoverable: it has no descriptions to expand.", kind, name)
	}
	sections := []string{
		fmt.Sprintf("=== %s: %s ===", strings.ToUpper(kind), name),
		section("📄 Basic Description:", d.BasicDescription(), kind, "basic description"),
		section("📚 Advanced Description:", d.AdvanceDescription(), kind, "advanced description"),
	}
	if troubleshoot {
		sections = append(sections, section("🔧 Troubleshooting:", d.Troubleshooting(), kind, "troubleshooting information"))
	}
	return core.TextResult(strings.Join(sections, "\n\n"))
}

func section(heading, body, kind, what string) string {
	body = strings.Trim(body, "\r\n")
	if strings.TrimSpace(body) == "" {
		body = fmt.Sprintf("This %s has no %s.", strings.ToLower(kind), what)
	}
	return heading + "\n" + body
}

// text reads an argument as text, whatever type a model gave it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return string(raw)
}

// truth reads an argument as a boolean. Models quote booleans now and then.
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(strings.TrimSpace(v), "true")
	}
	return false
}
