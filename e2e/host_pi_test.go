//go:build e2e

package e2e

import "path/filepath"

// piAgent is pi, with lcm's extension.
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

func (piAgent) engined() {}

// engined is an agent whose context lcm owns by an extension. It has neither hooks nor MCP servers.
type engined interface {
	agent
	engined()
}

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
