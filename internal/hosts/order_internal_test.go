package hosts

import (
	"strings"
	"testing"
	"time"
)

// A session that was written last is read last, and its sub-agents with it.
func TestOldestFirst(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	todo := []pending{
		{t: Transcript{Host: "claude", Session: "c", Modified: day(9)}},
		{t: Transcript{Host: "claude", Session: "c-child", Parent: "c", Modified: day(2)}},
		{t: Transcript{Host: "codex", Session: "b", Modified: day(5)}},
		{t: Transcript{Host: "claude", Session: "orphan", Parent: "gone", Modified: day(4)}},
		{t: Transcript{Host: "claude", Session: "a", Modified: day(1)}},
	}
	oldestFirst(todo)
	var got []string
	for _, p := range todo {
		got = append(got, p.t.Session)
	}
	if want := "a orphan b c c-child"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
