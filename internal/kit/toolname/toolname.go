// Package toolname has the names of lcm's tools. Every list of the tools is made
// from it: the tools of a session, the tools that a host must offer, and the calls
// that searches leave out.
package toolname

import (
	"fmt"
	"slices"
	"strings"
)

// The names.
const (
	Grep        = "lcm_grep"
	Describe    = "lcm_describe"
	ExpandQuery = "lcm_expand_query"
	Expand      = "lcm_expand" // only sub-agents have it
	Why         = "lcm_why"    // only where the project's files are
	LLMMap      = "llm_map"
	AgenticMap  = "agentic_map"
)

// Agent returns the names of the tools that every agent gets, in the order in which
// it gets them.
func Agent() []string { return []string{Grep, Describe, ExpandQuery} }

// Short returns the name without lcm's own, as a verb has it.
func Short(name string) string { return strings.TrimPrefix(name, "lcm_") }

// LearnMore returns the sentence that leads from an error of a tool to its guide.
func LearnMore(tool string) string {
	return fmt.Sprintf("To learn more: expand(subject_type: \"tool\", subject_name: %q, troubleshoot: true)", tool)
}

// IsOwn reports whether a tool is lcm's, under its own name or the name that a host
// gives to tools of an MCP server: mcp__lcm__lcm_grep, lcm_lcm_grep, lcm-expand.
func IsOwn(name string) bool {
	if server, ok := strings.CutSuffix(name, "expand"); ok {
		plain := strings.TrimRight(server, "_-")
		return plain != server && strings.HasSuffix(plain, "lcm")
	}
	return slices.ContainsFunc(append(Agent(), Why), func(tool string) bool {
		server, ok := strings.CutSuffix(name, tool)
		return ok && (server == "" || strings.HasSuffix(server, "_") || strings.HasSuffix(server, "-"))
	})
}

// IsSearch reports whether a call looks for lcm's tools or has one of them explained: some
// hosts show a model only the tools that it has looked for, and others give it expand under
// its plain name.
func IsSearch(name, arguments string) bool {
	plain := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return (strings.HasSuffix(plain, "toolsearch") || plain == "expand") && strings.Contains(arguments, "lcm")
}
