package ingest

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
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
			p.Result != nil && toolname.IsOwn(p.Result.Name) || p.Call != nil && toolname.IsOwn(p.Call.Name)
		if !ours {
			return 0
		}
	}
	return store.FlagEcho
}
