//go:build e2e

package e2e

import "path/filepath"

// copilotAgent is GitHub's Copilot CLI. Its model API is OpenAI's Chat Completions, or that
// of wire: "responses" or "anthropic".
type copilotAgent struct{ wire string }

func (copilotAgent) name() string { return "copilot" }

func (a copilotAgent) prepare(b *bed) {
	b.env = append(b.env, "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL="+b.url+"/v1", "COPILOT_MODEL=scripted", "COPILOT_AUTO_UPDATE=false")
	switch a.wire {
	case "responses":
		b.env = append(b.env, "COPILOT_PROVIDER_WIRE_API=responses")
	case "anthropic":
		b.env = append(b.env, "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL="+b.url, "COPILOT_PROVIDER_API_KEY=any")
	}
	b.write(filepath.Join(b.home, ".copilot", "mcp-config.json"), "{\n\t\"mcpServers\": {}\n}\n")
	b.write(filepath.Join(b.home, ".copilot", "hooks", "mine.json"), `{"version": 1, "hooks": {"agentStop": [{"type": "command", "bash": "true"}]}}`)
}

func (copilotAgent) trust(*bed) {} // the user's own hooks need none

func (a copilotAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a copilotAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, "--continue") }

func (copilotAgent) program(b *bed) string {
	return filepath.Join(b.programs, "@github", "copilot-linux-x64", "copilot")
}

func (a copilotAgent) run(b *bed, prompt string, more ...string) string {
	return b.host(a.program(b), append([]string{"-p", prompt, "--allow-all-tools"}, more...)...)
}

func (a copilotAgent) line(b *bed, prompt string, goOn bool) []string {
	args := []string{a.program(b), "-p", prompt, "--allow-all-tools"}
	if goOn {
		args = append(args, "--continue")
	}
	return args
}

func (a copilotAgent) compact(b *bed, prompt string) bool {
	b.Log(a.goOn(b, "/compact"))
	b.Log(a.goOn(b, prompt))
	return true
}

func (copilotAgent) records(b *bed) [][]byte { return b.lines(".copilot/session-state/*/events.jsonl") }

func (copilotAgent) rewritten() []string { return nil }
