package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionReport struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(p *program) *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			r := versionReport{Version: version, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" && commit == "" {
						r.Revision = s.Value
					}
				}
			}
			return p.result(r, "lcm %s (commit %s, %s, %s)\n", r.Version, cmp.Or(r.Revision, "unknown"), r.Go, r.Platform)
		},
	})
}
