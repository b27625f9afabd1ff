//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// kills is how often the proxy of a session is killed.
const kills = 20

// TestRunKilled kills lcm again and again in the middle of a session's turns, and goes
// on with the session. Every request is valid, the record has all that a fresh import of
// the transcript has, and the first turn's fact is found in the end.
func TestRunKilled(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) {
			if h.name() == "opencode" && os.Getenv(longEnv) == "" {
				t.Skip(longEnv + " is not set")
			}
			b := newRunBed(t, h, proxied(sceneBudget), apiOptions{})
			b.logs(10, 28_000)
			if h.name() == "claude" {
				b.flags = []string{"--model", "claude-sonnet-4-6"}
			}
			// Codex and opencode store reasoning before the rest of an answer. If they are
			// killed between the two they send the reasoning alone from then on, which the
			// API refuses, with lcm and without.
			b.unreasoned = h.name() != "claude"
			// opencode stores a text before its first word arrives, and sends the empty text
			// from then on.
			b.unspoken = h.name() == "opencode"
			random := rand.New(rand.NewPCG(1, 2))
			// This turn alone fills the budget, however far the turns that are killed get.
			if o := b.ask("Print logs. play:read9first"); o.Code != 0 {
				t.Fatal(tail(o.log))
			}
			for i := range kills {
				b.kill(b.command(fmt.Sprintf("Go on. play:read6x%s", letters(i)), true), time.Duration(random.IntN(2500))*time.Millisecond)
			}
			o := b.goOn("What opens the harbour gate? play:recall1last")
			if o.Code != 0 || o.Answer != "The gate opens with "+needle+", says lcm_grep." {
				t.Errorf("the last turn ends with %d %q\n%s", o.Code, o.Answer, tail(o.log))
			}
			b.totals()
			// The first request after a resume passes unchanged if the machine is too busy
			// to read the record in time.
			large := slices.DeleteFunc(b.api.Records(), func(r apiRecord) bool { return r.Tokens <= sceneBudget })
			if len(large) > kills/10 {
				t.Errorf("%d requests are above the budget", len(large))
			}
			t.Logf("%d requests are above the budget", len(large))
			b.valid()
			b.sameDigest()
		})
	}
}

// letters is a number written with letters, which the name of a play may end with.
func letters(i int) string { return string([]byte{byte('a' + i/26), byte('a' + i%26)}) }

// kill starts a turn, kills lcm after some time, and then the agent, which has lost its
// model.
func (b *runBed) kill(line []string, after time.Duration) {
	b.Helper()
	before := sumRecords(b.api.Records()).Requests
	c := b.prepared(line)
	b.start(c)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	// A host takes a while to start: the time counts from its first request.
	for deadline := time.Now().Add(patience); sumRecords(b.api.Records()).Requests == before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case <-time.After(after):
	case err := <-ended:
		b.Logf("the turn ended before the kill: %v", err)
		return
	}
	_ = c.Process.Kill() // only lcm
	<-ended
	time.Sleep(50 * time.Millisecond)
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the rest of the group, which may be gone
}
