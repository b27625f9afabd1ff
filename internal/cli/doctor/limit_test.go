package doctor_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// small makes a database of three conversations.
func small(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lcm.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if err := e.Session(key).Append(t.Context(), llms.User("hello")); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// ending is a context whose deadline passes when it was asked n times.
type ending struct {
	context.Context
	mu   sync.Mutex
	n    int
	done chan struct{}
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n--; e.n == 0 {
		close(e.done)
	}
	if e.n <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestCheckEnds: wherever the time of a check ends, it names what is left and finds nothing
// wrong in a sound database.
func TestCheckEnds(t *testing.T) {
	path := small(t)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	left, whole := map[string]bool{}, false
	for n := 1; !whole && n < 1000; n++ {
		ctx := &ending{Context: t.Context(), n: n, done: make(chan struct{})}
		found, err := db.Check(ctx)
		if err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		for _, f := range found {
			if left[f.Node] = true; f.Code != doctor.Unchecked {
				t.Errorf("after %d: %+v", n, f)
			}
		}
		whole = len(found) == 0
	}
	if !whole || !left["2 of 3 conversations"] || !left["the pages of the file"] {
		t.Errorf("whole %v, left out: %v", whole, left)
	}
}

// TestCheckEndsWithWhatItFound: damage that was found before the end is named.
func TestCheckEndsWithWhatItFound(t *testing.T) {
	path := small(t)
	with("UPDATE messages SET record = x'41' || substr(record, 2) WHERE id = (SELECT max(id) FROM messages)")(t, path)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	early := 0
	for n := 1; n < 1000; n++ {
		found, err := db.Check(&ending{Context: t.Context(), n: n, done: make(chan struct{})})
		if err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		left := func(f store.Fault) bool { return f.Code == doctor.Unchecked }
		damaged := slices.ContainsFunc(found, func(f store.Fault) bool { return f.Code == "record" })
		if !slices.ContainsFunc(found, left) {
			if !damaged {
				t.Error("the whole check finds nothing")
			}
			break
		}
		if some := slices.ContainsFunc(found, func(f store.Fault) bool { return f.Node == "1 of 3 conversations" }); some {
			if early++; !damaged {
				t.Errorf("after %d: %+v", n, found)
			}
		}
	}
	if early == 0 {
		t.Error("no check ended between conversations")
	}
}

// TestExamineInTime: what does not fit the limit is named, and nothing is said about it. An
// interrupted examination has no report.
func TestExamineInTime(t *testing.T) {
	path := small(t)
	p := doctor.Patient{Path: path, Limit: time.Nanosecond, Also: func(ctx context.Context, _ *sqlite.DB) []doctor.Finding {
		<-ctx.Done()
		return []doctor.Finding{{Code: doctor.Unchecked, Where: "the hosts"}}
	}}
	r, err := doctor.Examine(t.Context(), p)
	if err != nil || len(r.Findings) > 0 || !slices.Contains(r.Unchecked, "the hosts") || !slices.Contains(r.Unchecked, "the database") {
		t.Errorf("%+v, %v", r, err)
	}
	p.Limit, p.Also = time.Hour, nil
	if r, err = doctor.Examine(t.Context(), p); err != nil || len(r.Unchecked)+len(r.Findings) > 0 {
		t.Errorf("with time: %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.Also = func(context.Context, *sqlite.DB) []doctor.Finding { cancel(); return []doctor.Finding{{Code: "false"}} }
	if r, err = doctor.Examine(ctx, p); err == nil || len(r.Findings) > 0 {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
}
