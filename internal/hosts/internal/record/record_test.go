//go:build record

package record

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// bed is a machine with nothing on it but one host.
type bed struct {
	*testing.T
	home, work string
	programs   string // node_modules
	lcm        string // the binary
	url        string // of the scripted model
	env        []string
}

func newBed(t *testing.T) *bed {
	server := httptest.NewServer(llmtest.NewHandler(func(r llms.Request) llmtest.Reply {
		reply := model(r)
		if testing.Verbose() {
			var names []string
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
			t.Logf("request: %d messages, tools %v: %.300q → %.100q %v", len(r.Messages), names, llmtest.LastUserText(r), reply.Text, reply.Calls)
		}
		return reply
	}))
	t.Cleanup(server.Close)
	home := filepath.Join(t.TempDir(), "home")
	b := &bed{T: t, home: home, work: filepath.Join(home, "project"), url: server.URL,
		programs: os.Getenv("LCM_RECORD_PROGRAMS"), lcm: os.Getenv("LCM_RECORD_LCM")}
	b.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LCM_DATABASE_PATH=" + filepath.Join(home, "lcm.db"), "LCM_CHILD=1"}
	b.write(filepath.Join(b.work, "notes.txt"), "needle-42\n")
	b.write(filepath.Join(b.work, "empty.txt"), "")
	return b
}

func (b *bed) write(path, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
}

// run runs a program in the project and returns its output.
func (b *bed) run(program string, args ...string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(b.programs, program), args...)
	c.Dir, c.Env = b.work, b.env
	out, err := c.CombinedOutput()
	if err != nil {
		b.Errorf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

const (
	claudeProgram   = "@anthropic-ai/claude-code-linux-x64/claude"
	codexProgram    = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
	opencodeProgram = "opencode-linux-x64/bin/opencode"
	kiloProgram     = "@kilocode/cli-linux-x64/bin/kilo"
)

func TestRecordClaude(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "ANTHROPIC_BASE_URL="+b.url, "ANTHROPIC_API_KEY=anything", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1")
	ask := func(session int, prompt string, more ...string) {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", session)
		args := append([]string{"-p", prompt, "--allowedTools", "Bash,Agent,mcp__lcm__lcm_grep",
			"--mcp-config", `{"mcpServers":{"lcm":{"command":"` + b.lcm + `","args":["mcp"]}}}`}, more...)
		if len(more) == 0 {
			args = append(args, "--session-id", id)
		}
		t.Log(b.run(claudeProgram, args...))
	}
	resume := func(session int) string { return fmt.Sprintf("--resume=00000000-0000-4000-8000-%012d", session) }
	path := func(session int) string {
		found, err := filepath.Glob(filepath.Join(b.home, ".claude", "projects", "*", fmt.Sprintf("00000000-0000-4000-8000-%012d.jsonl", session)))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	ask(1, "Hello. play:hello")
	ask(2, "What do the notes say? play:look")
	ask(3, "Read both files at once. play:both")
	ask(4, "Is the build green? play:delegate")
	ask(5, "What was the needle? play:remember")
	ask(6, "Count for a while. play:flood")
	// The conversation goes back to the answer to the first prompt.
	ask(7, "Hello. play:hello")
	answer := lastMatch(t, path(7), `"type":"assistant","uuid":"([^"]+)"`)
	ask(7, "What do the notes say? play:look", resume(7))
	ask(7, "And the other way? play:other", resume(7), "--resume-session-at="+answer)
	ask(8, "What do the notes say? play:look")
	ask(8, "/compact", resume(8))
	ask(8, "Hello again. play:hello", resume(8))
	b.keep("claude")
	b.export("claude", filepath.Join(b.home, ".claude", "projects"), ".claude/projects")
}

func lastMatch(t *testing.T, path, pattern string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(content), -1)
	if found == nil {
		t.Fatalf("%s: no %s", path, pattern)
	}
	return found[len(found)-1][1]
}

func (b *bed) keep(name string) {
	if dir := os.Getenv("LCM_RECORD_KEEP"); dir != "" {
		if out, err := exec.Command("cp", "-r", b.home, filepath.Join(dir, name)).CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
	}
}

func TestRecordCodex(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "ANY=key")
	b.write(filepath.Join(b.home, ".codex", "config.toml"), `model = "scripted"
model_provider = "x"
[model_providers.x]
name = "x"
base_url = "`+b.url+`/v1"
wire_api = "responses"
env_key = "ANY"
[mcp_servers.lcm]
command = "`+b.lcm+`"
args = ["mcp"]
env = { LCM_CHILD = "1", LCM_DATABASE_PATH = "`+filepath.Join(b.home, "lcm.db")+`" }
default_tools_approval_mode = "approve"
`)
	ask := func(prompt string, more ...string) string {
		args := append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, more...)
		out := b.run(codexProgram, append(args, prompt)...)
		t.Log(out)
		return out
	}
	ask("Hello. play:hello")
	ask("What do the notes say? play:look")
	ask("Read both files at once. play:both")
	ask("Is the build green? play:delegate")
	ask("What was the needle? play:remember")
	out := ask("What do the notes say? play:look")
	id := regexp.MustCompile(`session id: (\S+)`).FindStringSubmatch(out)
	if id != nil {
		ask("Hello again. play:hello", "resume", id[1], "-c", "model_auto_compact_token_limit=100")
	}
	b.keep("codex")
	b.export("codex", filepath.Join(b.home, ".codex", "sessions"), ".codex/sessions")
}

func TestRecordOpencode(t *testing.T) { recordOpencode(t, "opencode", opencodeProgram) }

func TestRecordKilo(t *testing.T) { recordOpencode(t, "kilo", kiloProgram, "--auto") }

// recordOpencode records opencode or a program that was made from it.
func recordOpencode(t *testing.T, host, program string, flags ...string) {
	b := newBed(t)
	b.env = append(b.env, strings.ToUpper(host)+"_DISABLE_MODELS_FETCH=1")
	b.write(filepath.Join(b.home, ".config", host, host+".json"), `{
		"provider": {"x": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "`+b.url+`/v1", "apiKey": "x"},
			"models": {"scripted": {"limit": {"context": 100000, "output": 4000}}}}},
		"model": "x/scripted", "autoupdate": false, "share": "disabled",
		"mcp": {"lcm": {"type": "local", "command": ["`+b.lcm+`", "mcp"], "enabled": true}}}`)
	ask := func(prompt string, more ...string) {
		t.Log(b.run(program, slices.Concat([]string{"run"}, flags, more, []string{prompt})...))
	}
	ask("Hello. play:hello")
	ask("What do the notes say? play:look")
	ask("Is the build green? play:delegate")
	ask("What was the needle? play:remember")
	b.keep(host)
	b.dump(host, filepath.Join(b.home, ".local", "share", host, host+".db"), "time_created, id", "session", "message", "part", "session_message")
}
