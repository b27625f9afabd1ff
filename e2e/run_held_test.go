//go:build e2e

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// heldFor is how long the record cannot be written, beyond the first signs of life that a
// request gets that waits.
const heldFor = 75 * time.Second

// TestRunHeld: an agent waits for a fold that its first request needs, and that another process holds up.
func TestRunHeld(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) {
			t.Parallel() // it waits
			b := newRunBed(t, h, []string{os.Getenv(lcmEnv), "run", "--observe", "--"}, apiOptions{})
			b.logs(12, 28_000)
			if o := b.ask("Print the logs. play:read12a"); o.Code != 0 {
				t.Fatal(tail(o.log))
			}
			path := filepath.Join(b.home, ".local", "share", "lcm", "lcm.db")
			before := b.api.Records()
			const window = 64_000
			b.learn(path, window, before)
			lock, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(lock.BusyTimeout(time.Minute), lock.Exec("BEGIN IMMEDIATE")); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			time.AfterFunc(heldFor, func() { _ = lock.Close() })
			b.wrap = proxied(40_000)
			o := b.goOn("Go on. play:read2b")
			if o.Code != 0 || o.Answer != "That were 2 logs." || !strings.Contains(o.log, "waits for its summaries") || time.Since(began) < heldFor {
				t.Errorf("after %s: %d %q\n%s", time.Since(began), o.Code, o.Answer, tail(o.log))
			}
			b.valid()
			after := b.api.Records()[len(before):]
			large := slices.DeleteFunc(slices.Clone(after), func(r apiRecord) bool { return r.Tokens <= window })
			if sum := sumRecords(after); len(large) > 0 || sum.Compactions > 0 || sum.Requests == 0 {
				t.Errorf("%d requests are above the window: %s", len(large), sum)
			}
		})
	}
}

// learn has lcm know the window of the models of requests, as it does after an error of the API.
func (b *runBed) learn(path string, window int, requests []apiRecord) {
	b.Helper()
	db, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for _, r := range requests {
		if r.Kind == mainRequest {
			learnt := map[string]any{"ratio": 0.25, "window": window}
			if err := store.Set(b.Context(), db, store.CalibrationSpace, r.Model, learnt, time.Time{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
