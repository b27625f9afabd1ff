package cli

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	dbcheck "github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

type exportCommand struct {
	*program
	output        string // "" is standard output
	conversations []int64
	raw           bool
}

// movedReport is the outcome of `lcm db backup`, restore, copy and export.
type movedReport struct {
	From          string        `json:"from,omitempty"`
	File          string        `json:"file"`
	Bytes         int64         `json:"bytes,omitempty"`
	Conversations int           `json:"conversations"`
	Messages      int64         `json:"messages"`
	Digest        string        `json:"digest,omitempty"`
	Faults        []store.Fault `json:"faults"`
	Removed       []string      `json:"removed,omitempty"`     // older backups
	Kept          string        `json:"kept,omitempty"`        // where the replaced database is
	Unforgotten   int           `json:"unforgotten,omitempty"` // erasures that the backup knows nothing of
	Seconds       float64       `json:"seconds"`
}

// count takes what was proved into a report.
func (r *movedReport) count(p verify.Proof) {
	r.Conversations, r.Messages = p.Conversations, p.Messages
	if len(dbcheck.Damage(p.Faults)) == 0 {
		r.Digest = hex.EncodeToString(p.Digest[:])
	}
}

// printMoved prints a report. damage is what is wrong with the source.
func (p *program) printMoved(r movedReport, begun time.Time, damage []store.Fault) error {
	r.Faults, r.Seconds = list(damage), time.Since(begun).Seconds()
	if info, err := os.Stat(r.File); err == nil {
		r.Bytes = info.Size()
	}
	digest := noDigest
	if r.Digest != "" {
		digest = "digest " + r.Digest
	}
	err := p.result(r, "%s\n%s in %s, %s, %.1f s\n%s\n", safetext.Line(r.File), prose.Count(r.Messages, "message", "messages"),
		prose.Count(r.Conversations, "conversation", "conversations"), prose.Size(r.Bytes), r.Seconds, digest)
	return errors.Join(err, p.damageWritten(damage))
}

func newExport(p *program) *cobra.Command {
	cmd := &exportCommand{program: p}
	c := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write an archive that outlives the database, or the original records",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] != "-" {
				cmd.output = args[0]
			}
			switch {
			case cmd.raw && len(cmd.conversations) > 1:
				return wrongUsage(c, errors.New("--raw writes one conversation"))
			case !cmd.raw && cmd.output == "" && cmd.terminal:
				return wrongUsage(c, errors.New("an archive is not for a terminal: name a file, or pipe it"))
			}
			cfg, err := cmd.settings()
			if err != nil {
				return err
			}
			return cmd.useSound(c.Context(), cfg, func(rec *openRecord, damage []store.Fault) error {
				if cmd.raw {
					return errors.Join(cmd.exportRaw(c.Context(), rec), cmd.damageWritten(damage))
				}
				return cmd.exportArchive(c.Context(), rec, damage)
			})
		},
	}
	c.Flags().Int64SliceVarP(&cmd.conversations, "conversation", "c", nil, "only these conversations, with commas between them; without it all")
	c.Flags().BoolVar(&cmd.raw, "raw", false, "the original records of one conversation instead of an archive")
	return cmd.jsonFlag(c)
}

// exportArchive writes an archive to a file or to standard output.
func (cmd *exportCommand) exportArchive(ctx context.Context, rec *openRecord, damage []store.Fault) error {
	begun := time.Now()
	db, err := rec.inFile("`lcm db copy URL FILE` makes a database file of it, which can be exported; pg_dump makes a backup")
	if err != nil {
		return err
	}
	r := movedReport{File: cmd.output}
	var ids []store.ConversationID
	for _, n := range cmd.conversations {
		ids = append(ids, store.ConversationID(n))
	}
	write := func(w io.Writer) error {
		b := cmd.newBar("archiving")
		defer b.clear()
		about := archive.Manifest{Program: "lcm " + version, Created: time.Now().UTC().Truncate(time.Second)}
		m, err := move.Export(ctx, db.SQL(), ids, w, about, damage, func(done int64) {
			r.Messages = done
			b.set(done, 0, prose.Number(done)+" messages")
		})
		if r.Conversations = len(m.Conversations); len(damage) == 0 {
			r.Digest = m.Digest
		}
		return err
	}
	if cmd.output == "" {
		return errors.Join(write(cmd.out), cmd.damageWritten(damage))
	}
	if err := create(cmd.output, write); err != nil {
		return err
	}
	return cmd.printMoved(r, begun, damage)
}

// maxFaults is how many faults are warned of one by one.
const maxFaults = 20

func warnFaults(p *program, faults []store.Fault) {
	for i, f := range faults {
		if i == maxFaults {
			p.warn("and %s", prose.Count(len(faults)-maxFaults, "more fault", "more faults"))
			return
		}
		p.warn("damaged: %s: %s", safetext.Line(f.Node), safetext.Line(f.Detail))
	}
}

// create writes a file that `lcm db export` was asked for.
func create(path string, write func(io.Writer) error) error {
	move.Sweep(filepath.Dir(path))
	err := writeNew(path, dbfile.PartPattern, write)
	var wrong *fs.PathError
	switch {
	case errors.Is(err, fs.ErrExist):
		return existing(path)
	case errors.As(err, &wrong) && wrong.Op == "open":
		return failed(exitFailure, "choose a directory that exists and can be written to", "%w", err)
	}
	return err
}

// existing is the error for a file that must not be overwritten.
func existing(path string) error {
	return failed(exitFailure, "choose another name, or move it away; nothing was overwritten", "%s exists", path)
}

// writeNew writes a file for its owner only. It gets its name when it is complete, and
// never replaces another one: that is [fs.ErrExist].
func writeNew(path, pattern string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	f, err := os.CreateTemp(filepath.Dir(path), pattern) // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return nameFile(f.Name(), path)
}

// nameFile gives a complete file its name, and never replaces another one.
func nameFile(from, path string) error {
	err := os.Link(from, path) // unlike a rename it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(from, path) // a file system without links
	}
	return err
}

// exportRaw writes the original records of a conversation, one a line.
func (cmd *exportCommand) exportRaw(ctx context.Context, rec *openRecord) error {
	ch := choice{}
	if len(cmd.conversations) == 1 {
		ch.number = cmd.conversations[0]
	}
	c, err := rec.pick(ctx, ch)
	if err != nil {
		return err
	}
	damaged := 0
	write := func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 1<<20)
		for m, err := range rec.db.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			if err != nil && m.ID == 0 {
				return err
			}
			if hosts.IsAside(m.Native) {
				continue // a file of its own, that the transcript only refers to
			}
			record, err := rec.db.Record(ctx, m.ID)
			switch {
			case errors.Is(err, store.ErrDamaged):
				damaged++
			case err != nil:
				return err
			}
			if record != nil {
				_, _ = w.Write(append(record, '\n')) // Flush returns the error
			}
		}
		return w.Flush()
	}
	if cmd.output == "" {
		err = write(terminalWriter{cmd.program})
	} else {
		err = create(cmd.output, write)
	}
	return errors.Join(err, damageShown(damaged))
}
