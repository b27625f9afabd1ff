package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/recall"
)

type expandFlags struct {
	where
	recall.ExpandRequest
	messages bool
}

func newExpand(a *program) *cobra.Command {
	var f expandFlags
	c := &cobra.Command{
		Use:   "expand SUM...",
		Short: "Climb from summaries down to the messages they were made from",
		Long: `Print what lies beneath summaries, breadth first: the summaries on the way and
then every message word for word, externalised content in its place. --raw
prints the records of messages as they arrived instead.

Without --token-cap everything is printed; with it one page, and how to go on.`,
		Example: `lcm expand sum_0123456789abcdef
lcm expand sum_0123456789abcdef --depth 1 --include-messages=false
lcm expand sum_0123456789abcdef --token-cap 4000 --json`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.SummaryIDs, f.IncludeMessages = args, &f.messages
			if cmd.Flags().Changed("token-cap") && f.TokenCap < 1 {
				return wrongUsage(cmd, fmt.Errorf("--token-cap is %d: it must be at least 1", f.TokenCap))
			}
			return a.asking(cmd.Context(), f.where, func(_ *archive, svc *recall.Service, at recall.Where) error {
				f.Where = at
				return a.expand(cmd.Context(), svc, f.ExpandRequest)
			})
		},
	}
	f.where.flags(c)
	fl := c.Flags()
	fl.IntVar(&f.Depth, "depth", 0, "go down this many steps, 0 for all the way")
	fl.BoolVar(&f.messages, "include-messages", true, "print messages, not only the summaries on the way")
	fl.BoolVar(&f.Raw, "raw", false, "print the records of messages as they arrived")
	fl.IntVar(&f.TokenCap, "token-cap", 0, "print one page of at most this many tokens (default: everything)")
	fl.StringVar(&f.Cursor, "cursor", "", "go on where a page ended")
	a.jsonFlag(c)
	return c
}

// everything is a cap that no message reaches, so that none is cut.
const everything = 1 << 40

func (a *program) expand(ctx context.Context, svc *recall.Service, r recall.ExpandRequest) error {
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
	a.printPieces(answer.Pieces)
	count(answer.Pieces)
	for !paged && answer.NextCursor != "" {
		r.Cursor = answer.NextCursor
		next, err := svc.Expand(ctx, r)
		if err != nil {
			return err
		}
		a.printPieces(next.Pieces)
		count(next.Pieces)
		if a.json {
			answer.Pieces = append(answer.Pieces, next.Pieces...)
		}
		answer.Tokens += next.Tokens
		answer.NextCursor, answer.Truncated, answer.Notes = next.NextCursor, next.Truncated, next.Notes
	}
	if a.json {
		return errors.Join(a.printJSON(answer), damageShown(damaged))
	}
	a.notes(answer.Notes)
	if answer.NextCursor != "" {
		a.note("--cursor %s", answer.NextCursor)
	}
	return damageShown(damaged)
}

// printPieces prints pieces as they come; JSON is printed in the end.
func (a *program) printPieces(pieces []recall.Piece) {
	if a.json {
		return
	}
	for _, p := range pieces {
		style := cyan
		if p.Role != "" {
			style = roleStyle(p.Role)
		}
		a.printf("%s\n%s\n\n", a.paint(style, "── "+p.Heading()), a.shown(p.Text))
	}
}
