package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// The sessions of hosts are folded by a process that `lcm hook`, `lcm mcp` or
// `lcm import` starts and does not wait for: `lcm hook HOST --continue`.

// backgroundTime is how long such a process folds. The next turn starts another one.
const backgroundTime = 10 * time.Minute

// manyFolded summaries are worth bringing the search index up to date for.
const manyFolded = 64

// startRest starts a process that outlives this one. It logs its errors under name. The
// process reads the password of the database, if there is one, from its standard input:
// arguments and environments can be seen by others.
func startRest(start func(*exec.Cmd) error, name string, cfg *config.Config, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	c := exec.Command(self, append([]string{"hook", name, "--continue", "--db", cfg.Storage.DatabasePath}, args...)...)
	c.Env = append(os.Environ(), childGuard+"=1")
	if cfg.DatabasePassword != "" {
		in, out, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("go on in the background: %w", err)
		}
		defer in.Close()
		_, err = out.WriteString(cfg.DatabasePassword) // a pipe has room for it
		if err = errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("go on in the background: %w", err)
		}
		c.Stdin = in
		c.Args = append(c.Args, "--password")
	}
	if err := start(c); err != nil {
		return fmt.Errorf("go on in the background: %w", err)
	}
	return nil
}

// startAndReap starts a command, and waits for it in a goroutine: it must not stay a zombie.
func startAndReap(c *exec.Cmd) error {
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	return nil
}

// foldAbove is the size in tokens above which a view is folded in the background; 0 is never.
func foldAbove(cfg *config.Config) int {
	if cfg.Compaction.Background == config.BackgroundOff {
		return 0
	}
	return int(cfg.Context.SoftThreshold * float64(cfg.Context.TokenBudget))
}

// foldingEngine returns the engine that folds unasked. It calls a model only if the settings say so.
func (rec *openRecord) foldingEngine(more ...lcm.Option) (*lcm.Engine, error) {
	cfg := *rec.cfg
	if cfg.Compaction.Background != config.BackgroundModel {
		cfg.Summary.Model = ""
	}
	return newEngine(&cfg, rec.db, rec.counter, rec.log, more...)
}

// foldInBackground folds the given conversations, nil for all, that are large enough.
// The process then has a low priority and two processors at most: with one processor,
// appends of other processes took twice as long.
func (rec *openRecord) foldInBackground(ctx context.Context, of []store.ConversationID) error {
	if foldAbove(rec.cfg) == 0 {
		return nil
	}
	lowerPriority()
	runtime.GOMAXPROCS(2)
	engine, err := rec.foldingEngine()
	if err != nil {
		return err
	}
	f, err := engine.FoldDue(ctx, lcm.FoldOptions{Conversations: of, Time: backgroundTime})
	if f.Folds >= manyFolded {
		err = errors.Join(err, rec.db.Reindex(ctx))
	}
	return err
}
