//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
)

// piAgent is pi, which has neither MCP servers nor hooks.
type piAgent struct{}

func (piAgent) name() string { return "pi" }

func (piAgent) prepare(b *bed) {
	b.env = append(b.env, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1")
	b.write(filepath.Join(b.home, ".pi", "agent", "models.json"), `{"providers": {"x": {"baseUrl": "`+b.url+`/v1", "api": "openai-completions",
		"apiKey": "x", "models": [{"id": "scripted", "contextWindow": 100000, "maxTokens": 4000}]}}}`)
}

func (piAgent) trust(*bed) {}

func (a piAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a piAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, "--continue") }

func (piAgent) run(b *bed, prompt string, more ...string) string {
	script := filepath.Join(b.programs, "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js")
	args := append([]string{script, "--provider", "x", "--model", "scripted"}, more...)
	return b.host(node(b, filepath.Dir(b.programs)), append(args, "-p", prompt)...)
}

func (piAgent) compact(*bed, string) bool { return false }

func (piAgent) records(b *bed) [][]byte { return b.lines(".pi/agent/sessions/*/*.jsonl") }

func (piAgent) rewritten() []string { return nil }

// readOnly is the story of a user of an agent that lcm can only read: each import has what is
// new, and the command line finds it.
func (b *bed) readOnly(h agent) {
	b.Log(h.ask(b, tell))
	for _, prompt := range []string{"Hello. play:go", "And now? play:go"} {
		b.Log(b.run(b.lcm, "import", h.name()))
		b.stored(h.records(b))
		if out := b.run(b.lcm, "grep", "harbour"); !strings.Contains(out, needle) {
			b.Errorf("lcm grep finds %s", out)
		}
		b.Log(h.goOn(b, prompt))
	}
	b.Log(b.run(b.lcm, "import", h.name()))
	b.exported(h)
}
