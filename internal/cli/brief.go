package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/brief"
	"github.com/lossless-context/lcm/internal/record/store"
)

type briefCommand struct {
	*program
	choice
	block bool
	limit int
}

// briefReport is the brief in JSON.
type briefReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Text         string               `json:"text"`
}

func newBrief(p *program) *cobra.Command {
	cmd := &briefCommand{program: p}
	c := &cobra.Command{
		Use:   "brief",
		Short: "Print where the work stands",
		Args:  usage(cobra.NoArgs),
		RunE:  cmd.run,
	}
	cmd.choice.flag(c)
	c.Flags().BoolVar(&cmd.block, "block", false, "the block that an agent is given")
	c.Flags().IntVar(&cmd.limit, "limit", brief.DefaultLimit, "at most this many characters")
	return cmd.jsonFlag(c)
}

func (cmd *briefCommand) run(c *cobra.Command, args []string) error {
	if cmd.limit < brief.MinLimit {
		return failed(exitUsage, "leave --limit out for the most that agents take", "--limit %d is too little to say anything: use at least %d", cmd.limit, brief.MinLimit)
	}
	return cmd.runs(toRead, cmd.print)(c, args)
}

func (cmd *briefCommand) print(ctx context.Context, rec *openRecord) error {
	here, err := currentProject()
	if err != nil {
		return err
	}
	b, err := brief.Of(ctx, rec.db, brief.Options{Project: here, Conversation: store.ConversationID(cmd.number)})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return failed(exitNotFound, listHint, "there is no conversation %d", cmd.number)
	case err != nil:
		return err
	case b.Work == nil:
		return failed(exitNotFound, listHint, "there is nothing to tell of the project %s", projectName(here))
	}
	text := b.Text(cmd.limit)
	if cmd.block {
		text = b.Block(cmd.limit)
	}
	return cmd.result(briefReport{Conversation: b.Work.Conversation.ID, Text: text}, "%s\n", cmd.shown(text))
}
