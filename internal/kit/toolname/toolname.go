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
)

// Agent returns the names of the tools that every agent gets, in the order in which
// it gets them.
func Agent() []string { return []string{Grep, Describe, ExpandQuery} }

// LearnMore returns the sentence that leads from an error of a tool to its guide.
func LearnMore(tool string) string {
	return fmt.Sprintf("To learn more: expand(subject_type: \"tool\", subject_name: %q, troubleshoot: true)", tool)
}

// IsOwn reports whether a tool is lcm's, under its own name or the name that a host
// gives to tools of an MCP server.
func IsOwn(name string) bool {
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if rest, ok := strings.CutPrefix(name, "lcm_lcm_"); ok {
		name = "lcm_" + rest // opencode prefixes the server's name and one underscore
	}
	return name == Expand || slices.Contains(Agent(), name)
}
