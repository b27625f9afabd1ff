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
		Args:  usage(cobra.MinimumNArgs(1)),
	}
	c.RunE = cmd.where.runs(p, &cmd.Where, func(c *cobra.Command, args []string) error {
		cmd.SummaryIDs, cmd.IncludeMessages = args, &cmd.messages
		if c.Flags().Changed("token-cap") && cmd.TokenCap < 1 {
			return wrongUsage(c, fmt.Errorf("--token-cap is %d: it must be at least 1", cmd.TokenCap))
		}
		return nil
	}, cmd.expand)
	cmd.where.flags(c)
	fl := c.Flags()
	fl.IntVar(&cmd.Depth, "depth", 0, "go down this many steps, 0 for all the way")
	fl.BoolVar(&cmd.messages, "include-messages", true, "print messages, not only the summaries on the way")
	fl.BoolVar(&cmd.Raw, "raw", false, "print the records of messages as they arrived")
	fl.IntVar(&cmd.TokenCap, "token-cap", 0, "print one page of at most this many tokens (default: everything)")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
	return cmd.jsonFlag(c)
}

// everything is a cap that no message reaches, so that none is cut.
const everything = 1 << 40

// expand prints pieces as they come; JSON is printed in the end.
func (cmd *expandCommand) expand(ctx context.Context, _ *openRecord, svc *recall.Service) error {
	r := cmd.ExpandRequest
	paged := r.TokenCap > 0
	if !paged {
		r.TokenCap = everything
	}
	var all []recall.Piece
	tokens, damaged := 0, 0
	for {
		answer, err := svc.Expand(ctx, r)
		if err != nil {
			return err
		}
		for _, p := range answer.Pieces {
			if p.Damaged {
				damaged++
			}
			if !cmd.json {
				style := cyan
				if p.Role != "" {
					style = roleStyle(p.Role)
				}
				cmd.printf("%s\n%s\n\n", cmd.paint(style, "── "+p.Heading()), cmd.shown(p.Text))
			}
		}
		tokens += answer.Tokens
		if cmd.json {
			all = append(all, answer.Pieces...)
		}
		switch {
		case !paged && answer.NextCursor != "":
			r.Cursor = answer.NextCursor
			continue
		case cmd.json:
			answer.Pieces, answer.Tokens = all, tokens
			return errors.Join(cmd.printJSON(answer), damageShown(damaged))
		}
		printNotes(cmd.program, answer.Notes, answer.NextCursor)
		return damageShown(damaged)
	}
}
