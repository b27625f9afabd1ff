package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
)

// statusReport is the JSON output of `lcm db status`.
type statusReport struct {
	Database string `json:"database"`
	stats.Stats
	Total int64         `json:"summaries"`
	Spent []spend.Entry `json:"spent"`
	Space stats.Space   `json:"space"`
}

type statusCommand struct{ *program }

func newStatus(p *program) *cobra.Command {
	cmd := &statusCommand{program: p}
	c := &cobra.Command{
		Use:   "status",
		Short: "Count what the database holds",
		Args:  usage(cobra.NoArgs),
		RunE:  cmd.runs(toRead, cmd.run),
	}
	return cmd.jsonFlag(c)
}

func (cmd *statusCommand) run(ctx context.Context, rec *openRecord) error {
	st, err := rec.db.Stats(ctx)
	if err != nil {
		return err
	}
	r := statusReport{Database: rec.db.Path(), Stats: st}
	r.Summaries = list(st.Summaries)
	for _, s := range st.Summaries {
		r.Total += s.Count
	}
	if r.Spent, err = spend.Usage(ctx, rec.db); err != nil {
		return err
	}
	if r.Space, err = stats.MeasureSpace(ctx, rec.db.SQL()); err != nil {
		return err
	}
	cmd.printStatus(r)
	return cmd.emit(r)
}

func (cmd *statusCommand) printStatus(r statusReport) {
	t := newTable("", "")
	conversations := prose.Number(r.Conversations)
	if r.Archived > 0 {
		conversations += fmt.Sprintf(" (%s archived)", prose.Number(r.Archived))
	}
	t.add("database", safetext.Line(r.Database))
	t.add("schema version", fmt.Sprint(r.Schema))
	size := prose.Size(r.FileBytes)
	if r.Bytes > 0 {
		size += fmt.Sprintf(" (%.1f for each byte of record)", float64(r.FileBytes)/float64(r.Bytes))
	}
	t.add("file size", size)
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"  messages and indexes", r.Space.Messages}, {"  payloads", r.Space.Payloads}, {"  summaries", r.Space.Summaries}, {"  search index", r.Space.Index},
		{"  free (lcm doctor --vacuum)", r.Space.Free}, {"  write-ahead log", r.Space.Log},
	} {
		if part.bytes > 0 {
			t.add(part.name, prose.Size(part.bytes))
		}
	}
	t.add("conversations", conversations)
	t.add("messages", prose.Number(r.Messages))
	if r.Redacted > 0 {
		t.add("  redacted", prose.Number(r.Redacted)+", secrets or private blocks were kept out")
	}
	if r.Erased > 0 {
		t.add("  erased", prose.Number(r.Erased)+", tombstones keep them out (`lcm forget --list`)")
	}
	t.add("tokens", prose.Number(r.Tokens))
	t.add("record bytes", prose.Number(r.Bytes))
	t.add("payloads", fmt.Sprintf("%s (%s)", prose.Number(r.Payloads), prose.Size(r.PayloadBytes)))
	t.add("summaries", prose.Number(r.Total))
	for _, s := range r.Summaries {
		t.add(fmt.Sprintf("  depth %d", s.Depth), fmt.Sprintf("%s %s, %s tokens", prose.Number(s.Count), safetext.Line(s.Method), prose.Number(s.Tokens)))
	}
	var all spend.Entry
	for _, e := range r.Spent {
		all.Calls, all.InputTokens, all.OutputTokens = all.Calls+e.Calls, all.InputTokens+e.InputTokens, all.OutputTokens+e.OutputTokens
		t.add("spent "+e.Day, fmt.Sprintf("%s for %s on %s, %s in, %s out", prose.Count(int(e.Calls), "call", "calls"), safetext.Line(e.Purpose),
			safetext.Line(e.Model), prose.Number(e.InputTokens), prose.Number(e.OutputTokens)))
	}
	if all.Calls > 0 {
		t.add("spent in all", fmt.Sprintf("%s, %s in, %s out", prose.Count(all.Calls, "call", "calls"), prose.Number(all.InputTokens), prose.Number(all.OutputTokens)))
	}
	cmd.printTable(t)
}
