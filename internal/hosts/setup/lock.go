package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// lockTime is how long one setup waits for another, which writes a few small files.
const lockTime = 30 * time.Second

// Exclusively runs fn with the receipts in a directory while no other setup or removal runs.
// Plans that were made before may be outdated: fn makes its own.
func Exclusively(ctx context.Context, dir string, fn func(*Receipts) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return writing(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	type lock struct {
		file *lockedfile.File
		err  error
	}
	got := make(chan lock, 1)
	go func() {
		file, err := lockedfile.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		got <- lock{file, err}
	}()
	select {
	case l := <-got:
		if l.err != nil {
			return writing(l.err)
		}
		defer l.file.Close()
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return &hint.Error{Err: errors.New("another `lcm setup` does not end"), Hint: "end it, then repeat the command; nothing was changed"}
	}
	kept, err := OpenReceipts(dir)
	if err != nil {
		return err
	}
	return fn(kept)
}
