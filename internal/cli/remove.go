package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

func newRemove(a *program) *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "remove HOST…|--all",
		Short: "Disconnect agents again",
		Long: `Take out of the settings of agents what ` + "`lcm setup`" + ` put in. Files that nobody
else changed since are restored to the byte, from others only lcm's own entries
go. The record itself is not touched.

Hosts: ` + strings.Join(setup.Names(), ", ") + `.`,
		Example: "lcm remove claude\nlcm remove --all --yes\nlcm remove codex --print",
		Args: func(c *cobra.Command, args []string) error {
			if f.all == (len(args) > 0) {
				return wrongUsage(c, errors.New("name the hosts to disconnect, or say --all"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.remove(c.Context(), args, f) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "every host")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.print, "print", false, "show what would change, and change nothing")
	a.jsonFlag(c)
	return c
}

func (a *program) remove(ctx context.Context, names []string, f setupFlags) error {
	m, err := machine()
	if err != nil {
		return err
	}
	kept, err := openReceipts()
	if err != nil {
		return setupFailure(err)
	}
	if f.all {
		names = setup.Names()
	}
	plan := func(name string) (setup.Plan, error) { return setup.Removal(name, m, kept) }
	return a.change(ctx, names, plan, f, "as it was", setup.Plan.Undo)
}
