package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

type copyCommand struct{ *program }

func newCopy(p *program) *cobra.Command {
	cmd := &copyCommand{program: p}
	c := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy everything between two databases, SQLite or PostgreSQL",
		Args:  usage(cobra.ExactArgs(2)),
		RunE:  func(c *cobra.Command, args []string) error { return cmd.run(c.Context(), args[0], args[1]) },
	}
	return cmd.jsonFlag(c)
}

func (cmd *copyCommand) run(ctx context.Context, from, to string) error {
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	for _, path := range []string{from, to} {
		if err := postgres.CheckPath(path); err != nil {
			return &failure{exitUsage, err}
		}
	}
	begun := time.Now()
	r := movedReport{From: from, File: to}
	var damage []store.Fault
	if postgres.IsURL(from) {
		damage, err = cmd.fromServer(ctx, cfg, &r)
	} else if _, err = os.Stat(from); err != nil {
		return failed(exitNotFound, "name a database: a file or a URL", "%w", err)
	} else if postgres.IsURL(to) {
		damage, err = cmd.toServer(ctx, cfg, &r)
	} else {
		var made *move.Built
		if made, err = cmd.copyTo(ctx, from, to); err == nil {
			damage, err = made.Damage, r.publish(made)
		}
	}
	if err != nil {
		return err
	}
	return cmd.printMoved(r, begun, damage)
}

// publish gives a copy its name.
func (r *movedReport) publish(made *move.Built) error {
	defer made.Remove()
	r.count(made.Proof)
	return made.Publish(r.File)
}

// fromServer copies a PostgreSQL database into a file or into another one.
func (cmd *copyCommand) fromServer(ctx context.Context, cfg *config.Config, r *movedReport) (damage []store.Fault, err error) {
	source, err := openPath(ctx, address(cfg, r.From), sqlite.Options{ReadOnly: true, Log: cmd.logger(cfg)})
	if err != nil {
		return nil, databaseFailure(err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	r.From = source.Path()
	if postgres.IsURL(r.File) {
		return cmd.fill(ctx, cfg, source.SQL(), r)
	}
	if err := move.Free(r.File); err != nil {
		return nil, err
	}
	made, err := move.Build(ctx, r.File, move.Database(ctx, source.SQL()))
	if err != nil {
		return nil, err
	}
	return made.Damage, r.publish(made)
}

// toServer copies a file into a PostgreSQL database.
func (cmd *copyCommand) toServer(ctx context.Context, cfg *config.Config, r *movedReport) (damage []store.Fault, err error) {
	source := *cfg
	source.Storage.DatabasePath, source.DatabasePassword = r.From, ""
	err = cmd.useSound(ctx, &source, func(rec *openRecord, found []store.Fault) error {
		left, err := cmd.fill(ctx, cfg, rec.db.SQL(), r)
		damage = append(found, left...)
		return err
	})
	return damage, err
}

// fill copies a database into a PostgreSQL database, and proves that.
func (cmd *copyCommand) fill(ctx context.Context, cfg *config.Config, from sqldb.DB, r *movedReport) (damage []store.Fault, err error) {
	target, err := openPath(ctx, address(cfg, r.File), sqlite.Options{DeferIndex: true, Log: cmd.logger(cfg)})
	if err != nil {
		return nil, databaseFailure(err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	r.File = target.Path()
	bar := cmd.newBar("copying")
	err = move.Fill(ctx, target.SQL(), move.Database(ctx, from), func(done int64) { bar.set(done, 0, prose.Number(done)+" messages") })
	bar.clear()
	if err == nil {
		err = target.Reindex(ctx)
	}
	if err != nil {
		return nil, err
	}
	proof, err := verify.Prove(ctx, target.SQL())
	r.count(proof)
	return proof.Faults, err
}

// useSound calls fn with a database that can be read whole: the one that cfg names, or,
// where that file is damaged, a new one of everything that can be read of it. damage lists
// what is wrong with the file.
func (p *program) useSound(ctx context.Context, cfg *config.Config, fn func(rec *openRecord, damage []store.Fault) error) error {
	path := cfg.Storage.DatabasePath
	if postgres.IsURL(path) {
		return p.useWith(ctx, cfg, toRead, func(rec *openRecord) error { return fn(rec, nil) })
	}
	if err := p.isThere(path); err != nil {
		return err
	}
	var failed error
	err := move.Sound(ctx, path, func(sound string, damage []store.Fault) error {
		read := *cfg
		read.Storage.DatabasePath = sound
		failed = p.useWith(ctx, &read, toRead, func(rec *openRecord) error { return fn(rec, damage) })
		return nil
	})
	return errors.Join(failed, fileFailure(err))
}

// address returns the path with the password of the configured database, if it is that one.
func address(cfg *config.Config, path string) string {
	if clean, own, err := postgres.TakePassword(path); err == nil && own == "" && clean == cfg.Storage.DatabasePath {
		return postgres.WithPassword(path, cfg.DatabasePassword)
	}
	return path
}
