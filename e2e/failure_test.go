//go:build e2e

package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// solvedLine is what an agent is told after a failure, in the forms in which hosts hand it on.
var solvedLine = regexp.MustCompile(`ls --harbour notes\.txt[^.]* failed the same way, and [^.]*ls -l notes\.txt[^.]* then worked \([^)]*msg_\d+\)`)

// TestAfterFailure has each agent fail, succeed, and fail in a second session: the model is told
// once what worked. Where no session failed so before, it is told nothing.
func TestAfterFailure(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			b := newBed(t, home, filepath.Join(home, "project"), play)
			b.programs = programsOf(t, h)
			b.write(filepath.Join(b.work, "notes.txt"), "low tide\n")
			h.prepare(b)
			before := b.settings()
			b.run(b.lcm, "setup", h.name(), "--yes")
			h.trust(b)
			for session, want := range []int{0, 1} {
				asked := len(b.model.Exchanges())
				b.Log(h.ask(b, "Look at the tide. play:fail"))
				b.stored(h.records(b))
				told := 0
				var last llms.Request
				for _, x := range b.model.Exchanges()[asked:] {
					if len(x.Request.Messages) >= len(last.Messages) {
						last = x.Request
					}
				}
				for _, m := range last.Messages {
					told += len(solvedLine.FindAllString(m.Render()+resultText(m), -1))
				}
				if told > 0 != (want > 0) {
					t.Errorf("session %d: told %d times: %s", session, told, strings.Join(renders(last), "\n"))
				}
				t.Logf("session %d: told %d times", session, told)
			}
			t.Log(b.run(b.lcm, "doctor"))
			b.run(b.lcm, "setup", "--remove", h.name(), "--yes")
			b.restored(before, h.rewritten())
		})
	}
}

func resultText(m llms.Message) string {
	var b strings.Builder
	for _, r := range m.ToolResults() {
		for _, p := range r.Output {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func renders(r llms.Request) (all []string) {
	for _, m := range r.Messages {
		all = append(all, m.Render()+resultText(m))
	}
	return all
}
