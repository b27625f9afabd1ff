package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

type removeCommand struct{ hostChange }

func newRemove(p *program) *cobra.Command {
	cmd := &removeCommand{hostChange{program: p, done: "as it was", apply: setup.Plan.Undo}}
	c := &cobra.Command{
		Use:   "remove HOST…|--all",
		Short: "Disconnect agents again",
		Long: `Remove the entries of ` + "`lcm setup`" + ` from the settings of agents. Files that nobody
else changed since are restored to the byte; from others only lcm's own entries
are removed. The record itself is not touched.

Hosts: ` + strings.Join(setup.Names(), ", ") + `.`,
		Example: "lcm remove claude\nlcm remove --all --yes\nlcm remove codex --print",
		Args: func(c *cobra.Command, args []string) error {
			if cmd.all == (len(args) > 0) {
				return wrongUsage(c, errors.New("name the hosts to disconnect, or say --all"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.remove(c.Context(), args) },
	}
	cmd.flags(c, "every host")
	return c
}

func (cmd *removeCommand) remove(ctx context.Context, names []string) error {
	m, err := machine()
	if err != nil {
		return err
	}
	kept, err := openReceipts()
	if err != nil {
		return setupFailure(err)
	}
	if cmd.all {
		names = setup.Names()
	}
	cmd.plan = func(name string) (setup.Plan, error) { return setup.Removal(name, m, kept) }
	return cmd.change(ctx, names)
}
