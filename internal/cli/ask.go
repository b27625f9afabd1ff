package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/gonefiles"
	"github.com/lossless-context/lcm/recall"
)

type askCommand struct {
	*program
	where
	recall.Question
	summaries []string
	evidence  bool
	team      bool
}

func newAsk(p *program) *cobra.Command {
	cmd := &askCommand{program: p}
	c := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "Answer a question from the exact messages",
		Args:  usage(cobra.ExactArgs(1)),
	}
	c.RunE = withTeam(p, &cmd.team, &cmd.where, cmd.complete, cmd.where.runs(p, &cmd.Question.Where, cmd.complete, cmd.ask), cmd.askTeam)
	c.RunE = traced(p, c.RunE)
	cmd.where.flags(c)
	fl := c.Flags()
	teamFlag(c, &cmd.team)
	fl.StringVarP(&cmd.Query, "query", "q", "", "words that find the summaries to expand (default: the question)")
	fl.StringSliceVarP(&cmd.summaries, "summary", "s", nil, "summaries to expand, sum_…")
	fl.IntVar(&cmd.MaxTokens, "max-tokens", recall.DefaultMaxTokens, "length of the answer")
	fl.BoolVar(&cmd.evidence, "evidence", false, "print verbatim passages, without a model")
	return cmd.jsonFlag(c)
}

func (cmd *askCommand) complete(c *cobra.Command, args []string) error {
	cmd.oneMeansNoMatch = true
	cmd.Prompt, cmd.SummaryIDs = args[0], typedIDs[store.SummaryID](cmd.summaries)
	if cmd.evidence {
		cmd.Output = recall.OutputEvidence
	}
	switch given := c.Flags().Changed("max-tokens"); {
	case !given:
		cmd.MaxTokens = 0
	case cmd.MaxTokens == 0:
		return wrongUsage(c, fmt.Errorf("--max-tokens is 0: it must be between %d and %d", recall.MinMaxTokens, recall.MaxMaxTokens))
	}
	return nil
}

func (cmd *askCommand) ask(ctx context.Context, rec *openRecord, _ *lcm.Engine) error {
	bar := cmd.newBar("reading")
	bar.set(0, 0, "")
	answer, err := rec.engine.Ask(ctx, cmd.Question)
	bar.clear()
	if err == nil {
		answer.Notes = append(answer.Notes, gonefiles.InAnswer(".", answer)...)
	}
	return cmd.show(ctx, answer, err)
}

// show prints an answer.
func (cmd *askCommand) show(ctx context.Context, answer recall.Answer, err error) error {
	if err != nil {
		if code := exitCode(err); errors.Is(err, recall.ErrRefused) || ctx.Err() != nil || code == exitDatabase || code == exitFaults {
			return err
		}
		return failed(exitUsage, "`lcm ask --help` shows how it is used", "%s", recallWords.Replace(err.Error()))
	}
	if err := cmd.emit(answer); err != nil {
		return err
	}
	cmd.print(answer)
	switch {
	case answer.Damaged:
		return damageShown(1)
	case answer.Method == recall.MethodNone:
		return errNoMatch
	}
	return nil
}

// print prints an answer as text.
func (cmd *askCommand) print(answer recall.Answer) {
	if answer.Method == recall.MethodNone { // its words are ours, not the record's
		answer.Answer = recallWords.Replace(answer.Answer)
	}
	if len(answer.NotInRecord) > 0 {
		cmd.printf("%s\n", safetext.Line(prose.NotInRecord(answer.NotInRecord)))
	}
	if len(answer.NotInRecord) > 0 && answer.Method == recall.MethodEvidence {
		cmd.printf("results with the other words:\n")
	}
	cmd.printf("%s\n", cmd.shown(answer.Answer))
	if answer.Evidence != "" {
		cmd.printf("\nwhat the record says:\n%s\n", cmd.shown(answer.Evidence))
	}
	cmd.printCitations(answer)
	switch {
	case strings.HasPrefix(answer.Reason, delegation.NoModel):
		cmd.note("answered without a model; set LCM_EXPANSION_MODEL for a written answer")
	case answer.Reason != "" && answer.Method != recall.MethodNone: // whose answer says it
		cmd.note("%s", safetext.Line(answer.Reason))
	}
	printNotes(cmd.program, answer.Notes, "")
}

// printCitations prints the citations of a sub-agent. Evidence has its ids in its text.
func (cmd *askCommand) printCitations(answer recall.Answer) {
	if answer.Method != recall.MethodDelegated {
		return
	}
	cmd.printf("\n")
	for _, c := range answer.Citations {
		line := c.ID.String()
		if c.MessageID != 0 && c.MessageID != c.ID.Message {
			line += " · " + c.MessageID.String()
		}
		if !c.CreatedAt.IsZero() {
			line += " · " + stamp(c.CreatedAt)
		}
		cmd.printf("%s\n", cmd.paint(cyan, line))
		if c.Quote != "" {
			cmd.printf("  %s\n", cmd.paint(dim, safetext.Line(c.Quote)))
		}
	}
	cmd.note("%s from %s tokens of the record, by %s", prose.Count(answer.ExpandedSummaryCount, "expanded summary", "expanded summaries"),
		prose.Number(answer.TotalSourceTokens), answer.Model)
}
