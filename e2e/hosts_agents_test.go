//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// claudeAgent is Claude Code.
type claudeAgent struct{}

func (claudeAgent) name() string { return "claude" }

func (claudeAgent) prepare(b *bed) {
	b.env = append(b.env, "ANTHROPIC_BASE_URL="+b.url, "ANTHROPIC_API_KEY=anything", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1")
	b.write(filepath.Join(b.home, ".claude", "settings.json"), "{\n    \"cleanupPeriodDays\": 99,\n    \"hooks\": {}\n}\n")
	b.write(filepath.Join(b.home, ".claude", "CLAUDE.md"), "# Mine\n")
}

func (claudeAgent) trust(*bed) {} // the user's own settings need none

func (a claudeAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a claudeAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, "--continue") }

func (claudeAgent) program(b *bed) string {
	return filepath.Join(b.programs, "@anthropic-ai", "claude-code-linux-x64", "claude")
}

func (a claudeAgent) run(b *bed, prompt string, more ...string) string {
	args := append([]string{"-p", prompt, "--output-format", "json",
		"--allowedTools", "Bash,mcp__lcm__" + strings.Join(everyTool(), ",mcp__lcm__")}, more...)
	return b.host(a.program(b), args...)
}

func (a claudeAgent) compact(b *bed, prompt string) bool {
	b.Log(a.goOn(b, "/compact"))
	b.Log(a.goOn(b, prompt))
	return true
}

func (claudeAgent) records(b *bed) [][]byte { return b.lines(".claude/projects/*/*.jsonl") }

// It keeps its own counters beside the MCP servers.
func (claudeAgent) rewritten() []string { return []string{".claude.json"} }

// codexAgent is the Codex CLI.
type codexAgent struct{}

func (codexAgent) name() string { return "codex" }

func (codexAgent) program(b *bed) string {
	return filepath.Join(b.programs, "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex")
}

func (codexAgent) prepare(b *bed) {
	b.env = append(b.env, "ANY=key")
	b.write(filepath.Join(b.home, ".codex", "config.toml"), `model = "scripted" # not a real one
model_provider = "x"

[model_providers.x]
name = "x"
base_url = "`+b.url+`/v1"
wire_api = "responses"
env_key = "ANY"
`)
}

func (a codexAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a codexAgent) goOn(b *bed, prompt string) string { return a.run(b, "resume", "--last", prompt) }

func (a codexAgent) run(b *bed, args ...string) string {
	return b.host(a.program(b), append([]string{"exec", "--skip-git-repo-check"}, args...)...)
}

// compact has it compact before the turn, because there is more in the context
// than it is allowed.
func (a codexAgent) compact(b *bed, prompt string) bool {
	b.Log(a.run(b, "resume", "--last", "-c", "model_auto_compact_token_limit=100", prompt))
	return true
}

func (codexAgent) records(b *bed) [][]byte { return b.lines(".codex/sessions/*/*/*/rollout-*.jsonl") }

// Trust is written beside the settings.
func (codexAgent) rewritten() []string { return []string{".codex/config.toml"} }

// trust does what the dialogue /hooks does when the user trusts what it shows:
// the same two requests to the same server.
func (a codexAgent) trust(b *bed) {
	s := startAppServer(b, a.program(b))
	defer s.end()
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "e2e", "version": "1"}}, nil)
	s.notify("initialized")
	var list struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash, TrustStatus, Command string }
		}
	}
	s.call("hooks/list", map[string]any{"cwds": []string{b.work}}, &list)
	trusted := map[string]any{}
	for _, d := range list.Data {
		for _, h := range d.Hooks {
			if h.TrustStatus != "untrusted" {
				b.Errorf("hook %s (%s) is %s before anybody was asked", h.Key, h.Command, h.TrustStatus)
			}
			trusted[h.Key] = map[string]any{"trusted_hash": h.CurrentHash}
		}
	}
	if len(trusted) == 0 {
		b.Fatal("Codex sees no hooks")
	}
	s.call("config/batchWrite", map[string]any{"edits": []any{map[string]any{"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}}}, nil)
}

// appServer speaks the protocol of Codex's own user interfaces.
type appServer struct {
	*testing.T
	in  *json.Encoder
	out *bufio.Scanner
	end func()
	id  int
}

func startAppServer(b *bed, program string) *appServer {
	c := exec.CommandContext(b.Context(), program, "app-server")
	c.Dir, c.Env = b.work, b.env
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 8<<20)
	return &appServer{T: b.T, in: json.NewEncoder(in), out: lines, end: func() { _ = in.Close(); _ = c.Wait() }}
}

func (s *appServer) notify(method string) {
	s.Helper()
	if err := s.in.Encode(map[string]any{"jsonrpc": "2.0", "method": method}); err != nil {
		s.Fatal(err)
	}
}

func (s *appServer) call(method string, params, to any) {
	s.Helper()
	s.id++
	if err := s.in.Encode(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params}); err != nil {
		s.Fatal(err)
	}
	for s.out.Scan() {
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil || answer.ID == nil || *answer.ID != s.id {
			continue // something that it tells on its own account
		}
		if answer.Error != nil {
			s.Fatalf("%s: %s", method, answer.Error)
		}
		if to != nil {
			if err := json.Unmarshal(answer.Result, to); err != nil {
				s.Fatal(err)
			}
		}
		return
	}
	s.Fatal(fmt.Sprintf("%s: no answer", method), s.out.Err())
}
