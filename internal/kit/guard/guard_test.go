package guard_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/internal/kit/guard"
)

func TestCall(t *testing.T) {
	own := errors.New("own")
	for _, test := range []struct {
		name string
		fn   func(context.Context) (int, error)
		want error
	}{
		{"a result", func(context.Context) (int, error) { return 7, nil }, nil},
		{"an error", func(context.Context) (int, error) { return 7, own }, own},
		{"Goexit", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, guard.ErrNoResult},
	} {
		n, err := guard.Call(t.Context(), 0, test.fn)
		if !errors.Is(err, test.want) || test.want == nil && (n != 7 || err != nil) {
			t.Errorf("%s: %d, %v", test.name, n, err)
		}
	}
	n, err := guard.Call(t.Context(), 0, func(context.Context) (int, error) { panic("oh") })
	if p, ok := err.(*guard.Panic); !ok || n != 0 || p.Value != "oh" || !strings.Contains(string(p.Stack), "guard_test") {
		t.Errorf("a panic: %v", err)
	}
}

func TestCallGivesUp(t *testing.T) {
	for _, test := range []struct{ takes, grace, want time.Duration }{
		{10 * time.Second, 0, time.Second},
		{10 * time.Second, 3 * time.Second, 4 * time.Second},
		{2 * time.Second, 3 * time.Second, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			gone := errors.New("the user left")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, gone)
			defer cancel()
			began := time.Now()
			_, err := guard.Call(ctx, test.grace, func(context.Context) (int, error) { time.Sleep(test.takes); return 0, nil })
			if took := time.Since(began); !errors.Is(err, guard.ErrGivenUp) || !errors.Is(context.Cause(ctx), gone) || took != test.want {
				t.Errorf("a call of %v with %v of grace: %v after %v, want %v", test.takes, test.grace, err, took, test.want)
			}
			time.Sleep(test.takes) // the function ends on its own
		})
	}
}
