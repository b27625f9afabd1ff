//go:build unix

package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// workUntilFull works until a file may not grow any more, says so and goes on
// for a while, as a program does that does not give up.
func workUntilFull(ctx context.Context, o order) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = o.Limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, o.Path, sqlite.Options{Log: quiet})
	if err != nil {
		return err
	}
	w := &worker{Out: os.Stdout, Seed: o.Seed, Sessions: o.Sessions, From: o.From}
	if err := w.Start(ctx, db); err != nil {
		return err
	}
	for failed := 0; failed < 20; {
		if err := w.Step(ctx); err != nil {
			failed++
			fmt.Printf("error %v\n", strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return errors.Join(w.Close(ctx), db.Close())
}

// TestFileSizeLimit fills the disk for real, as far as one process is
// concerned.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	want, path := newExpected(), filepath.Join(t.TempDir(), "lcm.db")
	for i, limit := range []uint64{400 << 10, 1 << 20, 2 << 20} {
		from := map[string]int{"a": want.Next("a")}
		p, err := start(t.Context(), order{Role: "limited", Path: path, Seed: uint64(i), Sessions: []string{"a"}, From: from, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		failures, began := 0, time.Now()
		err = p.lines(func(line string) {
			want.Read(line)
			if what, ok := strings.CutPrefix(line, "error "); ok {
				failures++
				if !strings.Contains(what, "; ") || !strings.Contains(what, "disk") {
					t.Errorf("without a hint: %s", what)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		// Closing folds the log into the database, which may not fit either.
		if err := p.Wait(); err != nil && !strings.Contains(string(p.errs.b), "disk") {
			t.Errorf("%v: %s", err, p.errs.b)
		}
		t.Logf("limit %d: %d failures in %v", limit, failures, time.Since(began))
		if failures == 0 && len(p.errs.b) == 0 {
			t.Errorf("a limit of %d bytes went unnoticed", limit)
		}
		if err := want.Check(t.Context(), path); err != nil {
			t.Fatalf("after a limit of %d bytes: %v", limit, err)
		}
	}
	if want.Acknowledged() == 0 {
		t.Error("nothing was acknowledged")
	}
}
