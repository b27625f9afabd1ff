package tools_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// reasoning is a sub-agent with texts; it is not asked anything here.
type reasoning struct{ name, basic, advanced, trouble string }

func (r reasoning) Name() string               { return r.name }
func (r reasoning) BasicDescription() string   { return r.basic }
func (r reasoning) AdvanceDescription() string { return r.advanced }
func (r reasoning) Troubleshooting() string    { return r.trouble }
func (r reasoning) ChatStream(message string) core.IResponseChStarter {
	return core.StarterFunc(func(context.Context, func(core.Event)) (string, error) { return message, nil })
}

func systemReasoning() reasoning {
	return reasoning{
		name:  "system-reasoning",
		basic: "Breaks down complex problems into logical steps",
		advanced: "Advanced Details:\n" +
			"- Purpose: Breaks down complex problems into logical, actionable steps\n" +
			"- Reasoning Style: Uses 🔎 markers to show thought process",
		trouble: `- "Rejection response": If the agent rejects your query, ensure you're asking a "how to" question`,
	}
}

// mute is a tool that says nothing about itself.
type mute struct{}

func (mute) GetName() string             { return "mute" }
func (mute) Parameters() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
func (m mute) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(m, ac, args)
}
func (mute) Run(context.Context, map[string]any) (core.Result, error) { return core.Result{}, nil }

func bare(t *testing.T, name string) core.Tool {
	t.Helper()
	tool, err := core.NewTool(core.ToolInfo{Name: name}, func(context.Context, struct{}) (core.Result, error) {
		return core.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// agentContext is written as a developer would write it by hand.
func agentContext(t *testing.T) map[string]any {
	t.Helper()
	return map[string]any{
		"tools":     []llms.Tool{tools.NewFooTool(), tools.NewExpandTool(), mute{}, bare(t, "bare"), bare(t, "Foo")},
		"subAgents": []core.SubAgent{systemReasoning(), reasoning{name: "silent"}},
	}
}

func expand(t *testing.T, args map[string]any) string {
	t.Helper()
	return tools.NewExpandTool().Call(agentContext(t), args)
}

func TestExpandToolParameters(t *testing.T) {
	var schema struct {
		Type       string
		Properties map[string]struct {
			Type        string
			Enum        []string
			Default     any
			Description string
		}
		Required []string
	}
	if err := json.Unmarshal(tools.NewExpandTool().Parameters(), &schema); err != nil {
		t.Fatal(err)
	}
	t.Run("there are three", func(t *testing.T) {
		if len(schema.Properties) != 3 || schema.Type != "object" {
			t.Errorf("got %+v", schema)
		}
	})
	t.Run("subject_type is a required string of two values", func(t *testing.T) {
		p := schema.Properties["subject_type"]
		if p.Type != "string" || !cmp.Equal(p.Enum, []string{"tool", "agent"}) || p.Description == "" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("subject_name is a required string", func(t *testing.T) {
		if p := schema.Properties["subject_name"]; p.Type != "string" || p.Description == "" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("troubleshoot is an optional boolean, default false", func(t *testing.T) {
		if p := schema.Properties["troubleshoot"]; p.Type != "boolean" || p.Default != false || p.Description == "" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("two are required", func(t *testing.T) {
		if !cmp.Equal(schema.Required, []string{"subject_type", "subject_name"}) {
			t.Errorf("got %v", schema.Required)
		}
	})
	t.Run("the name is expand", func(t *testing.T) {
		if got := tools.NewExpandTool().GetName(); got != "expand" {
			t.Errorf("got %q", got)
		}
	})
}

func TestExpandToolOutput(t *testing.T) {
	tests := []struct {
		name, subjectType, subject string
		troubleshoot               bool
	}{
		{"foo", "tool", "foo", false},
		{"foo_troubleshoot", "tool", "foo", true},
		{"agent", "agent", "system-reasoning", false},
		{"agent_troubleshoot", "agent", "system-reasoning", true},
		{"itself_troubleshoot", "tool", "expand", true},
		{"no_texts", "agent", "silent", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			golden(t, test.name, expand(t, map[string]any{
				"subject_type": test.subjectType, "subject_name": test.subject, "troubleshoot": test.troubleshoot,
			}))
		})
	}
}

// The golden files hold the layout; this holds the lines that a reader of the
// contract looks for, one by one.
func TestExpandToolLayout(t *testing.T) {
	got := expand(t, map[string]any{"subject_type": "tool", "subject_name": "foo", "troubleshoot": true})
	lines := strings.Split(got, "\n")
	want := []string{
		"=== TOOL: foo ===",
		"",
		"📄 Basic Description:",
		"A test tool that returns the echo argument. Use this to test only.",
		"",
		"📚 Advanced Description:",
		"Advanced Details:",
		"- Parameters: ",
		"  * echo (string, required): The text to echo back",
		"- Behavior: Returns the input string unchanged",
		"- Usage: Primarily for testing tool invocation and response handling",
		"- Performance: Instant response with no side effects",
		"",
		"🔧 Troubleshooting:",
		"- If the tool fails, ensure the 'echo' parameter is provided as a string",
		"- Empty strings are valid and will be returned as-is",
		"- This tool has no external dependencies and should always succeed if called correctly",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	without := expand(t, map[string]any{"subject_type": "tool", "subject_name": "foo", "troubleshoot": false})
	if diff := cmp.Diff(strings.Join(want[:12], "\n"), without); diff != "" {
		t.Errorf("without troubleshooting (-want +got):\n%s", diff)
	}
	agent := expand(t, map[string]any{"subject_type": "agent", "subject_name": "system-reasoning"})
	if first, _, _ := strings.Cut(agent, "\n"); first != "=== AGENT: system-reasoning ===" {
		t.Errorf("heading of an agent: %q", first)
	}
}

func TestExpandToolTroubleshoot(t *testing.T) {
	const marker = "🔧 Troubleshooting:"
	for _, test := range []struct {
		name  string
		value any
		want  bool
	}{
		{"not given", nil, false}, {"false", false, false}, {"true", true, true},
		{"quoted true", "True", true}, {"quoted false", "false", false}, {"a number", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := map[string]any{"subject_type": "tool", "subject_name": "foo"}
			if test.value != nil {
				args["troubleshoot"] = test.value
			}
			got := expand(t, args)
			if strings.Contains(got, marker) != test.want {
				t.Errorf("troubleshooting is shown: %v, want %v", !test.want, test.want)
			}
			if !strings.Contains(got, "📄 Basic Description:") || !strings.Contains(got, "📚 Advanced Description:") {
				t.Error("a section that is always included is missing")
			}
		})
	}
}

func TestExpandToolErrors(t *testing.T) {
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"tool not found", map[string]any{"subject_type": "tool", "subject_name": "nonexistent"},
			"Error: Tool 'nonexistent' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."},
		{"agent not found", map[string]any{"subject_type": "agent", "subject_name": "nonexistent"},
			"Error: Agent 'nonexistent' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS]."},
		{"invalid subject type", map[string]any{"subject_type": "invalid", "subject_name": "foo"},
			"Error: Invalid subject_type 'invalid'. Must be either 'tool' or 'agent'"},
		{"names are case-sensitive", map[string]any{"subject_type": "tool", "subject_name": "FOO"},
			"Error: Tool 'FOO' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."},
		{"names are exact", map[string]any{"subject_type": "agent", "subject_name": "system-reasoning "},
			"Error: Agent 'system-reasoning ' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS]."},
		{"subject types are case-sensitive", map[string]any{"subject_type": "Tool", "subject_name": "foo"},
			"Error: Invalid subject_type 'Tool'. Must be either 'tool' or 'agent'"},
		{"a tool is no agent", map[string]any{"subject_type": "agent", "subject_name": "foo"},
			"Error: Agent 'foo' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS]."},
		{"an agent is no tool", map[string]any{"subject_type": "tool", "subject_name": "system-reasoning"},
			"Error: Tool 'system-reasoning' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."},
		{"no subject type", map[string]any{"subject_name": "foo"}, "Error: Invalid subject_type ''. Must be either 'tool' or 'agent'"},
		{"no name", map[string]any{"subject_type": "tool"},
			"Error: Tool '' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."},
		{"no arguments", nil, "Error: Invalid subject_type ''. Must be either 'tool' or 'agent'"},
		{"a number for a type", map[string]any{"subject_type": 5, "subject_name": "foo"},
			"Error: Invalid subject_type '5'. Must be either 'tool' or 'agent'"},
		{"a list for a name", map[string]any{"subject_type": "tool", "subject_name": []any{"foo"}},
			"Error: Tool '[\"foo\"]' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."},
		{"exists but is not Discoverable", map[string]any{"subject_type": "tool", "subject_name": "mute"},
			"Error: Tool 'mute' exists but is not Discoverable: it has no descriptions to expand."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, expand(t, test.args)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			ctx := core.WithAgentContext(t.Context(), agentContext(t))
			result, err := tools.NewExpandTool().Run(ctx, test.args)
			if err != nil || !result.IsError || result.Text != test.want {
				t.Errorf("Run: %+v, %v", result, err)
			}
		})
	}
}

func TestExpandToolNamesDifferInCase(t *testing.T) {
	got := expand(t, map[string]any{"subject_type": "tool", "subject_name": "Foo"})
	if !strings.HasPrefix(got, "=== TOOL: Foo ===") || !strings.Contains(got, "This tool has no advanced description.") {
		t.Errorf("got %q", got)
	}
}

func TestExpandToolWithoutTexts(t *testing.T) {
	got := expand(t, map[string]any{"subject_type": "tool", "subject_name": "bare", "troubleshoot": true})
	for _, want := range []string{
		"📄 Basic Description:\nThis tool has no basic description.",
		"📚 Advanced Description:\nThis tool has no advanced description.",
		"🔧 Troubleshooting:\nThis tool has no troubleshooting information.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from %q", want, got)
		}
	}
}

func TestExpandToolContext(t *testing.T) {
	args := map[string]any{"subject_type": "tool", "subject_name": "foo"}
	t.Run("an empty context finds nothing and does not fail", func(t *testing.T) {
		for _, ac := range []core.AgentContext{nil, {}, {"tools": nil, "subAgents": nil}, {"tools": "foo"}} {
			if got := tools.NewExpandTool().Call(ac, args); !strings.HasPrefix(got, "Error: Tool 'foo' not found") {
				t.Errorf("%v: %q", ac, got)
			}
		}
	})
	t.Run("it expands itself also where it is not listed", func(t *testing.T) {
		got := tools.NewExpandTool().Call(nil, map[string]any{"subject_type": "tool", "subject_name": "expand"})
		if !strings.HasPrefix(got, "=== TOOL: expand ===") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the context is not changed", func(t *testing.T) {
		listed := make([]llms.Tool, 1, 4)
		listed[0] = tools.NewFooTool()
		tools.NewExpandTool().Call(map[string]any{"tools": listed}, args)
		if listed[:2][1] != nil {
			t.Error("the caller's slice was written to")
		}
	})
	t.Run("a hooked tool explains itself", func(t *testing.T) {
		ac := core.AgentContext{"tools": []llms.Tool{tools.WithHooks(tools.NewFooTool(), tools.Hook{})}}
		if got := tools.NewExpandTool().Call(ac, args); !strings.HasPrefix(got, "=== TOOL: foo ===") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("nil entries are passed over", func(t *testing.T) {
		ac := core.AgentContext{"tools": []llms.Tool{nil, tools.NewFooTool()}, "subAgents": []core.SubAgent{nil}}
		if got := tools.NewExpandTool().Call(ac, args); !strings.HasPrefix(got, "=== TOOL: foo ===") {
			t.Errorf("got %q", got)
		}
	})
}

func TestFooTool(t *testing.T) {
	foo := tools.NewFooTool()
	for args, want := range map[string]string{"hello": "hello", "": ""} {
		if got := foo.Call(nil, map[string]any{"echo": args}); got != want {
			t.Errorf("foo(%q) = %q", args, got)
		}
	}
	if got := foo.Call(nil, nil); !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, `"echo"`) {
		t.Errorf("without its argument: %q", got)
	}
}

// Prose that names a parameter that does not exist sends a model astray.
func TestTextsNameTheRealParameters(t *testing.T) {
	for _, tool := range []interface {
		core.Tool
		core.Discoverable
	}{tools.NewFooTool(), tools.NewExpandTool(), tools.NewDelegateTool()} {
		t.Run(tool.GetName(), func(t *testing.T) {
			schema, err := core.ParseSchema(tool.Parameters())
			if err != nil {
				t.Fatal(err)
			}
			named := map[string]bool{}
			for line := range strings.Lines(tool.AdvanceDescription()) {
				if rest, ok := strings.CutPrefix(line, "  * "); ok {
					name, _, _ := strings.Cut(rest, " ")
					named[name] = true
				}
			}
			real := map[string]bool{}
			for _, name := range schema.Properties() {
				real[name] = true
			}
			if diff := cmp.Diff(real, named); diff != "" {
				t.Errorf("parameters (-real +named):\n%s", diff)
			}
			if tool.Troubleshooting() == "" || strings.Contains(tool.BasicDescription(), "\n") {
				t.Error("a text is missing, or the basic description has more than one line")
			}
		})
	}
}

// What a constructor whose error was ignored leaves behind is not there.
func TestNilSubjectsAreNotFound(t *testing.T) {
	var nilTool *core.FuncTool
	ts, as := []core.Tool{nil, nilTool}, []core.SubAgent{nil, (*seedNil)(nil)}
	for subject, want := range map[string]string{"tool": "Error: Tool 'x' not found", "agent": "Error: Agent 'x' not found"} {
		if got := tools.Expand(ts, as, subject, "x", false); !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: %q", subject, got.Text)
		}
		got := tools.NewExpandTool().Call(core.AgentContext{"tools": ts, "subAgents": as}, map[string]any{"subject_type": subject, "subject_name": "x"})
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s through the context: %q", subject, got)
		}
	}
}

// seedNil is an agent whose methods need one.
type seedNil struct{ core.SubAgent }
