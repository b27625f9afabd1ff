package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/portable"
	"github.com/lossless-context/lcm/internal/record/postgres"
	dbarchive "github.com/lossless-context/lcm/internal/record/sqlite/archive"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

type archiveReport struct {
	Archive       string               `json:"archive"`
	Conversations int                  `json:"conversations"` // that were added
	Messages      int64                `json:"messages"`
	Known         int                  `json:"known"`
	Tombstones    int                  `json:"tombstones,omitempty"` // of messages that were forgotten there
	Conflicts     []dbarchive.Conflict `json:"conflicts"`
	Damaged       []store.Fault        `json:"damaged,omitempty"` // parts that fail the proof
	Digest        string               `json:"digest"`            // of the archive
	Seconds       float64              `json:"seconds"`
}

// archiveFlags say how an archive is imported.
type archiveFlags struct {
	skipConflicts bool // leave out conversations that differ here
	large         bool // believe any size
	damaged       bool // import messages that do not match their hash, too
}

// maxLost is how many parts of an archive that cannot be read are listed.
const maxLost = 1000

// isArchive reports whether a file is an archive that `lcm db export` wrote.
func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return portable.Peek(f)
}

// importArchive loads an archive into a database of its own and proves it. Then it
// replaces an empty database, or merges the archive into the database. It leaves out the
// parts that fail the proof, unless --damaged is given.
func (cmd *importCommand) importArchive(ctx context.Context, path string) error {
	begun := time.Now()
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if postgres.IsURL(cfg.Storage.DatabasePath) {
		return notInFile("import the archive into a database file, then `lcm db copy FILE URL`")
	}
	scratch, m, lost, err := cmd.unpack(ctx, path, cfg.Storage.DatabasePath)
	if err != nil {
		return err
	}
	defer scratch.Remove()
	r := archiveReport{Archive: path, Digest: m.Digest, Conflicts: []dbarchive.Conflict{}, Damaged: slices.Concat(lost, scratch.Proof.Faults)}
	if scratch.Proof.Messages == 0 && len(lost) > 0 {
		return failed(exitFaults, "nothing was imported; "+copyAgain, "%s: %s", path, lost[0].Detail)
	}
	empty := false
	err = cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) (err error) {
		db, err := rec.inFile("")
		if err != nil {
			return err
		}
		if empty, err = dbarchive.IsEmpty(ctx, db.File()); err != nil || empty {
			return err
		}
		merged, err := dbarchive.Merge(ctx, db.File(), scratch, cmd.archive.skipConflicts)
		r.Conversations, r.Messages, r.Known, r.Tombstones = merged.Added, merged.Messages, merged.Known, merged.Erasures
		r.Conflicts = list(merged.Conflicts)
		return err
	})
	if err != nil {
		return err
	}
	if empty {
		if err := scratch.Install(ctx, cfg.Storage.DatabasePath); err != nil {
			return err
		}
		r.Conversations, r.Messages = scratch.Proof.Conversations, scratch.Proof.Messages
	}
	r.Seconds = time.Since(begun).Seconds()
	err = cmd.printImported(r)
	warnFaults(cmd.program, r.Damaged)
	switch n := len(r.Damaged); {
	case err != nil || n == 0 || cmd.archive.damaged && len(lost) == 0:
		return err
	case cmd.archive.damaged:
		return failed(exitFaults, copyAgain, "%s: %s not be read", path, prose.Count(len(lost), "part could", "parts could"))
	default:
		return failed(exitFaults, "everything that proves was imported; with --damaged, into an empty database, what does not is taken as it is; `lcm doctor` says what is missing",
			"what is in %s has %s", path, prose.Count(n, "fault", "faults"))
	}
}

// unpack loads an archive beside the database and proves it. lost are unreadable parts.
func (cmd *importCommand) unpack(ctx context.Context, path, database string) (s *dbarchive.Scratch, m portable.Manifest, lost []store.Fault, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, m, nil, failed(exitNotFound, "name a file that `lcm db export` wrote", "%w", err)
	}
	defer file.Close()
	limits := portable.Limits{}
	if cmd.archive.large {
		limits.Ratio = 1 << 40
	}
	in, err := portable.NewReader(file, limits)
	if err != nil {
		return nil, m, nil, unreadable(path, err)
	}
	defer in.Close()
	m = in.Manifest()
	lose := func(code, node string, err error) {
		if len(lost) == maxLost {
			return
		}
		text, _ := split(err)
		lost = append(lost, store.Fault{Code: code, Node: node, Detail: plain(text)})
	}
	total := int64(0)
	for _, c := range m.Conversations {
		total += c.Messages
	}
	bar := cmd.newBar("loading")
	defer bar.clear()
	done := int64(0)
	scratch, err := dbarchive.Build(ctx, database, m.Schema, func(l *dbarchive.Loader) error {
		l.KeepDamaged = cmd.archive.damaged
		for {
			item, err := in.Next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, portable.ErrDamaged):
				lose("archive", path, err)
				continue
			case err != nil:
				return err
			case ctx.Err() != nil:
				return ctx.Err()
			case item.Content != nil:
				err = l.Payload(item.SHA256, item.Size, item.Content)
			default:
				if item.Table == "messages" {
					done++
					bar.set(done, total, prose.Number(done)+" messages")
				}
				err = l.Row(item.Table, item.Columns, item.Values)
			}
			switch {
			case err == nil || item.Damaged != "": // the proof names it
			case dbfile.Full(err) || ctx.Err() != nil:
				return err
			default:
				lose("row", path, err)
			}
		}
	})
	if err != nil {
		return nil, m, nil, unreadable(path, err)
	}
	if n := in.Repaired(); n > 0 {
		cmd.warn("%s is damaged: %s computed from the others; copy it again from where it came", path, prose.Count(n, "part of it was", "parts of it were"))
	}
	if got := hex.EncodeToString(scratch.Proof.Digest[:]); got != m.Digest && len(lost)+len(scratch.Proof.Faults) == 0 {
		lose("digest", path, fmt.Errorf("what is in it has the digest %s, its manifest says %s", got, m.Digest))
	}
	return scratch, m, lost, nil
}

const copyAgain = "export it again, or copy it again from where it came"

func unreadable(path string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	message, hint := split(err)
	return failed(exitFailure, "nothing was imported; "+cmp.Or(hint, copyAgain), "%s: %s", path, message)
}

func (cmd *importCommand) printImported(r archiveReport) error {
	if cmd.json {
		return cmd.printJSON(r)
	}
	for _, c := range r.Conflicts {
		cmd.warn("left out: %s (segment %d): %s", safetext.Line(c.Key), c.Segment, c.Why)
	}
	if r.Tombstones > 0 {
		cmd.note("%s came along: what was forgotten there stays away here (`lcm forget --list`)", prose.Count(r.Tombstones, "tombstone", "tombstones"))
	}
	cmd.printf("%s imported with %s, %s, in %s\ndigest of the archive %s\n", prose.Count(r.Conversations, "conversation", "conversations"),
		prose.Count(r.Messages, "message", "messages"), prose.Count(r.Known, "was known", "were known"), took(r.Seconds), r.Digest)
	return nil
}
