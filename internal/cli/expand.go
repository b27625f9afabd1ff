package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/recall"
)

type expandCommand struct {
	*program
	where
	recall.ExpandRequest
	messages bool
}

func newExpand(p *program) *cobra.Command {
	cmd := &expandCommand{program: p}
	c := &cobra.Command{
		Use:   "expand SUM...",
		Short: "Climb from summaries down to the messages they were made from",
		Long: `Print everything beneath summaries, breadth first: the summaries on the way and
then every message word for word, externalised content in its place. --raw
prints the records of messages as they arrived instead.

Without --token-cap everything is printed; with it one page, and how to go on.`,
		Example: `lcm expand sum_0123456789abcdef
lcm expand sum_0123456789abcdef --depth 1 --include-messages=false
lcm expand sum_0123456789abcdef --token-cap 4000 --json`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.SummaryIDs, cmd.IncludeMessages = args, &cmd.messages
			if c.Flags().Changed("token-cap") && cmd.TokenCap < 1 {
				return wrongUsage(c, fmt.Errorf("--token-cap is %d: it must be at least 1", cmd.TokenCap))
			}
			return cmd.where.ask(c.Context(), cmd.program, func(_ *archive, svc *recall.Service, at recall.Where) error {
				cmd.Where = at
				return cmd.expand(c.Context(), svc, cmd.ExpandRequest)
			})
		},
	}
	cmd.where.flags(c)
	fl := c.Flags()
	fl.IntVar(&cmd.Depth, "depth", 0, "go down this many steps, 0 for all the way")
	fl.BoolVar(&cmd.messages, "include-messages", true, "print messages, not only the summaries on the way")
	fl.BoolVar(&cmd.Raw, "raw", false, "print the records of messages as they arrived")
	fl.IntVar(&cmd.TokenCap, "token-cap", 0, "print one page of at most this many tokens (default: everything)")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
	cmd.jsonFlag(c)
	return c
}

// everything is a cap that no message reaches, so that none is cut.
const everything = 1 << 40

func (cmd *expandCommand) expand(ctx context.Context, svc *recall.Service, r recall.ExpandRequest) error {
	paged := r.TokenCap > 0
	if !paged {
		r.TokenCap = everything
	}
	answer, err := svc.Expand(ctx, r)
	if err != nil {
		return err
	}
	damaged := 0
	count := func(pieces []recall.Piece) {
		for _, p := range pieces {
			if p.Damaged {
				damaged++
			}
		}
	}
	cmd.printPieces(answer.Pieces)
	count(answer.Pieces)
	for !paged && answer.NextCursor != "" {
		r.Cursor = answer.NextCursor
		next, err := svc.Expand(ctx, r)
		if err != nil {
			return err
		}
		cmd.printPieces(next.Pieces)
		count(next.Pieces)
		if cmd.json {
			answer.Pieces = append(answer.Pieces, next.Pieces...)
		}
		answer.Tokens += next.Tokens
		answer.NextCursor, answer.Truncated, answer.Notes = next.NextCursor, next.Truncated, next.Notes
	}
	if cmd.json {
		return errors.Join(cmd.printJSON(answer), damageShown(damaged))
	}
	printNotes(cmd.program, answer.Notes)
	if answer.NextCursor != "" {
		cmd.note("--cursor %s", answer.NextCursor)
	}
	return damageShown(damaged)
}

// printPieces prints pieces as they come; JSON is printed in the end.
func (cmd *expandCommand) printPieces(pieces []recall.Piece) {
	if cmd.json {
		return
	}
	for _, p := range pieces {
		style := cyan
		if p.Role != "" {
			style = roleStyle(p.Role)
		}
		cmd.printf("%s\n%s\n\n", cmd.paint(style, "── "+p.Heading()), cmd.shown(p.Text))
	}
}
