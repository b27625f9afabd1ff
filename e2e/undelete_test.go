//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// TestUndelete has each agent make a session, deletes the session, writes it back and goes on with
// it in the real program: it has its bytes, and the model gets what was said.
func TestUndelete(t *testing.T) {
	agents := []agent{claudeAgent{}, codexAgent{}, piAgent{}}
	programsOf(t, piAgent{}) // while there is a network
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) { undelete(t, h) })
	}
}

// undeleted are the files of sessions, and the files of an agent's own database that may be lost too.
var undeleted = map[string][2]string{
	"claude": {".claude/projects/*/*.jsonl", ""},
	"codex":  {".codex/sessions/*/*/*/*.jsonl", ".codex/*.sqlite*"},
	"pi":     {".pi/agent/sessions/*/*.jsonl", ""},
}

func undelete(t *testing.T, h agent) {
	home := filepath.Join(t.TempDir(), "home")
	b := newBed(t, home, filepath.Join(home, "project"), play)
	b.programs = programsOf(t, h)
	b.write(filepath.Join(b.work, "notes.txt"), "low tide\n")
	h.prepare(b)
	b.Log(h.ask(b, tell))
	files := func(i int) (found []string) {
		if pattern := undeleted[h.name()][i]; pattern != "" {
			found, _ = filepath.Glob(filepath.Join(home, pattern)) // the patterns are sound
		}
		return found
	}
	for round := range 2 {
		transcript := files(0)
		if len(transcript) != 1 {
			t.Fatalf("the agent kept %v", transcript)
		}
		b.run(b.lcm, "import", h.name())
		was, err := os.ReadFile(transcript[0])
		if err != nil {
			t.Fatal(err)
		}
		gone := transcript
		if round > 0 {
			gone = append(gone, files(1)...)
		}
		for _, path := range gone {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if out := b.run(b.lcm, "import", h.name()); !strings.Contains(out, "1 stored session was deleted since") {
			t.Errorf("the import says\n%s", out)
		}
		var lost []struct {
			Conversation int
			Session      string
		}
		if err := json.Unmarshal([]byte(b.run(b.lcm, "undelete", "--json")), &lost); err != nil || len(lost) != 1 {
			t.Fatal(lost, err)
		}
		b.Log(b.run(b.lcm, "undelete", fmt.Sprint(lost[0].Conversation)))
		if is, err := os.ReadFile(transcript[0]); err != nil || !bytes.Equal(is, was) {
			t.Fatalf("%s is not as it was (%v)", transcript[0], err)
		}
		if info, err := os.Stat(transcript[0]); err != nil || info.Mode() != 0o600 {
			t.Error(info.Mode(), err)
		}
		again := exec.CommandContext(t.Context(), b.lcm, "undelete", lost[0].Session)
		again.Dir, again.Env = b.work, b.env
		if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "still has this session") {
			t.Errorf("written back twice: %s", out)
		}
		asked := len(b.model.Exchanges())
		b.Log(resume(b, h, lost[0].Session))
		heard := func(r llms.Request) (said string) {
			for _, m := range r.Messages {
				said += m.PlainText()
			}
			return said
		}
		found := false
		for _, x := range b.model.Exchanges()[asked:] {
			said := heard(x.Request)
			found = found || strings.Contains(said, needle) && strings.Contains(said, goOn)
		}
		if !found {
			t.Error("the model did not get what was said before")
		}
		if is, err := os.ReadFile(transcript[0]); err != nil || !bytes.HasPrefix(is, was) || len(is) == len(was) {
			t.Errorf("the session did not go on in %s (%v)", transcript[0], err)
		}
		t.Logf("%s, round %d: %d bytes as they were", h.name(), round, len(was))
	}
	b.run(b.lcm, "import", h.name())
	b.exported(h)
}

// resume goes on with a session by its id.
func resume(b *bed, h agent, session string) string {
	switch h := h.(type) {
	case claudeAgent:
		return h.run(b, goOn, "--resume", session)
	case codexAgent:
		return h.run(b, "resume", session, goOn)
	case piAgent:
		return h.run(b, goOn, "--session", session)
	}
	panic(h.name())
}
