package lcm_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
)

// Sync takes a long history as known by its length, its beginning and its end;
// CompareAll finds a message that was edited in between.
func TestCompareAllFindsAnEditInALongHistory(t *testing.T) {
	session := newEngine(t, lcm.WithoutBackground()).Session("long")
	history := make([]llms.Message, 4_200)
	for i := range history {
		history[i] = llms.User(fmt.Sprint("message ", i))
	}
	sync := func(options ...lcm.SyncOption) int {
		t.Helper()
		done, err := session.Sync(t.Context(), history, options...)
		if err != nil {
			t.Fatal(err)
		}
		return len(done.Stored)
	}
	if n := sync(); n != len(history) {
		t.Fatalf("the first Sync stored %d messages of %d", n, len(history))
	}
	history[2_000] = llms.User("edited")
	if n := sync(); n != 0 {
		t.Errorf("Sync stored %d messages of a history that it takes as known", n)
	}
	if n := sync(lcm.WithFullCompare()); n != 1 {
		t.Errorf("Sync with CompareAll stored %d messages, want the edited one", n)
	}
}
