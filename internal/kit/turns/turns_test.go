package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lossless-context/lcm/internal/kit/turns"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q turns.Turns
		done, err := q.Take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		other, err := q.Take(t.Context(), "b")
		if err != nil {
			t.Fatal("another key must not wait")
		}
		other()
		second := false
		go func() {
			done, err := q.Take(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			second = true
			done()
		}()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := q.Take(ctx, "a"); !errors.Is(err, gone) {
			t.Errorf("a caller that stops waiting: %v", err)
		}
		synctest.Wait()
		if second || q.Keys() != 1 {
			t.Errorf("the second caller got through during the first turn: %v; %d keys", second, q.Keys())
		}
		done()
		synctest.Wait()
		if !second || q.Keys() != 0 {
			t.Errorf("after the turn: second %v, %d keys", second, q.Keys())
		}
	})
}
