package retention

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// FromMessages renders messages as the sources of summaries.
func FromMessages(messages []llms.Message) []summary.Source {
	out := make([]summary.Source, len(messages))
	for i, m := range messages {
		out[i] = summary.Source{
			ID: fmt.Sprintf("msg_%d", i+1), Seq: int64(i + 1), Role: m.Role, Time: m.Time,
			Text: m.Render(), Tokens: llms.CountMessage(llms.Estimate, m),
			Tool: m.Role == llms.RoleTool || len(m.ToolResults()) > 0,
		}
	}
	return out
}
