package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/safetext"
	dbcheck "github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/salvage"
	"github.com/lossless-context/lcm/internal/store"
)

type salvageReport struct {
	Database      string        `json:"database"`
	File          string        `json:"file"`
	Conversations int           `json:"conversations"`
	Messages      int64         `json:"messages"`
	Damaged       []store.Fault `json:"damaged"` // missing parts, and parts that fail the proof
	Seconds       float64       `json:"seconds"`
}

// makeSalvaged makes a new database of the readable parts of a damaged one.
func (cmd *doctorCommand) makeSalvaged(ctx context.Context, to string) error {
	begun := time.Now()
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	from := cfg.Storage.DatabasePath
	if postgres.IsURL(from) {
		return notInFile(doctorInstead)
	}
	if _, err := os.Stat(from); err != nil {
		return failed(exitNotFound, "--db, LCM_DATABASE_PATH and `lcm config` say where it is", "%w", err)
	}
	if _, err := os.Lstat(to); err == nil {
		return existing(to)
	}
	scratch, err := salvage.File(ctx, from, to)
	if err != nil {
		return databaseFailure(err)
	}
	defer scratch.Remove()
	r := salvageReport{Database: from, File: to, Conversations: scratch.Proof.Conversations, Messages: scratch.Proof.Messages, Damaged: list(scratch.Proof.Faults)}
	if r.Conversations == 0 {
		return failed(exitFaults, "restore a backup; nothing was written", "no conversation can be read in %s", from)
	}
	if err := scratch.Install(ctx, to); err != nil {
		return err
	}
	r.Seconds = time.Since(begun).Seconds()
	if cmd.json {
		err = cmd.printJSON(r)
	} else {
		cmd.printf("%s\n%s in %s, %s\n", safetext.Line(to), prose.Count(r.Messages, "message", "messages"), prose.Count(r.Conversations, "conversation", "conversations"), took(r.Seconds))
		flags := "--force"
		if len(r.Damaged) > 0 {
			flags += " --damaged"
		}
		cmd.note("`lcm restore %s %s` puts it in the place of the damaged one", flags, safetext.Line(to))
	}
	warnFaults(cmd.program, r.Damaged)
	if err == nil && len(r.Damaged) > 0 {
		err = failed(exitFaults, "a backup may have what is missing", "%s in what was saved", prose.Count(len(r.Damaged), "fault is", "faults are"))
	}
	return err
}

// openToExport opens the database, or a salvaged copy if SQLite cannot read all of it.
func openToExport(p *program, ctx context.Context) (rec *openRecord, done func(), err error) {
	cfg, err := p.settings()
	if err != nil {
		return nil, nil, err
	}
	path := cfg.Storage.DatabasePath
	if postgres.IsURL(path) {
		rec, err = p.openWith(ctx, cfg, toRead)
		return rec, func() { _ = rec.close(ctx) }, err // it was only read
	}
	broken := false
	if faults, err := dbcheck.File(ctx, path); err == nil {
		broken = slices.ContainsFunc(faults, func(f store.Fault) bool { return f.Code == "truncated" })
	}
	if !broken {
		rec, err = p.openWith(ctx, cfg, toRead)
		if err == nil {
			_, err = rec.db.Conversations(ctx, store.ConversationQuery{Limit: 1})
			if err != nil {
				err = errors.Join(err, rec.close(ctx))
			}
		}
		if !damaged(err) {
			return rec, func() { _ = rec.close(ctx) }, err // it was only read
		}
	}
	scratch, err := salvage.File(ctx, path, path)
	if err != nil { // the directory may be one that cannot be written to
		scratch, err = salvage.File(ctx, path, filepath.Join(os.TempDir(), "lcm.db"))
	}
	if err != nil {
		return nil, nil, databaseFailure(err)
	}
	p.warn("%s is damaged: what can be read of it page by page is exported; `lcm doctor --salvage NEW.db` makes a database of it", path)
	saved := *cfg
	saved.Storage.DatabasePath = scratch.Path()
	if rec, err = p.openWith(ctx, &saved, toRead); err != nil {
		scratch.Remove()
		return nil, nil, err
	}
	return rec, func() { _ = rec.close(ctx); scratch.Remove() }, nil
}
