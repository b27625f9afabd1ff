package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/portable"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/sqlite/move"
	"github.com/lossless-context/lcm/internal/record/store"
)

type exportCommand struct {
	*program
	output        string
	conversations []int64
	raw, all      bool
	force         bool
}

type exportReport struct {
	File          string  `json:"file"`
	Bytes         int64   `json:"bytes"`
	Conversations int     `json:"conversations"`
	Messages      int64   `json:"messages"`
	Digest        string  `json:"digest,omitempty"`
	Seconds       float64 `json:"seconds"`
	// Damaged are the parts that do not match their hashes.
	Damaged []store.Fault `json:"damaged,omitempty"`
}

func newExport(p *program) *cobra.Command {
	cmd := &exportCommand{program: p}
	c := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write an archive that outlives the database, or the original records",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.output != "" {
				return wrongUsage(c, errors.New("the file is named twice: once is enough"))
			}
			if len(args) > 0 {
				cmd.output = args[0]
			}
			if cmd.output == "-" {
				cmd.output = ""
			}
			switch {
			case cmd.all && len(cmd.conversations) > 0:
				return wrongUsage(c, errors.New("--all and --conversation exclude each other"))
			case cmd.raw && cmd.all && cmd.output == "":
				return wrongUsage(c, errors.New("--raw --all writes a file for each conversation: name a directory"))
			case cmd.raw && !cmd.all && len(cmd.conversations) > 1:
				return wrongUsage(c, errors.New("--raw writes one conversation, or with --all every one"))
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
	c.Flags().StringVarP(&cmd.output, "output", "o", "", "the same as FILE (default, or -: standard output)")
	c.Flags().Int64SliceVarP(&cmd.conversations, "conversation", "c", nil, "only these conversations, with commas between them")
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "every conversation (an archive has them unless some are chosen)")
	c.Flags().BoolVar(&cmd.raw, "raw", false, "the original records instead of an archive")
	forceFlag(c, &cmd.force)
	return cmd.jsonFlag(c)
}

// exportArchive writes an archive to a file or to standard output.
func (cmd *exportCommand) exportArchive(ctx context.Context, rec *openRecord, damage []store.Fault) error {
	begun := time.Now()
	db, err := rec.inFile("`lcm db copy URL FILE` makes a database file of it, which can be exported; pg_dump makes a backup")
	if err != nil {
		return err
	}
	r := exportReport{File: cmd.output, Damaged: damage}
	var ids []store.ConversationID
	for _, n := range cmd.conversations {
		ids = append(ids, store.ConversationID(n))
	}
	write := func(w io.Writer) error {
		counting := &countingWriter{w: w}
		b := cmd.newBar("archiving")
		defer b.clear()
		about := portable.Manifest{Program: "lcm " + version, Created: time.Now().UTC().Truncate(time.Second)}
		m, err := move.Export(ctx, db.SQL(), ids, counting, about, damage, func(done int64) {
			r.Messages = done
			b.set(done, 0, prose.Number(done)+" messages")
		})
		r.Bytes, r.Conversations, r.Digest = counting.n, len(m.Conversations), m.Digest
		return err
	}
	if cmd.output == "" {
		return errors.Join(write(cmd.out), cmd.damageWritten(r.Damaged))
	}
	if err := create(cmd.output, write); err != nil {
		return err
	}
	r.Seconds = time.Since(begun).Seconds()
	err = cmd.result(r, "%s\n%s, %s, %s\ndigest %s\n", safetext.Line(r.File), prose.Size(r.Bytes),
		extent(r.Messages, r.Conversations), took(r.Seconds), r.Digest)
	return errors.Join(err, cmd.damageWritten(r.Damaged))
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

// countingWriter counts the bytes written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
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

// rawFaults are the positions of unreadable records and of records that have changed.
type rawFaults struct{ unread, changed []int64 }

func (f rawFaults) err(c store.Conversation) error {
	var what []string
	if n := len(f.unread); n > 0 {
		what = append(what, fmt.Sprintf("%s could not be read (the first at %d)", prose.Count(n, "record", "records"), f.unread[0]))
	}
	if n := len(f.changed); n > 0 {
		what = append(what, fmt.Sprintf("%s written that %s not what arrived (the first at %d)", prose.Count(n, "record was", "records were"),
			map[bool]string{true: "is", false: "are"}[n == 1], f.changed[0]))
	}
	if what == nil {
		return nil
	}
	return failed(exitFaults, "the others are whole; `lcm doctor` says what is wrong with the database", "of conversation %d %s", c.ID, strings.Join(what, ", and "))
}

// exportRaw writes original records.
func (cmd *exportCommand) exportRaw(ctx context.Context, rec *openRecord) error {
	if cmd.all {
		return cmd.exportAllRaw(ctx, rec, cmd.output)
	}
	ch := choice{}
	if len(cmd.conversations) == 1 {
		ch.number = cmd.conversations[0]
	}
	c, err := rec.pick(ctx, ch)
	if err != nil {
		return err
	}
	var faults rawFaults
	write := func(w io.Writer) (err error) {
		_, faults, err = rec.records(ctx, c, w)
		return err
	}
	if cmd.output == "" {
		err = write(terminalWriter{cmd.program, cmd.force})
	} else {
		err = create(cmd.output, write)
	}
	return errors.Join(err, faults.err(c))
}

// exportAllRaw writes a file for each conversation, and goes on after an error.
func (cmd *exportCommand) exportAllRaw(ctx context.Context, rec *openRecord, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(exitFailure, "choose a directory that can be written to", "%w", err)
	}
	list, err := rec.db.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return err
	}
	r := exportReport{File: dir}
	failures, code := 0, exitFaults
	for _, c := range list {
		// The name has nothing of the session in it: keys can hold slashes.
		path := filepath.Join(dir, fmt.Sprintf("conversation-%d.jsonl", c.ID))
		var faults rawFaults
		err := create(path, func(w io.Writer) (err error) {
			counting := &countingWriter{w: w}
			n := int64(0)
			n, faults, err = rec.records(ctx, c, counting)
			r.Messages, r.Bytes = r.Messages+n, r.Bytes+counting.n
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			r.Conversations++
		}
		if err = errors.Join(err, faults.err(c)); err != nil {
			failures++
			if exitCode(err) != exitFaults {
				code = exitFailure
			}
			text, _ := split(err)
			cmd.warn("conversation %d: %s", c.ID, safetext.Line(text))
		}
	}
	if failures > 0 {
		return failed(code, "everything else was written", "%s could not be written whole", prose.Count(failures, "conversation", "conversations"))
	}
	return cmd.result(r, "%s: %s in %s, %s\n", safetext.Line(dir), prose.Count(r.Messages, "record", "records"),
		prose.Count(r.Conversations, "file", "files"), prose.Size(r.Bytes))
}

// records writes the original records of a conversation, one a line. It skips unreadable
// ones, and returns their positions and those of changed ones.
func (rec *openRecord) records(ctx context.Context, c store.Conversation, to io.Writer) (n int64, faults rawFaults, err error) {
	w := bufio.NewWriterSize(to, 1<<20)
	for last := int64(0); last < c.Messages; {
		broken := false
		for m, err := range rec.db.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: last}) {
			if ctx.Err() != nil {
				return n, faults, errors.Join(ctx.Err(), w.Flush())
			}
			if broken = err != nil; broken && m.ID == 0 {
				last++
				faults.unread = append(faults.unread, last)
				break
			}
			last = m.Seq
			if hosts.IsAside(m.Native) {
				continue // a file of its own, that the transcript only refers to
			}
			record, err := rec.db.Record(ctx, m.ID)
			if err != nil && record == nil {
				faults.unread = append(faults.unread, m.Seq)
				continue
			}
			if err != nil {
				faults.changed = append(faults.changed, m.Seq)
			}
			if _, err := w.Write(append(record, '\n')); err != nil {
				return n, faults, err
			}
			n++
		}
		if !broken {
			break
		}
	}
	return n, faults, w.Flush()
}
