package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// atomicCase is a change that must happen completely or not at all.
type atomicCase struct {
	prepare func(context.Context, *sqlite.DB) error
	act     func(context.Context, *sqlite.DB) error
	// happened reports whether it did, and fails if it did partly.
	happened func(context.Context, *sqlite.DB) (bool, error)
}

// sweep cuts the power at every disk operation of a change, one after the other, or at
// every few of them if there are many. All attempts begin with a copy of one prepared
// database.
func sweep(t *testing.T, d atomicCase) {
	t.Helper()
	ctx := t.Context()
	prepared := filepath.Join(t.TempDir(), "lcm.db")
	db, err := sqlite.Open(ctx, prepared, sqlite.Options{Log: quiet, DeferIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.prepare(ctx, db), db.Close()); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(prepared)
	if err != nil {
		t.Fatal(err)
	}
	attempt := func(cut int) (ops int, left string, err error) {
		disk := newDisk(uint64(cut))
		defer disk.Remove()
		path := filepath.Join(t.TempDir(), "lcm.db")
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sqlite.Open(ctx, path, sqlite.Options{VFS: disk.Name(), Log: quiet, DeferIndex: true})
		if err != nil {
			t.Fatal(err)
		}
		before := disk.Ops()
		if cut > 0 {
			disk.CrashAt(cut)
		}
		err = d.act(ctx, db)
		ops = disk.Ops() - before
		disk.Cut()
		_ = db.Close()
		dir := t.TempDir()
		if err := disk.Survivors(dir); err != nil {
			t.Fatal(err)
		}
		return ops, filepath.Join(dir, "lcm.db"), err
	}
	ops, _, err := attempt(0)
	if err != nil {
		t.Fatal(err)
	}
	did := 0
	for cut, step := 1, 1+ops/30; cut <= ops+1; cut++ {
		if cut%step != 0 && cut != ops+1 { // after the last operation it must have happened
			continue
		}
		_, left, acked := attempt(cut)
		db, err := sqlite.Open(ctx, left, sqlite.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		happened, err := d.happened(ctx, db)
		if err == nil {
			err = newExpected().CheckOpen(ctx, db)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Errorf("cut at operation %d of %d: %v", cut, ops, err)
		}
		if acked == nil && !happened {
			t.Errorf("cut at operation %d of %d: it was acknowledged, but did not happen", cut, ops)
		}
		if happened {
			did++
		}
	}
	if did == 0 {
		t.Error("it never happened: the sweep proves nothing")
	}
}

// twelve stores twelve messages without ids in conversation 1.
func twelve(ctx context.Context, db *sqlite.DB) error {
	c, err := db.Open(ctx, store.NewConversation{Key: "sweep"})
	if err != nil {
		return err
	}
	return db.Update(ctx, c.ID, func(w store.Writer) error {
		for i := range 12 {
			if _, err := w.Append(ctx, plain(fmt.Sprintf("message %d", i))); err != nil {
				return err
			}
		}
		return nil
	})
}

func plain(text string) store.NewMessage {
	return store.NewMessage{
		Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sum([]byte(text)), Tokens: 10,
	}
}

// TestFoldCutInTwo cuts the power at every point of a fold.
func TestFoldCutInTwo(t *testing.T) {
	t.Parallel()
	sweep(t, atomicCase{
		prepare: twelve,
		act: func(ctx context.Context, db *sqlite.DB) error {
			v, err := db.View(ctx, 1, store.Window{})
			if err != nil {
				return err
			}
			return db.Update(ctx, 1, func(w store.Writer) error {
				_, err := w.Fold(ctx, store.NewSummary{Over: v.Items[:8], Wording: store.Wording{
					Body: "eight messages", Tokens: 5, Level: summary.Normal, Method: "extractive",
				}})
				return err
			})
		},
		happened: func(ctx context.Context, db *sqlite.DB) (bool, error) {
			v, err := db.View(ctx, 1, store.Window{})
			if err != nil {
				return false, err
			}
			folded := v.Count == 5 && v.Items[0].IsSummary()
			if !folded && v.Count != 12 {
				return false, fmt.Errorf("the view has %d items", v.Count)
			}
			return folded, nil
		},
	})
}

// TestPayloadHalfWritten cuts the power while a payload of several chunks is
// stored with the message that it belongs to.
func TestPayloadHalfWritten(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789 abcdef "), 50_000)
	for i := range data {
		data[i] ^= byte(i * 7 >> 5) // so that it does not compress to nothing
	}
	id := store.PayloadID(fmt.Sprintf("file_%x", sum(data))[:21])
	sweep(t, atomicCase{
		prepare: twelve,
		act: func(ctx context.Context, db *sqlite.DB) error {
			return db.Update(ctx, 1, func(w store.Writer) error {
				id, err := w.PutPayload(ctx, store.NewPayload{Data: data, Name: "x"})
				if err != nil {
					return err
				}
				m := plain("with a payload")
				m.Payloads = []store.PayloadID{id}
				_, err = w.Append(ctx, m)
				return err
			})
		},
		happened: func(ctx context.Context, db *sqlite.DB) (bool, error) {
			c, err := db.Conversation(ctx, 1)
			if err != nil {
				return false, err
			}
			p, err := db.Payload(ctx, id)
			if errors.Is(err, store.ErrNotFound) && c.Messages == 12 {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			got, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
			if err == nil && !(bytes.Equal(got, data) && c.Messages == 13) {
				err = fmt.Errorf("%d bytes of %d, %d messages", len(got), len(data), c.Messages)
			}
			return true, err
		},
	})
}

// TestStaleViewOfAnotherProcess folds items that another connection has folded since.
func TestStaleViewOfAnotherProcess(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "lcm.db")
	var dbs [2]*sqlite.DB
	for i := range dbs {
		db, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		dbs[i] = db
	}
	if err := twelve(ctx, dbs[0]); err != nil {
		t.Fatal(err)
	}
	v, err := dbs[0].View(ctx, 1, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	fold := func(db *sqlite.DB, from, to int) error {
		return db.Update(ctx, 1, func(w store.Writer) error {
			_, err := w.Fold(ctx, store.NewSummary{Over: v.Items[from:to], Wording: store.Wording{Body: "some", Tokens: 3, Level: summary.Normal, Method: "extractive"}})
			return err
		})
	}
	if err := fold(dbs[1], 2, 6); err != nil {
		t.Fatal(err)
	}
	for _, run := range [][2]int{{2, 6}, {0, 4}, {5, 9}, {0, 12}} {
		if err := fold(dbs[0], run[0], run[1]); !errors.Is(err, store.ErrStale) {
			t.Errorf("items %v of a view that has changed: %v", run, err)
		}
	}
	if err := fold(dbs[0], 7, 11); err != nil {
		t.Errorf("items that nobody touched: %v", err)
	}
	if err := newExpected().CheckOpen(ctx, dbs[1]); err != nil {
		t.Error(err)
	}
}

// TestClockJumpsBack works under a clock that goes to and fro by years.
func TestClockJumpsBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newWorkbench(t, 42, filepath.Join(t.TempDir(), "lcm.db"), newExpected())
	if err := b.open(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 150 {
		b.seed = uint64(i*7919%40) * 24 * 365 / 4 // hours, see clock
		if err := b.worker.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.seed = 0
	if _, err := b.worker.engine.Session("a").Context(ctx, smallBudget); tolerate(err) != nil {
		t.Error(err)
	}
	if err := b.want.CheckOpen(ctx, b.db); err != nil {
		t.Error(err)
	}
	b.close(ctx)
	if err := b.want.Check(ctx, b.path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.path + "-wal"); err == nil {
		t.Error("the log was not folded into the database")
	}
}
