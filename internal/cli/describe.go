package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
)

type describeFlags struct {
	where
	recall.DescribeRequest
	raw, force bool
}

func newDescribe(a *program) *cobra.Command {
	var f describeFlags
	c := &cobra.Command{
		Use:   "describe ID",
		Short: "Show a summary, a file or a message whole",
		Long: `Show everything about one thing: a summary (sum_…) with what it was made from
and what lies beneath it, a payload (file_…) with its content, or a message
(msg_…) as it was said with its neighbours and the summaries that cover it. A
pasted reference will do for the id.

--raw writes bytes and nothing else: a payload's content, a message's record, a
summary's text. Secrets that only the record was to keep (LCM_REDACT=search) are
left out of it: lcm show --raw writes them. On a terminal control characters are
made visible unless --force is given.`,
		Example: `lcm describe sum_0123456789abcdef
lcm describe file_0123456789abcdef --start-line 120 --end-line 140
lcm describe file_0123456789abcdef --raw > screenshot.png
lcm describe msg_12 --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ID = args[0]
			if f.raw && a.json {
				return wrongUsage(cmd, errors.New("--raw and --json exclude each other"))
			}
			return a.asking(cmd.Context(), f.where, func(ar *archive, svc *recall.Service, at recall.Where) error {
				f.Where = at
				return a.describe(cmd.Context(), ar, svc, f)
			})
		},
	}
	f.where.flags(c)
	fl := c.Flags()
	fl.Int64Var(&f.Offset, "offset", 0, "begin at this byte of a file or message")
	fl.Int64Var(&f.Length, "length", 0, "at most this many bytes, 0 for all")
	fl.IntVar(&f.StartLine, "start-line", 0, "begin at this line of a file")
	fl.IntVar(&f.EndLine, "end-line", 0, "end with this line of a file")
	fl.IntVar(&f.MaxTokens, "max-tokens", 0, "show content in pages of this many tokens, 0 for all")
	fl.IntVar(&f.MaxBytes, "max-bytes", 0, "show content in pages of this many bytes, 0 for all")
	fl.IntVarP(&f.Limit, "limit", "n", 50, "list this much of what lies beneath a summary")
	fl.BoolVar(&f.IncludeMessages, "include-messages", false, "list messages beneath a summary as well")
	fl.StringVar(&f.Cursor, "cursor", "", "go on where a page ended")
	fl.BoolVar(&f.raw, "raw", false, "write bytes and nothing else")
	forceFlag(c, &f.force)
	a.jsonFlag(c)
	return c
}

func (a *program) describe(ctx context.Context, ar *archive, svc *recall.Service, f describeFlags) error {
	ranged := f.Offset != 0 || f.Length != 0 || f.StartLine != 0 || f.EndLine != 0 || f.MaxTokens != 0 || f.MaxBytes != 0 || f.Cursor != ""
	r := f.DescribeRequest
	if f.raw && !ranged {
		r.MaxBytes = 1 // the content is written below, however large it is
	}
	answer, err := svc.Describe(ctx, r)
	switch {
	case err != nil:
		return err
	case f.raw && ranged:
		err = a.writeBytes([]byte(answer.Content), f.force)
	case f.raw:
		err = a.writeRaw(ctx, ar, answer, f.force)
	case a.json:
		err = a.printJSON(answer)
	default:
		a.printf("%s", a.shown(answer.Text()))
	}
	if err == nil && answer.Damaged {
		err = damageShown(1)
	}
	return err
}

// writeRaw writes what was described, byte for byte but for secrets that only
// the record was to keep.
func (a *program) writeRaw(ctx context.Context, ar *archive, answer recall.DescribeAnswer, force bool) error {
	id, err := store.ParseID(answer.ID)
	if err != nil {
		return err
	}
	data := []byte(answer.Content)
	switch {
	case id.Payload != "":
		p, err := ar.db.Payload(ctx, id.Payload)
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size)); err != nil {
			return err
		}
		data = ar.maskedData(data)
	case id.Message != 0:
		record, err := ar.db.Record(ctx, id.Message)
		if err != nil && record == nil {
			return err
		}
		for m, err := range ar.db.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{id.Message}}) {
			if err != nil {
				return err
			}
			data, _ = ar.masked(m, record)
		}
	}
	return a.writeBytes(data, force)
}
