//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// opencodeServer is opencode as its screen and its desktop program use it: one
// server for many sessions. A start of the program takes six seconds of
// processor time, which a session of its own each would cost.
type opencodeServer struct {
	opencodeAgent
	address string
	last    map[string]string // the newest session of a directory
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startOpencode starts a server that ends with the test.
func startOpencode(b *bed) *opencodeServer {
	b.Helper()
	c := exec.Command(opencodeAgent{}.program(b), "serve", "--port", "0")
	c.Dir, c.Env = b.home, b.env
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Process.Kill() // it does not end by itself while sessions are open
		_ = c.Wait()         // it reports the signal
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := listening.FindStringSubmatch(lines.Text()); at != nil {
			go io.Copy(io.Discard, out)
			return &opencodeServer{address: at[1], last: map[string]string{}}
		}
	}
	b.Fatal("opencode does not say where it serves")
	return nil
}

func (a *opencodeServer) ask(b *bed, prompt string) string {
	b.Helper()
	var session struct{ ID string }
	if err := json.Unmarshal(a.post(b, "/session", map[string]any{}), &session); err != nil || session.ID == "" {
		b.Fatalf("opencode starts no session: %v", err)
	}
	a.last[b.work] = session.ID
	return a.goOn(b, prompt)
}

func (a *opencodeServer) goOn(b *bed, prompt string) string {
	b.Helper()
	return string(a.post(b, "/session/"+a.last[b.work]+"/message", map[string]any{"parts": []any{map[string]any{"type": "text", "text": prompt}}}))
}

func (a *opencodeServer) post(b *bed, path string, body any) []byte {
	b.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	client := http.Client{Timeout: patience}
	answer, err := client.Post(a.address+path+"?directory="+url.QueryEscape(b.work), "application/json", bytes.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("opencode %s: %s %v\n%s", path, answer.Status, err, got)
	}
	return got
}

// engineOpencode plays what needs a session that stays open: an engine that is killed between two
// turns, and a compaction, whose summary is the record's.
func engineOpencode(t *testing.T, h opencodeAgent) {
	b := newEngineBed(t, h, true, 30)
	b.pace = 500 * time.Millisecond // a model is no faster
	s := startOpencode(b.bed)
	s.ask(b.bed, "The harbour gate opens with "+needle+". play:read12")
	s.goOn(b.bed, "Go on. play:read12b")
	if n := b.killEngines(); n != 1 {
		t.Errorf("%d engines were killed", n)
	}
	s.goOn(b.bed, "Go on. play:read12c")
	s.post(b.bed, "/session/"+s.last[b.work]+"/summarize", map[string]any{"providerID": "x", "modelID": "scripted"})
	summary := ""
	for _, text := range h.records(b.bed) {
		if bytes.Contains(text, []byte("[lcm checkpoint: everything up to msg_")) {
			summary = string(text)
		}
	}
	if !strings.Contains(summary, needle) {
		t.Errorf("the summary of the compaction is not lcm's: %.2000s", summary)
	}
	s.goOn(b.bed, "Go on. play:read12d")
	if out := s.goOn(b.bed, "What opens the harbour gate? play:recall1"); !strings.Contains(out, "says lcm_grep") {
		t.Errorf("%.2000s", out)
	}
	sum := b.totals()
	b.valid()
	if sum.Compactions > 1 || sum.Largest > engineBudget {
		t.Errorf("%d compactions, largest request %d", sum.Compactions, sum.Largest)
	}
	t.Logf("the summary has %d bytes", len(summary))
	b.stored(h.records(b.bed))
}

// patience is how long an agent may take for a turn.
const patience = 4 * time.Minute
