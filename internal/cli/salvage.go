package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	dbcheck "github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/salvage"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
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
		cmd.note("`lcm db restore %s %s` puts it in the place of the damaged one", flags, safetext.Line(to))
	}
	warnFaults(cmd.program, r.Damaged)
	if err == nil && len(r.Damaged) > 0 {
		err = failed(exitFaults, "a backup may have what is missing", "%s in what was saved", prose.Count(len(r.Damaged), "fault is", "faults are"))
	}
	return err
}

// useReadable calls fn with the database that cfg names, to read all of it. Where SQLite
// cannot, fn gets a new database of what can be read page by page, and damage says what is
// wrong with the file. Damage that shows only while fn reads makes it run a second time.
func (p *program) useReadable(ctx context.Context, cfg *config.Config, fn func(rec *openRecord, damage []store.Fault) error) error {
	path := cfg.Storage.DatabasePath
	var found *store.Fault
	if _, err := os.Stat(path); err == nil && !postgres.IsURL(path) {
		if found, err = dbcheck.Unreadable(ctx, path); err != nil {
			return databaseFailure(err)
		}
	}
	if found == nil {
		err := p.useWith(ctx, cfg, toRead, func(rec *openRecord) error { return fn(rec, nil) })
		if !damaged(err) || postgres.IsURL(path) {
			return err
		}
		why, _ := split(err)
		found = &store.Fault{Code: "page", Node: path, Detail: plain(why)}
	}
	scratch, err := salvage.File(ctx, path, path)
	if err != nil { // the directory may be one that cannot be written to
		scratch, err = salvage.File(ctx, path, filepath.Join(os.TempDir(), "lcm.db"))
	}
	if err != nil {
		return databaseFailure(err)
	}
	defer scratch.Remove()
	if scratch.Proof.Conversations == 0 {
		return failed(exitFaults, "restore a backup; nothing was written", "no conversation can be read in %s: %s", path, found.Detail)
	}
	p.warn("%s is damaged (%s): what can be read of it page by page is taken; `lcm doctor` says more", path, safetext.Line(found.Detail))
	saved := *cfg
	saved.Storage.DatabasePath = scratch.Path()
	return p.useWith(ctx, &saved, toRead, func(rec *openRecord) error { return fn(rec, append([]store.Fault{*found}, scratch.Proof.Faults...)) })
}

// storedMessages counts the messages that a damaged database has.
func storedMessages(ctx context.Context, db database) (int64, error) {
	return sqldb.Read(ctx, db.SQL(), func(c sqldb.Conn) (int64, error) {
		return sqldb.Value[int64](c, `SELECT count(*) FROM messages WHERE `+record.NotErased)
	})
}

// damageWritten warns of the faults of a result, and returns the error for them.
func (p *program) damageWritten(faults []store.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	warnFaults(p, faults)
	return failed(exitFaults, "everything that can be read was written, what is damaged with a mark; `lcm doctor` says what can be done about it",
		"%s in what was written", prose.Count(len(faults), "fault is", "faults are"))
}

// withFaults adds the faults that are not listed yet.
func withFaults(list []store.Fault, more ...store.Fault) []store.Fault {
	for _, f := range more {
		if !slices.ContainsFunc(list, func(g store.Fault) bool { return f.Code == g.Code && f.Node == g.Node }) {
			list = append(list, f)
		}
	}
	return list
}
