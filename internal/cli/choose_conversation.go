package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

// choice is the conversation that a command is about, 0 for the current one.
type choice struct{ number int64 }

func (ch *choice) flag(c *cobra.Command) {
	c.Flags().Int64VarP(&ch.number, "conversation", "c", 0, "conversation number (default: the newest of this project)")
}

// argument checks the arguments of a command that takes the number of a conversation.
func (ch *choice) argument(c *cobra.Command, args []string) error {
	if err := usage(cobra.MaximumNArgs(1))(c, args); err != nil || len(args) == 0 {
		return err
	}
	n, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || n < 1 {
		return wrongUsage(c, fmt.Errorf("%q is not the number of a conversation", args[0]))
	}
	if ch.number != 0 && ch.number != n {
		return wrongUsage(c, fmt.Errorf("both conversation %d and conversation %d are asked for", n, ch.number))
	}
	ch.number = n
	return nil
}

const listHint = "`lcm conversations --all` lists them"

// pick returns the conversation that was chosen, else the current one.
func (rec *openRecord) pick(ctx context.Context, ch choice) (store.Conversation, error) {
	if ch.number != 0 {
		c, err := rec.db.Conversation(ctx, store.ConversationID(ch.number))
		if errors.Is(err, store.ErrNotFound) {
			return c, failed(exitNotFound, listHint, "there is no conversation %d", ch.number)
		}
		if err == nil && !c.ErasedAt.IsZero() {
			return c, failed(exitNotFound, "`lcm forget --list` shows what was forgotten", "conversation %d was erased on %s", ch.number, c.ErasedAt.Format("2006-01-02"))
		}
		return c, err
	}
	here, err := currentProject()
	if err != nil {
		return store.Conversation{}, err
	}
	found, err := rec.db.Conversations(ctx, store.ConversationQuery{Project: &here, Limit: 1})
	if err != nil {
		return store.Conversation{}, err
	}
	if len(found) == 0 {
		return store.Conversation{}, failed(exitNotFound, listHint, "there is no conversation of the project %s", projectName(here))
	}
	return found[0], nil
}

// currentProject is the project that the shell stands in.
func currentProject() (store.Project, error) {
	dir, err := os.Getwd()
	if err != nil {
		return store.Project{}, fmt.Errorf("find the working directory: %w", err)
	}
	return project.Of(dir)
}

func projectName(p store.Project) string { return cmp.Or(p.Origin, p.Root, "-") }
