//go:build e2e

package e2e

import (
	"os"
	"slices"
	"testing"
)

// leaveLogs are outputs of 28 kB, together more than a window of 200,000 tokens.
const leaveLogs = 36

// TestRunLeave leaves lcm: a session that has outgrown the model's window within lcm run
// is compacted there, as docs/hosts/RUN.md says, and the agent then opens it without lcm.
func TestRunLeave(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) {
			if h.name() == "opencode" && os.Getenv(longEnv) == "" {
				t.Skip(longEnv + " is not set")
			}
			b := newRunBed(t, h, proxied(120_000), apiOptions{})
			b.logs(leaveLogs, 28_000)
			var resume string
			t.Run("lcm", func(t *testing.T) { // the agent ends with it
				inner := *b.bed
				inner.T = t
				within := &runBed{bed: &inner, agent: h, api: b.api}
				resume = within.leave()
				b.flags = within.flags
			})
			b.wrap = nil
			inside := len(b.api.Records())
			line := b.command("Go on. play:read2b", true)
			if i := slices.Index(line, "--last"); i >= 0 {
				line[i] = resume
			}
			if i := slices.Index(line, "--continue"); i >= 0 && resume != "" {
				line = slices.Replace(line, i, i+1, "--session", resume)
			}
			if o := b.turn(line); o.Code != 0 || o.Answer != "That were 2 logs." {
				t.Errorf("without lcm: %d %q\n%s", o.Code, o.Answer, tail(o.log))
			}
			b.valid()
			after := sumRecords(b.api.Records()[inside:])
			t.Logf("without lcm: %s", after)
			if after.Compactions > 0 || after.Requests == 0 {
				t.Errorf("without lcm the agent sends %d requests and compacts %d times", after.Requests, after.Compactions)
			}
		})
	}
}

// leave plays a long session within lcm run and types /compact at its end. It returns the
// name of the session, if that is needed to resume it.
func (b *runBed) leave() string {
	b.Helper()
	const long = "Print the logs. play:read36a"
	if b.agent.name() == "claude" {
		b.flags = []string{"--model", "claude-sonnet-4-6"}
		b.Log(b.ask(long).Answer)
		b.Log(b.goOn("/compact").Answer)
		return ""
	}
	s := b.openScreen()
	session := s.begin()
	b.Log(s.say(session, long).Answer)
	b.Log(s.compact(session).Answer)
	return session
}
