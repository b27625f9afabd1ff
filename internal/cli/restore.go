package cli

import (
	"encoding/hex"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
)

type restoreReport struct {
	Database      string  `json:"database"`
	Kept          string  `json:"kept,omitempty"`
	Unforgotten   int     `json:"unforgotten,omitempty"` // erasures that the backup knows nothing of
	Conversations int     `json:"conversations"`
	Messages      int64   `json:"messages"`
	Digest        string  `json:"digest"`
	Seconds       float64 `json:"seconds"`
}

type restoreCommand struct {
	*program
	backup.Replacement
}

func newRestore(p *program) *cobra.Command {
	cmd := &restoreCommand{program: p}
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the database",
		Args:  usage(cobra.ExactArgs(1)),
		RunE:  cmd.run,
	}
	c.Flags().BoolVar(&cmd.Force, "force", false, "replace the database that is there; it is kept under another name")
	c.Flags().BoolVar(&cmd.Damaged, "damaged", false, "restore a backup that has faults")
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
	done, err := backup.Install(c.Context(), args[0], cfg.Storage.DatabasePath, cmd.Replacement)
	if err != nil {
		return err
	}
	r := restoreReport{
		Database: cfg.Storage.DatabasePath, Kept: done.Kept, Unforgotten: len(done.Unforgotten), Conversations: done.Proof.Conversations, Messages: done.Proof.Messages,
		Digest: hex.EncodeToString(done.Proof.Digest[:]), Seconds: time.Since(begun).Seconds(),
	}
	if cmd.json {
		return cmd.printJSON(r)
	}
	cmd.printf("%s restored: %s, %s\ndigest %s\n", safetext.Line(r.Database), extent(r.Messages, r.Conversations), took(r.Seconds), r.Digest)
	if r.Unforgotten > 0 {
		cmd.warn("the backup knows nothing of %s since it was made: what was forgotten may be back, and is to be forgotten again (`lcm --db %s forget --list` shows what)",
			prose.Count(r.Unforgotten, "erasure", "erasures"), safetext.Line(r.Kept))
	}
	if r.Kept != "" {
		cmd.printf("the database that was there is kept as %s\n", safetext.Line(r.Kept))
	}
	return nil
}
