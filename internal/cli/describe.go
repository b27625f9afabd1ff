package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/lossless-context/lcm"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

type describeCommand struct {
	*program
	where
	recall.DescribeRequest
	below     recall.ExpandRequest
	expand    bool
	messages  bool // with expand
	raw, team bool
}

func newDescribe(p *program) *cobra.Command {
	cmd := &describeCommand{program: p}
	c := &cobra.Command{
		Use:   "describe ID",
		Short: "Show a summary, file or message; --expand: what is beneath",
		Args: cobra.MatchAll(func(c *cobra.Command, args []string) error {
			if cmd.expand {
				return usage(cobra.MinimumNArgs(1))(c, args)
			}
			return usage(cobra.ExactArgs(1))(c, args)
		}, exclude("raw", "json"), exclude("raw", "expand"), exclude("raw", "lines"), exclude("raw", "pattern"), exclude("expand", "lines"), exclude("expand", "pattern"), refuse(func() bool { return cmd.team && (cmd.raw || cmd.expand) },
			"--team excludes --raw and --expand: the server sends what is shown, not the bytes of its record")),
	}
	c.RunE = withTeam(p, &cmd.team, &cmd.where, cmd.complete, cmd.where.runs(p, &cmd.Where, cmd.complete, cmd.describe), cmd.describeTeam)
	cmd.where.flags(c)
	fl := c.Flags()
	teamFlag(c, &cmd.team)
	fl.IntVar(&cmd.MaxTokens, "max-tokens", 0, "show content in pages of this many tokens, 0 for all")
	fl.BoolVar(&cmd.messages, "include-messages", true, "with --expand: print messages, not only the summaries above them")
	fl.BoolVar(&cmd.expand, "expand", false, "print everything beneath summaries, word for word")
	fl.IntVar(&cmd.below.Depth, "depth", 0, "with --expand: go down this many steps, 0 for all the way")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
	fl.StringVar(&cmd.Lines, "lines", "", "show only these lines, such as 120-180")
	fl.StringVar(&cmd.Pattern, "pattern", "", "show only the lines that match a regular expression")
	fl.BoolVar(&cmd.raw, "raw", false, "write bytes and nothing else")
	return cmd.jsonFlag(c)
}

func (cmd *describeCommand) complete(c *cobra.Command, args []string) (err error) {
	if n, wrong := strconv.Atoi(args[0]); wrong == nil {
		return failed(exitUsage, fmt.Sprintf("`lcm show %d` shows conversation %d; `lcm grep` and `lcm show --tree` print ids", n, n), "%d is no id of a message, summary or file", n)
	}
	if cmd.ID, err = lookup.ParseID(args[0]); err != nil && !cmd.expand {
		return recallFailure(c, err)
	}
	cmd.below.SummaryIDs, cmd.below.Cursor, cmd.below.TokenCap = typedIDs[store.SummaryID](args), cmd.Cursor, cmd.MaxTokens
	cmd.below.IncludeMessages = &cmd.messages
	return nil
}

func (cmd *describeCommand) describe(ctx context.Context, rec *openRecord, svc *lcm.Engine) error {
	if cmd.expand {
		return cmd.expandAll(ctx, svc)
	}
	ranged := cmd.MaxTokens != 0 || cmd.Cursor != ""
	r := cmd.DescribeRequest
	if cmd.raw && !ranged && r.ID.Summary == "" {
		r.MaxTokens = 1 // the content is written below, however large it is
	}
	answer, err := svc.Describe(ctx, r)
	switch {
	case err != nil:
		return err
	case cmd.raw:
		data := []byte(answer.Content)
		if !ranged {
			data, err = rec.rawContent(ctx, answer)
		}
		if err == nil {
			err = cmd.writeBytes(data)
		}
	default:
		err = cmd.result(answer, "%s", cmd.shown(answer.Text()))
	}
	isDamaged := func(n *recall.Neighbour) bool { return n != nil && n.Damaged }
	if err == nil && (answer.Damaged || answer.MessageDetail != nil && (isDamaged(answer.Previous) || isDamaged(answer.MessageDetail.Next))) {
		err = damageShown(1)
	}
	return err
}

// rawContent returns the bytes of a payload, message or summary, without masked secrets.
func (rec *openRecord) rawContent(ctx context.Context, answer recall.DescribeAnswer) ([]byte, error) {
	id := answer.ID
	switch {
	case id.Payload != "":
		p, err := rec.db.Payload(ctx, id.Payload)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
		return rec.maskedData(data), err
	case id.Message != 0:
		record, err := rec.db.Record(ctx, id.Message)
		if err != nil && record == nil {
			return nil, err
		}
		m, err := store.First(rec.db.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{id.Message}}))
		data, _ := rec.masked(m, record)
		return data, err
	}
	return []byte(answer.Content), nil
}

// everything is a cap that no message reaches, so that none is cut.
const everything = 1 << 40

// expandAll prints pieces as they come; JSON is printed in the end.
func (cmd *describeCommand) expandAll(ctx context.Context, svc *lcm.Engine) error {
	r := cmd.below
	r.Where = cmd.Where
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
			style := cyan
			if p.Role != "" {
				style = roleStyle(p.Role)
			}
			cmd.printf("%s\n%s\n\n", cmd.paint(style, "── "+p.Heading()), cmd.shown(p.Text))
		}
		tokens += answer.Tokens
		if cmd.json {
			all = append(all, answer.Pieces...)
		}
		if !paged && answer.NextCursor != "" {
			r.Cursor = answer.NextCursor
			continue
		}
		printNotes(cmd.program, answer.Notes, answer.NextCursor)
		answer.Pieces, answer.Tokens = all, tokens
		return errors.Join(cmd.emit(answer), damageShown(damaged))
	}
}
