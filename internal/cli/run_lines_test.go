package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// TestEnded: the line at the end of a run says what the run did not do.
func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		run      proxy.Run
		has, not string
	}{
		"folded":         {proxy.Run{Requests: 3, Changed: 1, Cost: 50, Plain: 100, Verbatim: 1}, "1 with summaries · largest 0 tokens · input cost 0.50 of unproxied (estimated) · 1 message kept verbatim", "would"},
		"nothing folded": {proxy.Run{Requests: 3, Cost: 525, Plain: 100}, "0 with summaries", "cost"},
		"observed":       {proxy.Run{Requests: 9, Changed: 9, Observe: true, Cost: 50, Plain: 100}, "9 would have had summaries · largest 0 tokens · input cost would have been 0.50", "9 with summaries"},
		"unknown client": {proxy.Run{Requests: 67, Unknown: 67, Over: map[string]int{proxy.NoKnownAgent: 11}}, "67 unchanged: no transcript of a known agent belongs to it", "above"},
		"above":          {proxy.Run{Requests: 3, Over: map[string]int{proxy.NotFolded: 1, proxy.NewestTooLong: 1}}, "2 above the budget", "unchanged"},
		"answered only":  {proxy.Run{Requests: 3, Checkpoints: 1, Cost: 63, Plain: 100}, "0 with summaries", "cost"},
		"broken record":  {proxy.Run{Requests: 3, Over: map[string]int{proxy.RecordBehind: 2}}, "2 above the budget: the record could not be brought up to date", "list"},
		"no database":    {proxy.Run{Requests: 2, Problems: map[string]int{"the file was removed": 2}}, "1 problem with the record", "cost"},
	} {
		got := ended(c.run)
		if !strings.Contains(got, c.has) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestRunState: a run says how it differs from others.
func TestRunState(t *testing.T) {
	for want, r := range map[string]proxy.Run{
		"":                          {Ended: time.Now()},
		"running, or killed":        {},
		"observed":                  {Ended: time.Now(), Observe: true},
		"unknown client, unchanged": {Ended: time.Now(), Requests: 2, Unknown: 2},
		"subscription, unchanged":   {Ended: time.Now(), Requests: 2, Subscription: 2},
	} {
		if got := runState(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// runsIn returns a database with runs.
func runsIn(t *testing.T, runs ...proxy.Run) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for i, r := range runs {
		r.ID = fmt.Sprint("run_", i)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Put(t.Context(), "proxy-run", r.ID, data, 0, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// TestRunFindings: the doctor names a command that exists, the cause, and what to do.
func TestRunFindings(t *testing.T) {
	now := time.Now()
	for code, c := range map[string]struct {
		run           proxy.Run
		where, advice string
	}{
		"run-no-request":     {proxy.Run{Host: "proxy"}, "lcm run --listen, ", "`lcm run --listen` prints"},
		"run-unknown-client": {proxy.Run{Host: "proxy", Requests: 67, Unknown: 67, Over: map[string]int{proxy.NoKnownAgent: 3}}, "lcm run --listen, ", "docs/hosts/RUN.md"},
		"run-over-budget":    {proxy.Run{Host: "claude", Requests: 2, Over: map[string]int{proxy.NotFolded: 1}}, "lcm run -- claude, ", "`lcm import`"},
	} {
		c.run.Started, c.run.Ended = now, now
		found := runFindings(t.Context(), runsIn(t, c.run), now)
		if len(found) != 1 || found[0].Code != code || !strings.HasPrefix(found[0].Where, c.where) || !strings.Contains(found[0].Advice, c.advice) {
			t.Errorf("%s: %+v", code, found)
		}
	}
	few := proxy.Run{Host: "claude", Started: now, Ended: now, Requests: 9, Over: map[string]int{proxy.CountedMore: 1}}
	if found := runFindings(t.Context(), runsIn(t, few), now); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestProxiedKey: a session is found by the beginning of its key or id, if there is one.
func TestProxiedKey(t *testing.T) {
	now := time.Now()
	rec := &openRecord{db: runsIn(t,
		proxy.Run{Started: now.Add(-time.Hour), Sessions: []string{"claude:12a4dd35-1", "codex:12ff"}},
		proxy.Run{Started: now, Sessions: []string{proxy.UnknownClient, "claude:77"}})}
	for name, want := range map[string]string{
		"claude:12a4dd35": "claude:12a4dd35-1", "12a": "claude:12a4dd35-1", "codex:": "codex:12ff", "12ff": "codex:12ff",
		"last": "claude:77", "unknown": proxy.UnknownClient, "nothing": "nothing",
	} {
		if got, err := proxiedKey(t.Context(), rec, name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestProxiedNotes: a request says why it was not changed.
func TestProxiedNotes(t *testing.T) {
	for want, m := range map[string]proxy.Composition{
		"subscription login":              {FullTokens: 3, Budget: 2, Subscription: true},
		"above its budget: not folded":    {FullTokens: 3, Budget: 2, Over: proxy.NotFolded},
		"no transcript of a":              {FullTokens: 3, Budget: 2, Note: proxy.NoKnownAgent, Over: proxy.NoKnownAgent},
		"the host's request was sent unc": {FullTokens: 3, Budget: 2, Dropped: 1, Observe: true},
	} {
		if got := strings.Join(proxiedNotes(m), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHeldLog: while the agent has the terminal, nothing is logged there.
func TestHeldLog(t *testing.T) {
	var shown strings.Builder
	l := &heldLog{to: &shown}
	write := func(line string) {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	write("before\n")
	l.hold()
	write("during\n")
	write(strings.Repeat("x", maxHeldLog))
	if shown.String() != "before\n" {
		t.Errorf("the agent's terminal has %q", shown.String())
	}
	l.release()
	write("after\n")
	if shown.String() != "before\nduring\nafter\n" {
		t.Errorf("at the end there is %q", shown.String())
	}
}
