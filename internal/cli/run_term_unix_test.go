//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRunEndsOnSignals: a signal that is sent to lcm ends the agent, and then the run ends as any
// other: the transcript is read to its end, and the run is listed as ended.
func TestRunEndsOnSignals(t *testing.T) {
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	const session = "11111111-2222-4333-8444-555555555555"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"msg_x","type":"message","role":"assistant","model":"claude-test","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":9,"output_tokens":1}}`)
	}))
	defer api.Close()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			transcript := filepath.Join(dir, ".claude", "projects", "p", session+".jsonl")
			line := func(i int) string {
				return fmt.Sprintf(`{"type":"user","uuid":"u%d","sessionId":%q,"cwd":%q,"timestamp":"2026-02-18T12:00:0%dZ","message":{"role":"user","content":"message %d"}}`+"\n", i, session, dir, i, i)
			}
			// The last line is written when the agent ends.
			agent := "#!/bin/sh\ntrap 'cat last >> " + transcript + "; exit 8' TERM INT\nprintf %s \"$ANTHROPIC_BASE_URL\" > part && mv part base\nwhile :; do sleep 0.05; done\n"
			for name, text := range map[string]string{"claude": agent, "last": line(2), transcript: line(1)} {
				if !filepath.IsAbs(name) {
					name = filepath.Join(dir, name)
				}
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.Command(program, "--db", "lcm.db", "run", "--", "./claude")
			var stderr bytes.Buffer
			c.Dir, c.Stderr = dir, &stderr
			c.Env = append(os.Environ(), "HOME="+dir, "CLAUDE_CONFIG_DIR=", "ANTHROPIC_API_KEY=key", "ANTHROPIC_BASE_URL="+api.URL)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			base := ""
			for deadline := time.Now().Add(time.Minute); base == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				text, _ := os.ReadFile(filepath.Join(dir, "base")) // it is not there yet
				base = string(text)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/messages", strings.NewReader(
				`{"model":"claude-test","max_tokens":1,"messages":[{"role":"user","content":"message 1"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Claude-Code-Session-Id", session)
			r.Header.Set("X-Api-Key", "key")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); c.ProcessState.ExitCode() != 8 {
				t.Errorf("%v, want the agent's code 8", err)
			}
			if said := stderr.String(); !strings.Contains(said, "1 request") || !strings.Contains(said, "2 messages kept verbatim") {
				t.Errorf("it says %s", said)
			}
			list := exec.Command(program, "--db", "lcm.db", "run", "--list", "--json")
			list.Dir, list.Env = dir, c.Env
			if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), `"verbatim": 2`) || strings.Contains(string(out), `"ended": "0001`) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
