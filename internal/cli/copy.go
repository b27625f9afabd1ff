package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqldb/transfer"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

type copyReport struct {
	From          string  `json:"from"`
	To            string  `json:"to"`
	Conversations int     `json:"conversations"`
	Messages      int64   `json:"messages"`
	FromDigest    string  `json:"fromDigest"`
	ToDigest      string  `json:"toDigest"`
	Faults        int     `json:"faults"`
	Seconds       float64 `json:"seconds"`
}

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
	if !postgres.IsURL(from) {
		if _, err := os.Stat(from); err != nil {
			return failed(exitNotFound, "name a database: a file or a URL", "%w", err)
		}
	}
	source := *cfg
	source.Storage.DatabasePath, source.DatabasePassword = from, ""
	if postgres.IsURL(from) {
		if source.Storage.DatabasePath, source.DatabasePassword, err = postgres.TakePassword(address(cfg, from)); err != nil {
			return &failure{exitUsage, err}
		}
	}
	return cmd.useReadable(ctx, &source, func(rec *openRecord, damage []store.Fault) error {
		return cmd.copy(ctx, cfg, rec.db, copyReport{From: source.Storage.DatabasePath, To: to}, damage)
	})
}

func (cmd *copyCommand) copy(ctx context.Context, cfg *config.Config, source database, r copyReport, damage []store.Fault) (err error) {
	begun := time.Now()
	o := sqlite.Options{BusyTimeout: cfg.Storage.BusyTimeout, DeferIndex: true, Log: cmd.logger(cfg)}
	target, err := openPath(ctx, address(cfg, r.To), o)
	if err != nil {
		return databaseFailure(err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	bar := cmd.newBar("copying")
	err = transfer.Copy(ctx, source.SQL(), target.SQL(), func(done, total int64) { bar.set(done, total, "") })
	bar.clear()
	if err != nil {
		return err
	}
	if err := target.Reindex(ctx); err != nil {
		return err
	}
	r.To = target.Path()
	before, err := verify.Prove(ctx, source.SQL())
	if err != nil {
		return err
	}
	after, err := verify.Prove(ctx, target.SQL())
	if err != nil {
		return err
	}
	damage = withFaults(damage, after.Faults...)
	r.Conversations, r.Messages, r.Faults = after.Conversations, after.Messages, len(damage)
	if r.Faults > 0 { // a proof also counts what is missing
		if r.Messages, err = storedMessages(ctx, target); err != nil {
			return err
		}
	}
	r.FromDigest, r.ToDigest = hex.EncodeToString(before.Digest[:]), hex.EncodeToString(after.Digest[:])
	r.Seconds = time.Since(begun).Seconds()
	if cmd.json {
		err = cmd.printJSON(r)
	} else {
		cmd.printf("%s copied, %s\ndigest %s of %s\ndigest %s of %s\n", extent(r.Messages, r.Conversations), took(r.Seconds),
			r.FromDigest, safetext.Line(r.From), r.ToDigest, safetext.Line(r.To))
	}
	if err == nil && r.FromDigest != r.ToDigest {
		err = failed(exitFaults, "if messages were added to the source meanwhile, copy it again into an empty database while nobody writes", "the digests differ")
	}
	return errors.Join(err, cmd.damageWritten(damage))
}

// address returns the path with the password of the configured database, if it is that one.
func address(cfg *config.Config, path string) string {
	if clean, own, err := postgres.TakePassword(path); err == nil && own == "" && clean == cfg.Storage.DatabasePath {
		return postgres.WithPassword(path, cfg.DatabasePassword)
	}
	return path
}
