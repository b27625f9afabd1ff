package ingest

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// ContextTag opens the blocks that lcm puts into an agent's context.
const ContextTag = "<lcm-context"

// echo flags lcm's own output: a message of nothing but results of its tools, or
// a context block that it injected. It also flags a message that only calls the
// tools: otherwise the newest match of a search would be the search.
func echo(m llms.Message) store.Flag {
	if len(m.Parts) == 0 {
		return 0
	}
	for _, p := range m.Parts {
		ours := p.Kind == llms.PartText && strings.HasPrefix(strings.TrimSpace(p.Text), ContextTag) ||
			p.Kind == llms.PartOther && bytes.Contains(p.Extra, []byte(ContextTag)) || // a host's record of its hook's output
			p.Result != nil && IsOwnTool(p.Result.Name) || p.Call != nil && IsOwnTool(p.Call.Name)
		if !ours {
			return 0
		}
	}
	return store.FlagEcho
}

// IsOwnTool reports whether a tool is lcm's, under its own name or the name that
// a host gives to tools of an MCP server.
func IsOwnTool(name string) bool {
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if rest, ok := strings.CutPrefix(name, "lcm_lcm_"); ok {
		name = "lcm_" + rest // opencode prefixes the server's name and one underscore
	}
	switch name {
	case "lcm_grep", "lcm_describe", "lcm_expand", "lcm_expand_query":
		return true
	}
	return false
}
