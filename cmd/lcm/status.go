package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/spend"
)

type statusReport struct {
	Database      string          `json:"database"`
	FileBytes     int64           `json:"fileBytes"`
	Schema        int             `json:"schemaVersion"`
	Conversations int64           `json:"conversations"`
	Archived      int64           `json:"archived"`
	Messages      int64           `json:"messages"`
	Tokens        int64           `json:"tokens"`
	Bytes         int64           `json:"bytes"`
	Payloads      int64           `json:"payloads"`
	PayloadBytes  int64           `json:"payloadBytes"`
	Summaries     int64           `json:"summaries"`
	Depths        []summaryCounts `json:"depths"`
	Spent         []spend.Entry   `json:"spent"`
}

type summaryCounts struct {
	Depth  int    `json:"depth"`
	Method string `json:"method"`
	Count  int64  `json:"summaries"`
	Tokens int64  `json:"tokens"`
}

func newStatus(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Count what the database holds",
		Example: "lcm status\nlcm status --json | jq .messages",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ar, err := a.open(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			defer ar.close(cmd.Context())
			st, err := ar.db.Stats(cmd.Context())
			if err != nil {
				return err
			}
			r := statusReport{
				Database: ar.db.Path(), FileBytes: st.FileBytes, Schema: st.Schema, Conversations: st.Conversations, Archived: st.Archived,
				Messages: st.Messages, Tokens: st.Tokens, Bytes: st.Bytes, Payloads: st.Payloads, PayloadBytes: st.PayloadBytes,
				Depths: []summaryCounts{},
			}
			for _, s := range st.Summaries {
				r.Depths = append(r.Depths, summaryCounts(s))
				r.Summaries += s.Count
			}
			if r.Spent, err = spend.Ledger(cmd.Context(), ar.db); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			a.printStatus(r)
			return nil
		},
	}
	a.jsonFlag(c)
	return c
}

func (a *app) printStatus(r statusReport) {
	t := newTable("", "")
	conversations := number(r.Conversations)
	if r.Archived > 0 {
		conversations += fmt.Sprintf(" (%s archived)", number(r.Archived))
	}
	t.add("database", neutralLine(r.Database))
	t.add("schema version", fmt.Sprint(r.Schema))
	t.add("file size", size(r.FileBytes)+perRaw(r))
	t.add("conversations", conversations)
	t.add("messages", number(r.Messages))
	t.add("tokens", number(r.Tokens))
	t.add("record bytes", number(r.Bytes))
	t.add("payloads", fmt.Sprintf("%s (%s)", number(r.Payloads), size(r.PayloadBytes)))
	t.add("summaries", number(r.Summaries))
	for _, s := range r.Depths {
		t.add(fmt.Sprintf("  depth %d", s.Depth), fmt.Sprintf("%s %s, %s tokens", number(s.Count), neutralLine(s.Method), number(s.Tokens)))
	}
	for _, e := range r.Spent {
		t.add("spent "+e.Day, fmt.Sprintf("%s for %s on %s, %s in, %s out", counted(int(e.Calls), "call", "calls"), neutralLine(e.Purpose),
			neutralLine(e.Model), number(e.InputTokens), number(e.OutputTokens)))
	}
	a.printTable(t)
}

func perRaw(r statusReport) string {
	if r.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f for each byte of record)", float64(r.FileBytes)/float64(r.Bytes))
}
