//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// drawn matches what a terminal draws with: control sequences and blanks.
var drawn = regexp.MustCompile(`\x1b\][^\x07]*\x07|\x1b\[[0-9;?<>=]*[a-zA-Z]|\s`)

// TestStatusLine starts Claude Code on a terminal, where a user sees that the session was told
// of earlier work, and the status line.
func TestStatusLine(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script, which makes a terminal, is not installed")
	}
	if !withoutNetwork(t) {
		return
	}
	home := filepath.Join(t.TempDir(), "home")
	h, b := claudeAgent{}, newBed(t, home, filepath.Join(home, "project"), play)
	b.write(filepath.Join(b.work, "notes.txt"), "low tide\n")
	h.prepare(b)
	b.write(filepath.Join(home, ".claude.json"), fmt.Sprintf(
		`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["anything"]}, "projects": {%q: {"hasTrustDialogAccepted": true}}}`, b.work))
	b.run(b.lcm, "setup", h.name(), "--yes")
	h.ask(b, tell)
	b.stored(h.records(b))

	c := exec.CommandContext(t.Context(), "script", "-qec", "stty cols 160 rows 50; exec '"+h.program(b)+"'", "/dev/null")
	c.Dir, c.Env = b.work, append(b.env, "TERM=xterm-256color", "SHELL=/bin/sh")
	screen := &screenText{}
	c.Stdout = screen
	if _, err := c.StdinPipe(); err != nil { // which stays open
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	for _, want := range []string{"lcmtoldthissessionofearlierworkinthisproject", "lcm:newsession"} {
		for end := time.Now().Add(time.Minute); !bytes.Contains(screen.text(), []byte(want)); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the screen does not show %q: %s", want, screen.text())
			}
		}
	}
}

// screenText collects what a program draws.
type screenText struct {
	mu  sync.Mutex
	all []byte
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p...)
	return len(p), nil
}

// text is all of it, without blanks.
func (s *screenText) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return drawn.ReplaceAll(s.all, nil)
}
