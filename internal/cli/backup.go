package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

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
			return cmd.backup(c.Context(), args)
		},
	}
	c.Flags().IntVar(&cmd.keep, "keep", 0, "keep this many backups beside the database, and remove older ones")
	return cmd.jsonFlag(c)
}

func (cmd *backupCommand) backup(ctx context.Context, args []string) error {
	begun := time.Now()
	cfg, err := cmd.fileSettings("use pg_dump, or continuous archiving (PITR); `lcm db copy` makes a database file of it")
	if err != nil {
		return err
	}
	path := doctor.BackupPath(dbfile.Resolve(cfg.Storage.DatabasePath), begun, "")
	if len(args) > 0 {
		path = args[0]
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return failed(exitFailure, "make it first, or choose one that exists", "the directory of %s is missing: %w", path, err)
		}
	}
	made, err := cmd.copyTo(ctx, cfg.Storage.DatabasePath, path)
	if err != nil {
		return err
	}
	defer made.Remove()
	if err := made.Publish(path); err != nil {
		return err
	}
	r := movedReport{File: path}
	r.count(made.Proof)
	if cmd.keep > 0 && len(made.Damage) == 0 { // older ones may have what is damaged
		if r.Removed, err = rotate(filepath.Dir(path), cmd.keep); err != nil {
			return err
		}
	}
	return cmd.printMoved(r, begun, made.Damage)
}

// fileSettings returns the settings for a command that works on a database file which is
// there.
func (p *program) fileSettings(instead string) (*config.Config, error) {
	cfg, err := p.settings()
	if err != nil {
		return nil, err
	}
	if postgres.IsURL(cfg.Storage.DatabasePath) {
		return nil, notInFile(instead)
	}
	return cfg, p.isThere(cfg.Storage.DatabasePath)
}

// copyTo makes a sound copy of a database file, for a name that must be free.
func (p *program) copyTo(ctx context.Context, from, to string) (*move.Built, error) {
	if err := move.Free(to); err != nil {
		return nil, err
	}
	bar := p.newBar("copying")
	defer bar.clear()
	made, err := move.Copy(ctx, from, to, func(done, total int) { bar.set(int64(done), int64(total), "") })
	return made, fileFailure(err)
}

// fileFailure is the error of a command that reads a whole database file.
func fileFailure(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		message, hint := split(err)
		return failed(exitFaults, hint, "%s", message)
	}
	if err != nil {
		return databaseFailure(err)
	}
	return nil
}

// damageWritten warns of the faults of a database of which everything that can be read was
// written, and returns the error for them.
func (p *program) damageWritten(faults []store.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	warnFaults(p, faults)
	return failed(exitFaults, "everything that can be read was written: what is derived was made again, what is damaged has a mark; `lcm doctor` says what can be done about it",
		"the database has %s", prose.Count(len(faults), "fault", "faults"))
}

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
