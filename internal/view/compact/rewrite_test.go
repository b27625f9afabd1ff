package compact_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// folded returns a conversation in SQLite that was folded without a model.
func folded(t *testing.T) *sqlite.DB {
	t.Helper()
	db, id := open(t)
	for i := range 400 {
		appendTo(t, db, id, llms.User(fmt.Sprintf("Question %d. %s", i, text(400))), llms.Assistant(fmt.Sprintf("Answer %d. %s", i, text(400))))
	}
	run(t, newRunner(t, compact.Config{Store: db, State: db}), compact.Full)
	return db
}

func TestRewrite(t *testing.T) {
	quota := &llms.Error{Class: llms.ClassQuota, Provider: "test"}
	refused := &llms.Error{Class: llms.ClassAuth, Provider: "test"}
	good := func(_ context.Context, r summary.Request) (string, error) {
		return "In short.\n" + summary.Footer + "the rest", nil
	}
	after := func(n int64, err error) func(*summariser) func(context.Context, summary.Request) (string, error) {
		return func(s *summariser) func(context.Context, summary.Request) (string, error) {
			return func(ctx context.Context, r summary.Request) (string, error) {
				if s.calls.Load() > n {
					return "", err
				}
				return good(ctx, r)
			}
		}
	}
	for _, c := range []struct {
		name   string
		write  func(*summariser) func(context.Context, summary.Request) (string, error)
		reason compact.Reason
		all    bool
	}{
		{"a model that works", after(1<<30, nil), compact.Done, true},
		{"a quota that is used up", after(2, quota), compact.Spend, false},
		{"a key that is refused", after(2, refused), compact.Auth, false},
		{"a model that keeps failing", after(2, errors.New("reset")), compact.Failing, false},
		{"a model that panics", func(*summariser) func(context.Context, summary.Request) (string, error) {
			return func(context.Context, summary.Request) (string, error) { panic("boom") }
		}, compact.Failing, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := folded(t)
			s := &summariser{}
			s.write = c.write(s)
			runner := newRunner(t, compact.Config{Store: db, State: db, Summariser: s})
			got, err := runner.Rewrite(t.Context(), 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != c.reason || (got.Done == got.Candidates) != c.all || got.Candidates == 0 {
				t.Errorf("%+v", got)
			}
			if c.all {
				again, err := runner.Rewrite(t.Context(), 1, nil)
				if err != nil || again.Candidates != 0 {
					t.Errorf("a second time: %+v, %v", again, err)
				}
			}
			v, err := db.Verify(t.Context(), 1)
			if err != nil || len(v.Faults) > 0 {
				t.Errorf("verify: %v %v", v.Faults, err)
			}
		})
	}
}
