package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/spend"
	"github.com/lossless-context/lcm/internal/sqlite/stats"
)

// spaceReport says what the file is used for, in bytes.
type spaceReport struct {
	Messages  int64 `json:"messages"` // and everything small
	Payloads  int64 `json:"payloads"`
	Summaries int64 `json:"summaries"`
	Index     int64 `json:"searchIndex"`
	Free      int64 `json:"free"`
	Log       int64 `json:"writeAheadLog"`
}

// groupReport counts what some conversations have in common.
type groupReport struct {
	Name          string `json:"name"`
	Conversations int64  `json:"conversations"`
	Messages      int64  `json:"messages"`
	Tokens        int64  `json:"tokens,omitempty"`
	Bytes         int64  `json:"bytes,omitempty"`
	Summaries     int64  `json:"summaries,omitempty"`
	Total         int64  `json:"totalMessages,omitempty"` // up to the end of a month
}

var groupings = []string{stats.ByProject, stats.ByHost, stats.ByMonth}

func checkGrouping(c *cobra.Command, by string) error {
	if by != "" && !slices.Contains(groupings, by) {
		return wrongUsage(c, fmt.Errorf("--by takes %s, not %q", strings.Join(groupings, ", "), by))
	}
	return nil
}

// groups counts conversations as --by asks.
func (ar *archive) groups(ctx context.Context, by string) ([]groupReport, error) {
	if by == "" {
		return nil, nil
	}
	found, err := stats.CountBy(ctx, ar.db.File(), by)
	all := []groupReport{}
	total := int64(0)
	for _, g := range found {
		r := groupReport{
			Name: g.Name, Conversations: g.Conversations, Messages: g.Messages, Tokens: g.Tokens, Bytes: g.Bytes, Summaries: g.Summaries,
		}
		if total += g.Messages; by == stats.ByMonth {
			r.Total = total
		}
		all = append(all, r)
	}
	return all, err
}

func (cmd *statusCommand) printGroups(by string, groups []groupReport) {
	t := newTable(by, ">conversations", ">messages", ">tokens", ">record bytes", ">summaries")
	if by == stats.ByMonth {
		t = newTable(by, ">conversations", ">messages", ">growth", ">total")
	}
	for i, g := range groups {
		name := safetext.Line(orDash(g.Name))
		if by != stats.ByMonth {
			t.add(clipLeft(name, 60), prose.Number(g.Conversations), prose.Number(g.Messages), prose.Number(g.Tokens), prose.Number(g.Bytes), prose.Number(g.Summaries))
			continue
		}
		growth := "-"
		if i > 0 && groups[i-1].Total > 0 {
			growth = fmt.Sprintf("%+.0f %%", 100*float64(g.Messages)/float64(groups[i-1].Total))
		}
		t.add(name, prose.Number(g.Conversations), prose.Number(g.Messages), growth, prose.Number(g.Total))
	}
	cmd.printTable(t)
}

func (s spaceReport) rows(t *table) {
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"  messages and indexes", s.Messages}, {"  payloads", s.Payloads}, {"  summaries", s.Summaries}, {"  search index", s.Index},
		{"  free (lcm doctor --vacuum)", s.Free}, {"  write-ahead log", s.Log},
	} {
		if part.bytes > 0 {
			t.add(part.name, prose.Size(part.bytes))
		}
	}
}

// spent adds up what models have cost.
func spent(entries []spend.Entry) (calls, in, out int64) {
	for _, e := range entries {
		calls, in, out = calls+e.Calls, in+e.InputTokens, out+e.OutputTokens
	}
	return calls, in, out
}
