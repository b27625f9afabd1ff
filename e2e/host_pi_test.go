//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// piAgent is pi, with lcm's extension.
type piAgent struct{}

func (piAgent) name() string { return "pi" }

func (piAgent) prepare(b *bed) {
	b.env = append(b.env, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1")
	b.write(filepath.Join(b.home, ".pi", "agent", "models.json"), `{"providers": {"x": {"baseUrl": "`+b.url+`/v1", "api": "openai-completions",
		"apiKey": "x", "models": [{"id": "scripted", "contextWindow": 128000, "maxTokens": 4000}]}}}`)
}

func (piAgent) trust(*bed) {}

func (a piAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a piAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, "--continue") }

func (a piAgent) run(b *bed, prompt string, more ...string) string {
	line := append(a.program(b), more...)
	return b.host(line[0], append(line[1:], "-p", prompt)...)
}

// program is the command line that all uses have in common.
func (piAgent) program(b *bed) []string {
	script := filepath.Join(b.programs, "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js")
	return []string{node(b, filepath.Dir(b.programs)), script, "--provider", "x", "--model", "scripted"}
}

func (a piAgent) engineLine(b *bed, prompt string, goOn bool) []string {
	line := a.program(b)
	if goOn {
		line = append(line, "--continue")
	}
	return append(line, "-p", prompt)
}

func (piAgent) adapter(b *bed) string {
	return filepath.Join(b.home, ".pi", "agent", "extensions", "lcm.js")
}

func (piAgent) compact(*bed, string) bool { return false }

func (piAgent) records(b *bed) [][]byte { return b.lines(".pi/agent/sessions/*/*.jsonl") }

func (piAgent) rewritten() []string { return nil }

func (piAgent) onlyEngine() {}

// onlyEngine is an agent that has lcm's adapter and neither hooks nor MCP servers.
type onlyEngine interface{ onlyEngine() }

// engined is the story of a user of such an agent: each turn is stored without an import, and
// a new session finds it with the tools.
func (b *bed) engined(h agent) {
	b.Log(h.ask(b, tell))
	b.stored(h.records(b))
	for range 2 {
		told := h.records(b)
		asked := len(b.model.Exchanges())
		b.Log(h.ask(b, recall))
		b.answered(b.model.Exchanges()[asked:])
		b.stored(told)
	}
	b.Log(h.goOn(b, "And now? play:go"))
	b.stored(h.records(b))
	b.exported(h)
}

// enginePi plays what needs a session that stays open: compactions, the command, and an engine
// that is killed between two turns.
func enginePi(t *testing.T, h piAgent) {
	b := newEngineBed(t, h, true, 30)
	p := startPi(b, h)
	p.turn("The harbour gate opens with " + needle + ". play:read12")
	p.turn("Go on. play:read12b")
	asked := len(b.api.Records())
	p.send("compact", nil)
	var result struct{ Summary string }
	if err := json.Unmarshal(p.await("response", "compact"), &result); err != nil || !strings.Contains(result.Summary, "[lcm checkpoint: everything up to msg_") || !strings.Contains(result.Summary, needle) {
		t.Errorf("the compaction is not lcm's: %.2000s, %v", result.Summary, err)
	}
	if n := len(b.api.Records()) - asked; n != 0 {
		t.Errorf("the compaction asks the model %d times", n)
	}
	t.Logf("the summary has %d bytes", len(result.Summary))
	p.turn("Go on. play:read12c")
	if n := b.killEngines(); n != 1 {
		t.Errorf("%d engines were killed", n)
	}
	p.turn("Go on. play:read12d")
	p.send("prompt", map[string]any{"message": "/lcm " + needle})
	if said := string(p.await("extension_ui_request", "notify")); !strings.Contains(said, "msg_") || !strings.Contains(said, needle) {
		t.Errorf("/lcm answers %s", said)
	}
	_ = p.in.Close()
	_ = p.wait()
	sum := b.totals()
	b.valid()
	if sum.Compactions > 0 || sum.Largest > engineBudget {
		t.Errorf("%d compactions, largest request %d", sum.Compactions, sum.Largest)
	}
	b.stored(h.records(b.bed))
	b.exported(h)
}

// piTalk is pi in its RPC mode.
type piTalk struct {
	*runBed
	in   io.WriteCloser
	out  chan map[string]json.RawMessage
	wait func() error
}

func startPi(b *runBed, h piAgent) *piTalk {
	b.Helper()
	c := b.prepared(append(h.program(b.bed), "--mode", "rpc"))
	p := &piTalk{runBed: b, out: make(chan map[string]json.RawMessage, 4096), wait: c.Wait}
	out, err := c.StdoutPipe()
	if err == nil {
		p.in, err = c.StdinPipe()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.start(c)
	go func() {
		defer close(p.out)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			var record map[string]json.RawMessage
			if json.Unmarshal(line, &record) == nil && !strings.Contains(string(record["type"]), "update") {
				p.out <- record
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *piTalk) send(kind string, members map[string]any) {
	p.Helper()
	if members == nil {
		members = map[string]any{}
	}
	members["type"] = kind
	if err := json.NewEncoder(p.in).Encode(members); err != nil {
		p.Fatal(err)
	}
}

// turn has a prompt answered.
func (p *piTalk) turn(prompt string) {
	p.Helper()
	p.send("prompt", map[string]any{"message": prompt})
	p.await("agent_settled", "")
}

// await returns the data of the next record of a type, with this command or method.
func (p *piTalk) await(kind, of string) json.RawMessage {
	p.Helper()
	late := time.After(patience)
	for {
		select {
		case r, ok := <-p.out:
			if !ok {
				p.Fatalf("pi ended before %s %s", kind, of)
			}
			text := func(name string) (s string) { _ = json.Unmarshal(r[name], &s); return s }
			if text("type") != kind || of != "" && text("command") != of && text("method") != of {
				continue
			}
			if kind == "response" {
				return r["data"]
			}
			return r["message"]
		case <-late:
			p.Fatalf("pi does not say %s %s", kind, of)
		}
	}
}
