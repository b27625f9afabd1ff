package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/compact"
	"github.com/lossless-context/lcm/store"
)

type compactReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Reason       compact.Reason       `json:"reason"`
	Detail       string               `json:"detail,omitempty"`
	Passes       int                  `json:"passes"`
	Leaves       int                  `json:"leaves"`
	Condensed    int                  `json:"condensed"`
	Stubs        int                  `json:"stubs"`
	TokensBefore int                  `json:"tokens_before"`
	TokensAfter  int                  `json:"tokens_after"`
	Calls        int                  `json:"calls"`
	Fallbacks    int                  `json:"fallbacks"`
	Seconds      float64              `json:"seconds"`
}

type compactFlags struct {
	choice
	budget    int
	full, all bool
}

func newCompact(a *app) *cobra.Command {
	var f compactFlags
	c := &cobra.Command{
		Use:   "compact",
		Short: "Fold older messages into summaries now",
		Long: `Fold the view of a conversation until it is below the soft threshold of the
budget. --full folds everything but the fresh tail, whatever the thresholds say.
The messages themselves stay as they are: ` + "`lcm verify`" + ` proves it.`,
		Example: "lcm compact --budget 32000\nlcm compact --full --conversation 3\nlcm compact --all",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.all && f.number != 0:
				return wrongUsage(cmd, errors.New("--all and --conversation exclude each other"))
			case f.budget != 0 && f.budget < lcm.MinBudget:
				return failed(exitUsage, fmt.Sprintf("use at least %d", lcm.MinBudget), "a budget of %d tokens is too small", f.budget)
			}
			ar, err := a.open(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			return errors.Join(a.compact(cmd.Context(), ar, f), ar.close(cmd.Context()))
		},
	}
	f.flag(c)
	c.Flags().IntVarP(&f.budget, "budget", "b", 0, "size of the context window in tokens (default: context.token_budget)")
	c.Flags().BoolVar(&f.full, "full", false, "everything outside the fresh tail")
	c.Flags().BoolVarP(&f.all, "all", "a", false, "every active conversation")
	a.jsonFlag(c)
	return c
}

func (a *app) compact(ctx context.Context, ar *archive, f compactFlags) error {
	var chosen []store.Conversation
	if f.all {
		var err error
		if chosen, err = ar.db.Conversations(ctx, store.ConversationQuery{ActiveOnly: true}); err != nil {
			return err
		}
	} else {
		c, err := ar.pick(ctx, f.choice)
		if err != nil {
			return err
		}
		chosen = append(chosen, c)
	}
	reports := []compactReport{}
	for _, c := range chosen {
		r, err := a.compactOne(ctx, ar, c, f)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	switch {
	case a.json && f.all:
		return a.printJSON(reports)
	case a.json:
		return a.printJSON(reports[0])
	}
	return nil
}

func (a *app) compactOne(ctx context.Context, ar *archive, c store.Conversation, f compactFlags) (compactReport, error) {
	bar := a.newBar(fmt.Sprintf("folding conversation %d", c.ID))
	folds := 0
	r, err := ar.engine.Compact(ctx, c.ID, lcm.CompactOptions{Budget: f.budget, Full: f.full, OnRun: func(r compact.Report) {
		folds += r.Folds()
		bar.set(0, 0, fmt.Sprintf("%s, %s tokens", counted(folds, "summary", "summaries"), number(r.TokensAfter)))
	}})
	bar.clear()
	if err != nil {
		return compactReport{}, err
	}
	if r.Cause != nil {
		a.warn("conversation %d: the summariser failed: %v", c.ID, r.Cause)
	}
	if !a.json {
		a.printCompacted(c, r)
	}
	return compactReport{
		Conversation: c.ID, Reason: r.Reason, Detail: r.Detail, Passes: r.Passes, Leaves: r.Leaves, Condensed: r.Condensed, Stubs: r.Stubs,
		TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter, Calls: r.Calls, Fallbacks: r.Fallbacks, Seconds: r.Elapsed.Seconds(),
	}, nil
}

func (a *app) printCompacted(c store.Conversation, r compact.Report) {
	what := "nothing to fold"
	if r.Progress() {
		what = fmt.Sprintf("%s and %s", counted(r.Leaves, "leaf", "leaves"), counted(r.Condensed, "condensed summary", "condensed summaries"))
	}
	a.printf("conversation %d (%s): %s, %s → %s tokens (%s)\n", c.ID, clipLeft(neutralLine(c.Key), 40), what,
		number(r.TokensBefore), number(r.TokensAfter), r.Reason)
	if r.Detail != "" {
		a.note("%s", r.Detail)
	}
}
