package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/spend"
	"github.com/lossless-context/lcm/internal/sqlite/stats"
)

type statusReport struct {
	Database      string          `json:"database"`
	FileBytes     int64           `json:"fileBytes"`
	Schema        int             `json:"schemaVersion"`
	Conversations int64           `json:"conversations"`
	Archived      int64           `json:"archived"`
	Messages      int64           `json:"messages"`
	Redacted      int64           `json:"redacted"`
	Erased        int64           `json:"erased"`
	Tokens        int64           `json:"tokens"`
	Bytes         int64           `json:"bytes"`
	Payloads      int64           `json:"payloads"`
	PayloadBytes  int64           `json:"payloadBytes"`
	Summaries     int64           `json:"summaries"`
	Depths        []summaryCounts `json:"depths"`
	Spent         []spend.Entry   `json:"spent"`
	Space         spaceReport     `json:"space"`
	By            string          `json:"by,omitempty"`
	Groups        []groupReport   `json:"groups,omitempty"`
}

type summaryCounts struct {
	Depth  int    `json:"depth"`
	Method string `json:"method"`
	Count  int64  `json:"summaries"`
	Tokens int64  `json:"tokens"`
}

type statusCommand struct {
	*program
	by string
}

func newStatus(p *program) *cobra.Command {
	cmd := &statusCommand{program: p}
	c := &cobra.Command{
		Use:   "status",
		Short: "Count what the database holds",
		Long: `Count conversations, messages, summaries and payloads, what the file is used for
and what models have cost. --by counts by project, by host, or by month, which
shows how it grows. No message is read for it, so that it takes well under a
second whatever the database holds.`,
		Example: "lcm status\nlcm status --by project\nlcm status --by month\nlcm status --json | jq .messages",
		Args:    usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkGrouping(c, cmd.by); err != nil {
				return err
			}
			return cmd.use(c.Context(), toRead, func(ar *archive) error { return cmd.run(c.Context(), ar) })
		},
	}
	c.Flags().StringVar(&cmd.by, "by", "", "count by project, host or month")
	cmd.jsonFlag(c)
	return c
}

func (cmd *statusCommand) run(ctx context.Context, ar *archive) error {
	st, err := ar.db.Stats(ctx)
	if err != nil {
		return err
	}
	r := statusReport{
		Database: ar.db.Path(), FileBytes: st.FileBytes, Schema: st.Schema, Conversations: st.Conversations, Archived: st.Archived,
		Messages: st.Messages, Redacted: st.Redacted, Erased: st.Erased, Tokens: st.Tokens, Bytes: st.Bytes, Payloads: st.Payloads, PayloadBytes: st.PayloadBytes,
		Depths: []summaryCounts{},
	}
	for _, s := range st.Summaries {
		r.Depths = append(r.Depths, summaryCounts(s))
		r.Summaries += s.Count
	}
	if r.Spent, err = spend.Usage(ctx, ar.db); err != nil {
		return err
	}
	space, err := stats.MeasureSpace(ctx, ar.db.File())
	if err != nil {
		return err
	}
	r.Space, r.By = spaceReport(space), cmd.by
	if r.Groups, err = ar.groups(ctx, cmd.by); err != nil {
		return err
	}
	switch {
	case cmd.json:
		return cmd.printJSON(r)
	case cmd.by != "":
		cmd.printGroups(cmd.by, r.Groups)
	default:
		cmd.printStatus(r)
	}
	return nil
}

func (cmd *statusCommand) printStatus(r statusReport) {
	t := newTable("", "")
	conversations := prose.Number(r.Conversations)
	if r.Archived > 0 {
		conversations += fmt.Sprintf(" (%s archived)", prose.Number(r.Archived))
	}
	t.add("database", safetext.Line(r.Database))
	t.add("schema version", fmt.Sprint(r.Schema))
	t.add("file size", prose.Size(r.FileBytes)+perRaw(r))
	r.Space.rows(t)
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
	t.add("summaries", prose.Number(r.Summaries))
	for _, s := range r.Depths {
		t.add(fmt.Sprintf("  depth %d", s.Depth), fmt.Sprintf("%s %s, %s tokens", prose.Number(s.Count), safetext.Line(s.Method), prose.Number(s.Tokens)))
	}
	for _, e := range r.Spent {
		t.add("spent "+e.Day, fmt.Sprintf("%s for %s on %s, %s in, %s out", prose.Count(int(e.Calls), "call", "calls"), safetext.Line(e.Purpose),
			safetext.Line(e.Model), prose.Number(e.InputTokens), prose.Number(e.OutputTokens)))
	}
	if calls, in, out := spent(r.Spent); calls > 0 {
		t.add("spent in all", fmt.Sprintf("%s, %s in, %s out", prose.Count(calls, "call", "calls"), prose.Number(in), prose.Number(out)))
	}
	cmd.printTable(t)
}

func perRaw(r statusReport) string {
	if r.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f for each byte of record)", float64(r.FileBytes)/float64(r.Bytes))
}
