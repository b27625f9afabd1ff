package faulttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// lines is an io.Writer that reads acknowledgements into a want at once.
type lines struct{ want *expected }

func (l lines) Write(p []byte) (int, error) { l.want.Read(string(p)); return len(p), nil }

// workbench is a worker on a disk that can fail.
type workbench struct {
	disk   *faultyDisk
	path   string
	want   *expected
	seed   uint64
	db     *sqlite.DB
	worker *worker
}

func newWorkbench(t testing.TB, seed uint64, path string, want *expected) *workbench {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // the disk begins below it
		if err := dbfile.Create(path); err != nil {
			t.Fatal(err)
		}
	}
	b := &workbench{disk: newDisk(seed), path: path, want: want, seed: seed}
	t.Cleanup(b.disk.Remove)
	return b
}

// open opens the record and puts a worker on it.
func (b *workbench) open(ctx context.Context) error {
	b.seed++
	db, err := sqlite.Open(ctx, b.path, sqlite.Options{VFS: b.disk.Name(), Log: quiet, CacheKiB: 512, Clock: b.clock})
	if err != nil {
		return err
	}
	b.db = db
	sessions := []string{"a", "b"}
	from := map[string]int{}
	for _, s := range sessions {
		from[s] = b.want.Next(s)
	}
	b.worker = &worker{Out: lines{b.want}, Seed: b.seed, Sessions: sessions, From: from, Log: quiet, Clock: b.clock}
	return b.worker.Start(ctx, db)
}

// clock runs ahead from one life to the next: the process that held a lease
// when the power went is this one, so that only time ends the lease.
func (b *workbench) clock() time.Time { return time.Now().Add(time.Duration(b.seed) * time.Hour) }

// close closes the worker and the database; on a disk without power that fails.
func (b *workbench) close(ctx context.Context) {
	if b.worker != nil && b.worker.engine != nil {
		_ = b.worker.Close(ctx)
	}
	if b.db != nil {
		_ = b.db.Close()
	}
	b.worker, b.db = nil, nil
}

// powerCut works until the power fails at a random point, and checks the surviving
// files. It returns their path.
func powerCut(ctx context.Context, t testing.TB, seed uint64, path string, want *expected, within int) (string, error) {
	b := newWorkbench(t, seed, path, want)
	defer b.disk.Remove()
	b.disk.CrashAt(1 + int(seed*2654435761%uint64(within)))
	err := b.open(ctx)
	for err == nil {
		err = b.worker.Step(ctx)
	}
	if !b.disk.Dead() {
		return "", fmt.Errorf("an error on a disk that works: %w", err)
	}
	if err := explained(err); err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(path), fmt.Sprintf("left-%d", seed))
	return filepath.Join(dir, "lcm.db"), b.afterPowerCut(ctx, dir)
}

// afterPowerCut cuts the power, if it has not failed yet, and checks the surviving files
// in dir.
func (b *workbench) afterPowerCut(ctx context.Context, dir string) error {
	b.disk.Cut()
	b.close(ctx)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := b.disk.Survivors(dir); err != nil {
		return err
	}
	return b.want.Check(ctx, filepath.Join(dir, "lcm.db"))
}

// explained returns an error if err has no hint for an operator.
func explained(err error) error {
	var p *hint.Error
	if !errors.As(err, &p) || p.Hint == "" {
		return fmt.Errorf("without a hint: %w", err)
	}
	return nil
}

func TestPowerCuts(t *testing.T) {
	t.Parallel()
	cuts, lives := 8, 3
	if testing.Short() {
		cuts = 4
	}
	for i := range cuts {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			want, path := newExpected(), filepath.Join(t.TempDir(), "lcm.db")
			for life := range lives {
				var err error
				if path, err = powerCut(t.Context(), t, uint64(100*i+life), path, want, 300*(1+i%4)); err != nil {
					t.Fatalf("seed %d: %v", 100*i+life, err)
				}
			}
			if t.Logf("%d acknowledged", want.Acknowledged()); want.Acknowledged() == 0 && i%4 > 0 {
				t.Error("nothing was acknowledged: the power went too early to prove anything")
			}
		})
	}
}

// Without syncs some power cut must lose something, or TestPowerCuts proves nothing.
func TestPowerCutsWouldBeNoticed(t *testing.T) {
	t.Parallel()
	lost := 0
	for seed := uint64(0); seed < 6 && lost == 0; seed++ {
		b := newWorkbench(t, seed, filepath.Join(t.TempDir(), "lcm.db"), newExpected())
		if err := b.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		relaxed, err := sqlite.Open(t.Context(), b.path, sqlite.Options{VFS: b.disk.Name(), Relaxed: true, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.worker.Start(t.Context(), relaxed); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if err := b.worker.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.disk.Cut()
		_ = b.worker.Close(t.Context())
		_ = relaxed.Close()
		b.db = nil
		dir := t.TempDir()
		if err := b.disk.Survivors(dir); err != nil {
			t.Fatal(err)
		}
		if b.want.Check(t.Context(), filepath.Join(dir, "lcm.db")) != nil {
			lost++
		}
	}
	if lost == 0 {
		t.Error("a record that is not synced survives every power cut")
	}
}

// faulty works while the disk fails in one way, and checks that nothing that
// was acknowledged is lost, in the same process and in the next.
func faulty(ctx context.Context, b *workbench, f fault) error {
	before := b.disk.Fired()
	b.disk.Inject(f)
	failed := 0
	for n := range 30 {
		err := b.worker.Step(ctx)
		if err == nil && n%5 == 4 { // a checkpoint writes to the database itself
			err = b.db.SQL().Writer(ctx, func(c sqldb.Conn) error {
				_, err := c.(*dbfile.Conn).Checkpoint(sqlite3.CHECKPOINT_PASSIVE)
				return err
			})
		}
		if err != nil {
			failed++
			if err := explained(err); err != nil {
				return fmt.Errorf("%+v: %w", f, err)
			}
		}
		if b.disk.Dead() || b.disk.Fired() > before+5 {
			break
		}
	}
	b.disk.Lift()
	if b.disk.Dead() {
		return nil
	}
	for range 5 {
		if err := b.worker.Step(ctx); err != nil {
			return fmt.Errorf("%+v was lifted, but: %w", f, err)
		}
	}
	if err := b.want.CheckOpen(ctx, b.db); err != nil {
		return fmt.Errorf("after %+v (%d failures): %w", f, failed, err)
	}
	return nil
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for i, kind := range faultKinds {
		for j, on := range []string{"-wal", ".db"} {
			t.Run(string(kind)+on, func(t *testing.T) {
				t.Parallel()
				ctx, seed := t.Context(), uint64(1000+10*i+j)
				b := newWorkbench(t, seed, filepath.Join(t.TempDir(), "lcm.db"), newExpected())
				if err := b.open(ctx); err != nil {
					t.Fatal(err)
				}
				for range 10 {
					if err := b.worker.Step(ctx); err != nil {
						t.Fatal(err)
					}
				}
				for n := range 2 {
					if err := faulty(ctx, b, fault{Kind: kind, On: on, After: n * 7, Times: 2 * n}); err != nil {
						t.Fatal(err)
					}
					if b.disk.Dead() {
						break
					}
				}
				if err := b.afterPowerCut(ctx, t.TempDir()); err != nil {
					t.Fatal(err)
				}
				if b.disk.Fired() == 0 {
					t.Error("the fault never happened")
				}
			})
		}
	}
}

// Pages that were copied while a reader held the rest of the log back, and whose sync then failed, are
// copied again: after a power cut nothing that was acknowledged is lost.
func TestAFailedSyncAfterAPartialCheckpoint(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		ctx := t.Context()
		b := newWorkbench(t, 7000+seed, filepath.Join(t.TempDir(), "lcm.db"), newExpected())
		if err := b.open(ctx); err != nil {
			t.Fatal(err)
		}
		steps := func(n int) error {
			for range n {
				if err := b.worker.Step(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		checkpoint := func() error {
			return b.db.SQL().Writer(ctx, func(c sqldb.Conn) error {
				_, err := c.(*dbfile.Conn).Checkpoint(sqlite3.CHECKPOINT_PASSIVE)
				return err
			})
		}
		err := sqldb.Steps(func() error { return steps(20) }, func() error {
			return b.db.SQL().Reader(ctx, func(c sqldb.Conn) error {
				return c.Read(func() error {
					_, err := c.Has("SELECT 1 FROM messages")
					return errors.Join(err, steps(10), checkpoint())
				})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		b.disk.Inject(fault{Kind: SyncError, On: ".db", Times: 1})
		for range 50 { // a reader in the background may hold the log back again
			if err = checkpoint(); err != nil {
				break
			}
			if err := steps(1); err != nil {
				t.Fatal(err)
			}
		}
		if !errors.Is(err, sqlite3.IOERR_FSYNC) {
			t.Fatalf("the sync did not fail: %v", err)
		}
		b.disk.Lift()
		if err := sqldb.Steps(checkpoint, func() error { return steps(3) }); err != nil {
			t.Fatal(err)
		}
		if err := b.afterPowerCut(ctx, t.TempDir()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
