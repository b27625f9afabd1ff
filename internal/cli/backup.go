package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

type backupReport struct {
	File          string   `json:"file"`
	Bytes         int64    `json:"bytes"`
	Conversations int      `json:"conversations"`
	Messages      int64    `json:"messages"`
	Digest        string   `json:"digest"`
	Faults        int      `json:"faults"`
	Removed       []string `json:"removed"` // older backups
	Seconds       float64  `json:"seconds"`
}

type backupCommand struct {
	*program
	keep int
}

func newBackup(p *program) *cobra.Command {
	cmd := &backupCommand{program: p}
	c := &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Write a proved copy of the database while it is in use",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case cmd.keep < 0:
				return wrongUsage(c, errors.New("--keep takes a number of at least 1"))
			case cmd.keep > 0 && len(args) > 0:
				return wrongUsage(c, errors.New("--keep is about the backups beside the database: leave FILE out"))
			}
			cfg, err := cmd.settings()
			if err != nil {
				return err
			}
			path := doctor.BackupPath(dbfile.Resolve(cfg.Storage.DatabasePath), time.Now(), "")
			if len(args) > 0 {
				path = args[0]
			}
			return cmd.useReadable(c.Context(), cfg, func(rec *openRecord, damage []store.Fault) error { return cmd.backup(c.Context(), rec, path, damage) })
		},
	}
	c.Flags().IntVar(&cmd.keep, "keep", 0, "keep this many backups beside the database, and remove older ones")
	return cmd.jsonFlag(c)
}

func (cmd *backupCommand) backup(ctx context.Context, rec *openRecord, path string, damage []store.Fault) error {
	begun := time.Now()
	db, err := rec.inFile("use pg_dump, or continuous archiving (PITR); `lcm db copy` makes a database file of it")
	if err != nil {
		return err
	}
	bar := cmd.newBar("copying")
	proof, err := db.Backup(ctx, path, func(done, total int) {
		bar.set(int64(done), int64(total), "")
	})
	bar.clear()
	if err != nil {
		return err
	}
	damage = withFaults(damage, proof.Faults...)
	r := backupReport{
		File: path, Conversations: proof.Conversations, Messages: proof.Messages, Digest: hex.EncodeToString(proof.Digest[:]),
		Removed: []string{},
	}
	if info, err := os.Stat(path); err == nil {
		r.Bytes = info.Size()
	}
	if r.Faults = len(damage); r.Faults > 0 { // a proof also counts what is missing
		if r.Messages, err = storedMessages(ctx, rec.db); err != nil {
			_ = os.Remove(path) // a copy that cannot be read; useReadable calls again with one that can
			return err
		}
	}
	if cmd.keep > 0 && r.Faults == 0 { // older ones may have what is damaged
		if r.Removed, err = rotate(filepath.Dir(path), cmd.keep); err != nil {
			return err
		}
	}
	r.Seconds = time.Since(begun).Seconds()
	if r.Faults == 0 { // an unfinished copy may hold messages that the database lost
		removeLeftovers(cmd.program, filepath.Dir(path), begun)
	}
	err = cmd.result(r, "%s\n%s, %s, %s\ndigest %s\n", safetext.Line(r.File), prose.Size(r.Bytes), extent(r.Messages, r.Conversations), took(r.Seconds), r.Digest)
	return errors.Join(err, cmd.damageWritten(damage))
}

// extent counts messages and their conversations.
func extent(messages int64, conversations int) string {
	return prose.Count(messages, "message", "messages") + " in " + prose.Count(conversations, "conversation", "conversations")
}

// deserted is the age from which an unfinished file counts as left over.
const deserted = 24 * time.Hour

// removeLeftovers removes unfinished copies, which may hold messages that were erased since.
func removeLeftovers(p *program, dir string, now time.Time) {
	removed, err := backup.RemoveLeftOvers(dir, now.Add(-deserted))
	for _, path := range removed {
		p.note("removed %s, which a command that was cut off more than a day ago had left", safetext.Line(path))
	}
	if err != nil {
		p.warn("unfinished copies of commands that were cut off could not be removed: %v", err)
	}
}

func took(seconds float64) string { return fmt.Sprintf("%.1f s", seconds) }

// backupName matches the backups beside a database, but not those that the doctor made.
var backupName = lazyregexp.New(`^lcm-\d{8}T\d{6}\.\d{3}Z\.db$`)

// rotate removes all but the newest backups of a directory.
func rotate(dir string, keep int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && backupName().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Reverse(names) // ReadDir sorts them, and their names are times
	removed := []string{}
	for _, name := range names[min(keep, len(names)):] {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return removed, err
		}
		removed = append(removed, filepath.Join(dir, name))
	}
	return removed, nil
}
