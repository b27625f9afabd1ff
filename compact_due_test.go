package lcm_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// foldEngine opens a database as a process that folds for others does.
func foldEngine(t *testing.T, path string, options ...lcm.Option) *lcm.Engine {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e, err := lcm.New(db, append([]lcm.Option{lcm.WithoutBackground(), lcm.WithBudget(8000)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func conversation(t *testing.T, e *lcm.Engine, key string) store.Conversation {
	t.Helper()
	c, err := e.Session(key).Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFoldDue: every conversation above the soft threshold is folded until it
// is below it, a small one is left alone, and afterwards nothing is due.
func TestFoldDue(t *testing.T) {
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"))
	for _, key := range []string{"a", "b"} {
		if err := e.Session(key).Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Session("small").Append(t.Context(), llms.User("hello")); err != nil {
		t.Fatal(err)
	}
	only := []store.ConversationID{conversation(t, e, "b").ID}
	f, err := e.FoldDue(t.Context(), lcm.FoldOptions{Conversations: only})
	if err != nil || f.Conversations != 1 || conversation(t, e, "a").Summaries != 0 {
		t.Fatalf("one of two: %+v, %v", f, err)
	}
	if f, err = e.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || f.Conversations != 1 || f.Left != 0 {
		t.Fatalf("the other: %+v, %v", f, err)
	}
	a, b, small := conversation(t, e, "a"), conversation(t, e, "b"), conversation(t, e, "small")
	if a.ViewTokens >= 6000 || b.ViewTokens >= 6000 || a.Summaries != int64(f.Folds) || small.Summaries != 0 {
		t.Errorf("views of %d and %d tokens, %d summaries of %d, %d of a small one", a.ViewTokens, b.ViewTokens, a.Summaries, f.Folds, small.Summaries)
	}
	if due, err := e.Due(t.Context(), nil); err != nil || len(due) != 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// TestFoldDueAlone: while one process folds, another does nothing, and a lease
// of a process that was killed keeps nobody from it.
func TestFoldDueAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	one, two := foldEngine(t, path), foldEngine(t, path)
	for i := range 2 {
		if err := one.Session(fmt.Sprint(i)).Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	f, err := one.FoldDue(t.Context(), lcm.FoldOptions{OnStart: func(store.Conversation, int) {
		tried++
		if other, err := two.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || !other.Busy || other.Folds > 0 {
			t.Errorf("beside it: %+v, %v", other, err)
		}
		if busy, err := two.Folding(t.Context()); err != nil || !busy {
			t.Errorf("the other does not see it: %t, %v", busy, err)
		}
	}})
	if err != nil || f.Busy || f.Conversations != 2 || tried != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if busy, err := two.Folding(t.Context()); err != nil || busy {
		t.Errorf("after it: %t, %v", busy, err)
	}
	if f, err := two.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || f.Busy {
		t.Errorf("after it: %+v, %v", f, err)
	}
}

// TestFoldDueTime: it ends when its time does, says what is left, and the next
// call goes on.
func TestFoldDueTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"), lcm.WithClock(func() time.Time { return now }),
		lcm.WithBounds(lcm.Bounds{MaxPasses: 4}))
	if err := e.Session("a").Append(t.Context(), sample.Messages()...); err != nil {
		t.Fatal(err)
	}
	told := 0
	o := lcm.FoldOptions{Time: time.Minute, OnFold: func(compact.Report) { told++; now = now.Add(time.Minute) }}
	f, err := e.FoldDue(t.Context(), o)
	if err != nil || f.Left != 1 || f.Folds == 0 || f.Folds > 4 || told != f.Folds {
		t.Fatalf("%+v, %v, told of %d", f, err, told)
	}
	o.OnFold = nil
	if f, err = e.FoldDue(t.Context(), o); err != nil || f.Left != 0 || f.Folds == 0 {
		t.Errorf("then: %+v, %v", f, err)
	}
}
