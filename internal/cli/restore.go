package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

type restoreCommand struct {
	*program
	force, damaged bool
}

func newRestore(p *program) *cobra.Command {
	cmd := &restoreCommand{program: p}
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the database",
		Args:  usage(cobra.ExactArgs(1)),
		RunE:  cmd.run,
	}
	c.Flags().BoolVar(&cmd.force, "force", false, "replace the database that is there; it is kept under another name")
	c.Flags().BoolVar(&cmd.damaged, "damaged", false, "restore a backup that has faults")
	return cmd.jsonFlag(c)
}

func (cmd *restoreCommand) run(c *cobra.Command, args []string) error {
	begun := time.Now()
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if postgres.IsURL(cfg.Storage.DatabasePath) {
		return notInFile("restore the backup to a file (--db FILE), then `lcm db copy FILE URL`; pg_restore restores a dump of PostgreSQL")
	}
	switch info, err := os.Stat(args[0]); {
	case err != nil:
		return failed(exitNotFound, "name the file of a backup", "%w", err)
	case !info.Mode().IsRegular(): // reading a pipe would wait for ever
		return failed(exitFailure, "name the file of a backup", "%s is not a regular file", args[0])
	}
	path := cfg.Storage.DatabasePath
	if _, err := os.Lstat(dbfile.Resolve(path)); err == nil && !cmd.force {
		return failed(exitFailure, "--force replaces it and keeps the old one beside it", "there is a database at %s", path)
	}
	made, err := move.Copy(c.Context(), args[0], path, nil)
	if err != nil {
		message, hint := split(err)
		return failed(exitFailure, hint, "%s is not a backup that can be restored: %s", args[0], message)
	}
	defer made.Remove()
	if n := len(made.Damage); n > 0 && !cmd.damaged {
		f := made.Damage[0]
		return failed(exitFaults, "take another backup; --damaged restores everything that can be read of it", "%s has %s, the first is %s (%s): %s", args[0], prose.Count(n, "fault", "faults"), f.Code, f.Node, f.Detail)
	}
	lost, err := made.Unforgotten(c.Context(), path)
	if err != nil {
		return err
	}
	kept, err := made.Replace(c.Context(), path, time.Now())
	if err != nil {
		return err
	}
	r := movedReport{From: args[0], File: path, Kept: kept, Unforgotten: len(lost)}
	r.count(made.Proof)
	if r.Unforgotten > 0 {
		cmd.warn("the backup knows nothing of %s since it was made: what was forgotten may be back, and is to be forgotten again (`lcm --db %s forget --list` shows what)",
			prose.Count(r.Unforgotten, "erasure", "erasures"), safetext.Line(r.Kept))
	}
	if r.Kept != "" {
		cmd.note("the database that was there is kept as %s", safetext.Line(r.Kept))
	}
	return cmd.printMoved(r, begun, nil)
}
