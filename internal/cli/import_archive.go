package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/store"
)

type archiveReport struct {
	Archive       string          `json:"archive"`
	Conversations int             `json:"conversations"` // that were added
	Grown         int             `json:"grown"`         // conversations that were here and got messages
	Messages      int64           `json:"messages"`
	Known         int             `json:"known"`
	Tombstones    int             `json:"tombstones,omitempty"` // of messages that were forgotten there
	Conflicts     []move.Conflict `json:"conflicts"`
	Damaged       []store.Fault   `json:"damaged,omitempty"` // parts that fail the proof
	Digest        string          `json:"digest"`            // of the archive
	Seconds       float64         `json:"seconds"`
}

// isArchive reports whether a file is an archive that `lcm db export` wrote.
func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return archive.Peek(f)
}

// importArchive loads an archive into a database of its own and proves it. Then it
// replaces an empty database, or merges the archive into the database. Messages that fail
// the proof are marked wherever they are shown.
func (cmd *importCommand) importArchive(ctx context.Context, path string) error {
	begun := time.Now()
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if postgres.IsURL(cfg.Storage.DatabasePath) {
		return notInFile("import the archive into a database file, then `lcm db copy FILE URL`")
	}
	made, m, err := cmd.unpack(ctx, path, cfg.Storage.DatabasePath)
	if err != nil {
		return err
	}
	defer made.Remove()
	r := archiveReport{Archive: path, Digest: m.Digest, Conflicts: []move.Conflict{}, Damaged: made.Damage}
	if made.Proof.Messages == 0 && len(made.Damage) > 0 {
		return failed(exitFaults, "nothing was imported; "+copyAgain, "%s: %s", path, made.Damage[0].Detail)
	}
	empty := false
	err = cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) (err error) {
		db, err := rec.inFile("")
		if err != nil {
			return err
		}
		if empty, err = move.IsEmpty(ctx, db.SQL()); err != nil || empty {
			return err
		}
		merged, err := move.Merge(ctx, db.File(), made)
		r.Conversations, r.Grown, r.Messages, r.Known, r.Tombstones = merged.Added, merged.Grown, merged.Messages, merged.Known, merged.Erasures
		r.Conflicts = list(merged.Conflicts)
		return err
	})
	if err != nil {
		return err
	}
	if empty {
		if err := made.Install(ctx, cfg.Storage.DatabasePath); err != nil {
			return err
		}
		r.Conversations, r.Messages = made.Proof.Conversations, made.Proof.Messages
	}
	r.Seconds = time.Since(begun).Seconds()
	err = cmd.printImported(r)
	warnFaults(cmd.program, r.Damaged)
	switch {
	case err != nil:
	case len(r.Damaged) > 0:
		err = failed(exitFaults, "everything that can be read was imported, and what is damaged has a mark; "+copyAgain,
			"what is in %s has %s", path, prose.Count(len(r.Damaged), "fault", "faults"))
	case len(r.Conflicts) > 0:
		err = failed(exitFailure, "import the archive into an empty database (--db) to have them", "%s left out", prose.Count(len(r.Conflicts), "conversation was", "conversations were"))
	}
	return err
}

// unpack loads an archive beside the database and proves it.
func (cmd *importCommand) unpack(ctx context.Context, path, database string) (made *move.Built, m archive.Manifest, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, m, failed(exitNotFound, "name a file that `lcm db export` wrote", "%w", err)
	}
	defer file.Close()
	in, err := archive.NewReader(file, archive.Limits{})
	if err != nil {
		return nil, m, unreadable(path, err)
	}
	defer in.Close()
	m = in.Manifest()
	total := int64(0)
	for _, c := range m.Conversations {
		total += c.Messages
	}
	bar := cmd.newBar("loading")
	defer bar.clear()
	from, err := move.Archive(in, func(done int64) { bar.set(done, total, prose.Number(done)+" messages") })
	if err == nil {
		made, err = move.Build(ctx, database, from)
	}
	if err != nil {
		return nil, m, unreadable(path, err)
	}
	if got := hex.EncodeToString(made.Proof.Digest[:]); got != m.Digest && len(made.Damage) == 0 {
		made.Damage = []store.Fault{{Code: "digest", Node: path, Detail: fmt.Sprintf("what is in it has the digest %s, its manifest says %s", got, m.Digest)}}
	}
	return made, m, nil
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
	for _, c := range r.Conflicts {
		cmd.warn("left out: %s (segment %d): %s", safetext.Line(c.Key), c.Segment, c.Why)
	}
	if r.Tombstones > 0 {
		cmd.note("%s came along: what was forgotten there stays away here (`lcm forget --list`)", prose.Count(r.Tombstones, "tombstone", "tombstones"))
	}
	grown := ""
	if r.Grown > 0 {
		grown = prose.Count(r.Grown, "has", "have") + " grown, "
	}
	return cmd.result(r, "%s imported with %s, %s%s, in %s\ndigest of the archive %s\n", prose.Count(r.Conversations, "conversation", "conversations"),
		prose.Count(r.Messages, "message", "messages"), grown, prose.Count(r.Known, "was known", "were known"), fmt.Sprintf("%.1f s", r.Seconds), r.Digest)
}
