package cli

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/recall/brief"
	"github.com/lossless-context/lcm/internal/record/store"
)

// briefReport is the brief in JSON.
type briefReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Text         string               `json:"text"`
}

// printBrief prints what a session is told when it starts.
func (cmd *contextCommand) printBrief(ctx context.Context, rec *openRecord) error {
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
	text := b.Block(brief.DefaultTokens)
	return cmd.result(briefReport{Conversation: b.Work.Conversation.ID, Text: text}, "%s\n", cmd.shown(text))
}
