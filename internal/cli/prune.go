package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

type pruneCommand struct {
	eraser
	olderThan string
	project   string
}

func newPrune(p *program) *cobra.Command {
	cmd := &pruneCommand{eraser: eraser{program: p}}
	c := &cobra.Command{
		Use:   "prune --older-than AGE",
		Short: "Erase whole conversations that nobody has added to for long",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			age, err := parseAge(cmd.olderThan)
			if err != nil {
				return wrongUsage(c, err)
			}
			return cmd.use(c.Context(), toRead, func(rec *openRecord) error { return cmd.prune(c.Context(), rec, age) })
		},
	}
	cmd.flags(c)
	c.Flags().StringVar(&cmd.olderThan, "older-than", "", "age of the last message, like 180d, 26w or 1y (required)")
	c.Flags().StringVar(&cmd.project, "project", "", "only conversations of the project of this directory (default: of all)")
	return c
}

// parseAge reads a number of days, weeks or years.
func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	units := map[byte]time.Duration{'d': day, 'w': 7 * day, 'y': 365 * day}
	if text == "" {
		return 0, errors.New("--older-than is required: there is no age that is right for everyone")
	}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseInt(strings.TrimSpace(text[:len(text)-1]), 10, 32)
	if err != nil || !known || n < 1 || n > 365*200 {
		return 0, fmt.Errorf("--older-than %q is not an age: want a number with d, w or y, like 180d", text)
	}
	return time.Duration(min(int64(unit)*n, int64(200*365*day))), nil
}

func (cmd *pruneCommand) prune(ctx context.Context, rec *openRecord, age time.Duration) error {
	var in *store.Project
	if cmd.project != "" {
		p, err := project.Of(cmd.project)
		if err != nil {
			return err
		}
		in = &p
	}
	since := time.Now().Add(-age)
	idle, err := rec.engine.Idle(ctx, since, in)
	if err != nil {
		return err
	}
	order := store.Erasure{Cause: "prune"}
	t := newTable(">", "last message", ">messages", "session")
	for _, c := range idle {
		order.Conversations = append(order.Conversations, c.ID)
		t.add(strconv.FormatInt(int64(c.ID), 10), c.UpdatedAt.Format(time.DateOnly), prose.Number(c.Messages), clip(safetext.Line(cmp.Or(c.Title, c.Key)), 80))
	}
	if !cmd.json && len(idle) > 0 {
		cmd.printTable(t)
		cmd.printf("\n")
	}
	cmd.recheck = func(ctx context.Context, order *store.Erasure) error {
		// Somebody may have gone on with one while the question stood.
		still, err := rec.engine.Idle(ctx, since, in)
		order.Conversations = slices.DeleteFunc(order.Conversations, func(id store.ConversationID) bool {
			return !slices.ContainsFunc(still, func(c store.Conversation) bool { return c.ID == id })
		})
		return err
	}
	return cmd.erase(ctx, rec, order)
}
