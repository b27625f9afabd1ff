package main

import (
	"strings"
	"testing"
)

// The example prints what its comments promise.
func TestExpandToolExample(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	printed := out.String()
	for _, want := range []string{
		"=== TOOL: foo ===\n\n📄 Basic Description:\nA test tool",
		"🔧 Troubleshooting:\n- If the tool fails",
		"=== AGENT: system-reasoning ===",
		"=== TOOL: expand ===",
		"Error: Tool 'nonexistent' not found in context. \n",
		"Error: Agent 'nonexistent' not found in context. \n",
		"Error: Invalid subject_type 'invalid'. Must be either 'tool' or 'agent'",
		"[SUB AGENTS]\n- system-reasoning: Breaks down complex problems into logical steps",
		`my-agent calls delegate {"agent_name":"system-reasoning","task":"How to make the build faster?"}`,
		"my-agent: Measure before you change anything.",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is not printed", want)
		}
	}
}
