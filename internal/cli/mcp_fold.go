package cli

import (
	"context"
	"os/exec"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// foldStarter starts the process that folds for `lcm mcp`. A process of its own
// has the lowest priority, which a server that people wait for must not have.
type foldStarter struct {
	*archive
	start func(*exec.Cmd) error

	mu   sync.Mutex
	last time.Time // when it was started
}

// foldPause is how long a server waits before it starts the process again.
const foldPause = time.Minute

// one has everything folded that is large enough if a conversation is.
func (f *foldStarter) one(ctx context.Context, id store.ConversationID) error {
	return f.ifDue(ctx, []store.ConversationID{id})
}

// all has everything folded that is large enough.
func (f *foldStarter) all(ctx context.Context) error { return f.ifDue(ctx, nil) }

func (f *foldStarter) ifDue(ctx context.Context, of []store.ConversationID) error {
	if foldAbove(f.cfg) == 0 {
		return nil
	}
	due, err := f.engine.Due(ctx, of)
	if err != nil || len(due) == 0 {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.last) >= foldPause {
		f.last = now
		return startRest(f.start, "mcp", f.cfg.Storage.DatabasePath, "--fold-all")
	}
	return nil
}
