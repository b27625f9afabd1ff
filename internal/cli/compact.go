package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

type compactReport struct {
	compact.Report
	Seconds float64 `json:"seconds"`
}

type compactCommand struct {
	*program
	choice
	budget    int
	full, all bool
}

func newCompact(p *program) *cobra.Command {
	cmd := &compactCommand{program: p}
	c := &cobra.Command{
		Use:   "compact [N]",
		Short: "Fold older messages into summaries now",
		Args:  cmd.argument,
		RunE: func(c *cobra.Command, args []string) error {
			if cmd.all && cmd.number != 0 {
				return wrongUsage(c, errors.New("--all and a conversation exclude each other"))
			}
			if err := checkBudget(c, cmd.budget); err != nil {
				return err
			}
			return cmd.runs(toRead, cmd.compact)(c, args)
		},
	}
	cmd.flag(c)
	c.Flags().IntVarP(&cmd.budget, "budget", "b", 0, "size of the context window in tokens (default: context.token_budget)")
	c.Flags().BoolVar(&cmd.full, "full", false, "everything outside the fresh tail")
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "every active conversation")
	return cmd.jsonFlag(c)
}

// checkBudget refuses a budget that no context fits.
func checkBudget(c *cobra.Command, tokens int) error {
	if c.Flags().Changed("budget") && tokens < lcm.MinBudget {
		return failed(exitUsage, fmt.Sprintf("use at least %d", lcm.MinBudget), "a budget of %d tokens is too small", tokens)
	}
	return nil
}

// compact folds each conversation that the flags name, and prints the reports.
func (cmd *compactCommand) compact(ctx context.Context, rec *openRecord) (err error) {
	chosen := make([]store.Conversation, 1)
	if cmd.all {
		chosen, err = rec.db.Conversations(ctx, store.ConversationQuery{ActiveOnly: true})
	} else {
		chosen[0], err = rec.pick(ctx, cmd.choice)
	}
	if err != nil {
		return err
	}
	reports := make([]compactReport, len(chosen))
	for i, c := range chosen {
		if reports[i], err = cmd.compactOne(ctx, rec, c); err != nil {
			return err
		}
	}
	if cmd.all {
		return cmd.emit(reports)
	}
	return cmd.emit(reports[0])
}

func (cmd *compactCommand) compactOne(ctx context.Context, rec *openRecord, c store.Conversation) (compactReport, error) {
	bar := cmd.newBar(fmt.Sprintf("folding conversation %d", c.ID))
	r, err := rec.engine.Compact(ctx, c.ID, lcm.CompactOptions{Budget: cmd.budget, Full: cmd.full, OnFold: bar.folds()})
	bar.clear()
	if err != nil {
		return compactReport{}, err
	}
	if r.Cause != nil {
		cmd.warn("conversation %d: the summariser failed: %v", c.ID, r.Cause)
	}
	cmd.printCompacted(c, r)
	r.Conversation = c.ID
	return compactReport{r, r.Elapsed.Seconds()}, nil
}

func (cmd *compactCommand) printCompacted(c store.Conversation, r compact.Report) {
	what := "nothing to fold"
	if r.Progress() {
		what = fmt.Sprintf("%s and %s", prose.Count(r.Leaves, "leaf", "leaves"), prose.Count(r.Condensed, "condensed summary", "condensed summaries"))
	}
	cmd.printf("conversation %d (%s): %s, %s → %s tokens (%s)\n", c.ID, clipLeft(safetext.Line(c.Key), 40), what,
		prose.Number(r.TokensBefore), prose.Number(r.TokensAfter), r.Reason)
	if r.Detail != "" {
		cmd.note("%s", r.Detail)
	}
}
