package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/doctor"
	"github.com/lossless-context/lcm/internal/sqlite/backup"
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

func newBackup(a *app) *cobra.Command {
	keep := 0
	c := &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Write a proved copy of the database while it is in use",
		Long: `Write a copy of the database as it stands at one moment, while agents go on
writing. The copy is proved before it gets its name: its digest is the one that
the database had at that moment. It is readable by its owner only, and a file
that exists is never overwritten.

Without FILE it goes to the directory "backups" beside the database, named by
the time. --keep N removes older ones of those afterwards, all but the newest N.`,
		Example: "lcm backup\nlcm backup --keep 7\nlcm backup /mnt/usb/lcm.db --json",
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case keep < 0:
				return wrongUsage(cmd, errors.New("--keep takes a number of at least 1"))
			case keep > 0 && len(args) > 0:
				return wrongUsage(cmd, errors.New("--keep is about the backups beside the database: leave FILE out"))
			}
			return a.backup(cmd, args, keep)
		},
	}
	c.Flags().IntVar(&keep, "keep", 0, "keep this many backups beside the database, and remove older ones")
	a.jsonFlag(c)
	return c
}

func (a *app) backup(cmd *cobra.Command, args []string, keep int) error {
	begun := time.Now()
	ar, err := a.open(cmd.Context(), toRead)
	if err != nil {
		return err
	}
	defer ar.close(cmd.Context())
	path := doctor.BackupPath(ar.db.Path(), begun, "")
	if len(args) > 0 {
		path = args[0]
	}
	bar := a.newBar("copying")
	proof, err := ar.db.Backup(cmd.Context(), path, func(done, total int) {
		bar.set(int64(done), int64(total), "")
	})
	bar.clear()
	if err != nil {
		return err
	}
	r := backupReport{
		File: path, Conversations: proof.Conversations, Messages: proof.Messages, Digest: hex.EncodeToString(proof.Digest[:]),
		Faults: len(proof.Faults), Removed: []string{},
	}
	if info, err := os.Stat(path); err == nil {
		r.Bytes = info.Size()
	}
	if keep > 0 {
		if r.Removed, err = rotate(filepath.Dir(path), keep); err != nil {
			return err
		}
	}
	r.Seconds = time.Since(begun).Seconds()
	if r.Faults == 0 { // what is missing in the database may be in one of them
		a.tidy(filepath.Dir(path), begun)
	}
	if r.Faults > 0 {
		a.warn("the database has %s, and so has the backup: see `lcm doctor`", counted(r.Faults, "fault", "faults"))
	}
	if a.json {
		return a.printJSON(r)
	}
	a.printf("%s\n", neutralLine(r.File))
	a.printf("%s, %s in %s, %s\ndigest %s\n", size(r.Bytes), counted(r.Messages, "message", "messages"),
		counted(r.Conversations, "conversation", "conversations"), took(r.Seconds), r.Digest)
	return nil
}

// deserted is how long nobody has written to an unfinished copy that the next
// command to write beside it removes.
const deserted = 24 * time.Hour

// tidy removes what backups and exports that were killed have left in a
// directory: it may hold what was erased since.
func (a *app) tidy(dir string, now time.Time) {
	removed, err := backup.RemoveLeftOvers(dir, now.Add(-deserted))
	for _, path := range removed {
		a.note("removed %s, which a command that was cut off more than a day ago had left", neutralLine(path))
	}
	if err != nil {
		a.warn("unfinished copies of commands that were cut off could not be removed: %v", err)
	}
}

func took(seconds float64) string { return fmt.Sprintf("%.1f s", seconds) }

// backupName is how backups beside a database are called. Those that a
// treatment made are left alone.
var backupName = regexp.MustCompile(`^lcm-\d{8}T\d{6}\.\d{3}Z\.db$`)

// rotate removes all but the newest backups of a directory.
func rotate(dir string, keep int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && backupName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	removed := []string{}
	for i, name := range names {
		if i < keep {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return removed, err
		}
		removed = append(removed, filepath.Join(dir, name))
	}
	return removed, nil
}

type restoreReport struct {
	Database      string  `json:"database"`
	Kept          string  `json:"kept,omitempty"`
	Unforgotten   int     `json:"unforgotten,omitempty"` // erasures that the backup knows nothing of
	Conversations int     `json:"conversations"`
	Messages      int64   `json:"messages"`
	Digest        string  `json:"digest"`
	Seconds       float64 `json:"seconds"`
}

func newRestore(a *app) *cobra.Command {
	var r backup.Replacement
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the database",
		Long: `Put a copy of a backup in the place of the database. It is copied, brought to
the present schema and proved before anything is touched. A database that is
there is replaced only with --force, and then kept beside it under another name.
While another process has the database open it is not replaced.`,
		Example: "lcm restore backups/lcm-20260219T101500.000Z.db --force\nlcm --db /tmp/look.db restore /mnt/usb/lcm.db",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			begun := time.Now()
			cfg, err := a.settings()
			if err != nil {
				return err
			}
			switch info, err := os.Stat(args[0]); {
			case err != nil:
				return failed(exitNotFound, "name the file of a backup", "%w", err)
			case !info.Mode().IsRegular(): // reading a pipe would wait for ever
				return failed(exitFailure, "name the file of a backup", "%s is not a regular file", args[0])
			}
			done, err := backup.Install(cmd.Context(), args[0], cfg.Storage.DatabasePath, r)
			if err != nil {
				return err
			}
			return a.printRestored(restoreReport{
				Database: cfg.Storage.DatabasePath, Kept: done.Kept, Unforgotten: len(done.Unforgotten), Conversations: done.Proof.Conversations, Messages: done.Proof.Messages,
				Digest: hex.EncodeToString(done.Proof.Digest[:]), Seconds: time.Since(begun).Seconds(),
			})
		},
	}
	c.Flags().BoolVar(&r.Force, "force", false, "replace the database that is there; it is kept under another name")
	c.Flags().BoolVar(&r.Damaged, "damaged", false, "restore a backup that has faults")
	a.jsonFlag(c)
	return c
}

func (a *app) printRestored(r restoreReport) error {
	if a.json {
		return a.printJSON(r)
	}
	a.printf("%s restored: %s in %s, %s\ndigest %s\n", neutralLine(r.Database), counted(r.Messages, "message", "messages"),
		counted(r.Conversations, "conversation", "conversations"), took(r.Seconds), r.Digest)
	if r.Unforgotten > 0 {
		a.warn("the backup knows nothing of %s since it was made: what was forgotten may be back, and is to be forgotten again (`lcm --db %s forget --list` shows what)",
			counted(r.Unforgotten, "erasure", "erasures"), neutralLine(r.Kept))
	}
	if r.Kept != "" {
		a.printf("the database that was there is kept as %s\n", neutralLine(r.Kept))
	}
	return nil
}
