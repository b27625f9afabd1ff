package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/settings/config"
)

func newConfig(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show or change settings",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			return p.result(map[string]any{"file": cfg.File, "settings": cfg.Values()}, "%s", cfg.Render())
		},
	}
	c.AddCommand(newConfigGet(p), newConfigSet(p))
	return p.jsonFlag(c)
}

func isSecret(key string) bool {
	return slices.ContainsFunc(config.Table(), func(s config.Setting) bool { return s.Key == key && s.Secret })
}

func newConfigGet(p *program) *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:               "get KEY",
		Short:             "Print the value of one setting",
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			value, err := cfg.Get(args[0])
			if err != nil {
				return err
			}
			all := cfg.Values()
			i := slices.IndexFunc(all, func(v config.Value) bool { return v.Key == args[0] })
			return p.result(all[i], "%s\n", value)
		},
	})
}

func newConfigSet(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:               "set KEY VALUE",
		Short:             "Change one setting in the configuration file",
		Args:              usage(cobra.ExactArgs(2)),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			shown := args[1]
			switch {
			case isSecret(args[0]):
				shown = config.Redacted
			case args[0] == "storage.database_path":
				clean, err := withoutPassword(args[1])
				if err != nil {
					return &failure{exitConfig, err}
				}
				shown = clean
			}
			path, err := config.SetFile(config.Options{}, args[0], args[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(p.err, "%s: %s is now %s\n", path, args[0], shown)
			return nil
		},
	}
	c.Flags().SetInterspersed(false) // a value may begin with a hyphen
	return c
}

// withoutPassword returns the path of a database as it may be shown.
func withoutPassword(path string) (string, error) {
	if !postgres.IsURL(path) {
		return path, postgres.CheckPath(path)
	}
	clean, _, err := postgres.TakePassword(path)
	return clean, err
}

func completeKeys(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []string
	for _, s := range config.Table() {
		keys = append(keys, s.Key)
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
