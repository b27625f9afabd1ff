package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/store"
)

// importFoldTime is how long an import folds. The rest is folded in the background.
const importFoldTime = 20 * time.Second

// foldImported folds large conversations after an import that ended with err, and returns
// err. The messages are stored, so an error of folding is only a warning.
func (cmd *importCommand) foldImported(ctx context.Context, err error) error {
	if ctx.Err() != nil || exitCode(err) > exitFailure {
		return err
	}
	if problem := cmd.foldDue(ctx); problem != nil {
		if ctx.Err() != nil {
			return errors.Join(err, problem)
		}
		cmd.warn("what was imported is stored, and could not be folded: %v", problem)
	}
	return err
}

func (cmd *importCommand) foldDue(ctx context.Context) error {
	cfg, err := cmd.settings()
	if err != nil || foldAbove(cfg) == 0 {
		return err
	}
	if _, err := os.Stat(cfg.Storage.DatabasePath); errors.Is(err, fs.ErrNotExist) && !postgres.IsURL(cfg.Storage.DatabasePath) {
		return nil // nothing was stored
	}
	return cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) error { return cmd.foldSome(ctx, rec) })
}

func (cmd *importCommand) foldSome(ctx context.Context, rec *openRecord) error {
	engine, err := rec.foldingEngine()
	if err != nil {
		return err
	}
	due, err := engine.Due(ctx, nil)
	if err != nil || len(due) == 0 {
		return err
	}
	total := int64(0)
	for _, c := range due {
		total += int64(c.ViewTokens - foldAbove(rec.cfg))
	}
	bar := newFoldBar(cmd.program, "folding", total)
	f, err := engine.FoldDue(ctx, lcm.FoldOptions{Time: importFoldTime, OnFold: bar.folded,
		OnStart: func(c store.Conversation, _ int) { bar.start(c) }})
	bar.clear()
	if f.Folds > 0 {
		cmd.note("%s folded into %s: `lcm show --tree` shows them", prose.Count(f.Conversations, "long conversation was", "long conversations were"), prose.Count(f.Folds, "summary", "summaries"))
	}
	if err != nil || f.Left == 0 {
		return err
	}
	cmd.note("%s longer than can be folded at once: this goes on in the background, and `lcm compact --all` does it now",
		prose.Count(f.Left, "conversation is", "conversations are"))
	return startRest(startDetached, "import", rec.cfg, "--fold-all")
}
