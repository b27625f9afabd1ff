package cli

import (
	"bytes"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

// planted is a secret in a stored message.
type planted struct{ name, secret string }

// plantSecrets writes a session with every format in two of the carriers, one a message, that
// masking is known to find; TestFormats masks each in all carriers. The first ones, so many as
// encoded says, are in an encoding. The last message writes a file with those in a text.
func plantSecrets(t *testing.T, path string) (all []planted, encoded int, file string) {
	t.Helper()
	var lines bytes.Buffer
	random := rand.New(rand.NewPCG(28, 4))
	masks := privacy.Redactor{Secrets: true}
	plant := func(name, text, secret string, message map[string]any) {
		if clean, _ := masks.Text([]byte(text)); clean == nil || redacttest.Shows(string(clean), secret) {
			return // TestFormats counts these
		}
		all = append(all, planted{name, telling(secret)})
		line, err := jsonstring.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	formats := redacttest.Read(t, "../privacy/testdata/formats.txt")
	for i, f := range formats {
		name := []string{"base64", "hex"}[i%2]
		if text, secret := redacttest.Encoders[name](f.Fill(random)); len(secret) > 12 {
			plant(f.Name+" in "+name, text, secret, map[string]any{"role": "user", "content": text})
		}
	}
	encoded = len(all)
	carriers := [][]string{{"plain text", "JSON"}, {"YAML block", "TOML"}, {"tool arguments", "tool result"}}
	for i, f := range formats {
		for _, carrier := range carriers[i%len(carriers)] {
			text, secret := f.Fill(random)
			text = redacttest.Carriers[carrier](text)
			id := fmt.Sprint("call", i)
			message := map[string]any{"role": "user", "content": text}
			switch carrier {
			case "tool arguments":
				message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
					map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "run", "arguments": text}}}}
			case "tool result":
				message = map[string]any{"role": "tool", "tool_call_id": id, "content": text}
			}
			before := len(all)
			plant(f.Name+" in "+carrier, text, secret, message)
			if carrier == "plain text" && len(all) > before {
				file += fmt.Sprintf("about %s:\n%s\n\n", f.Name, text)
			}
		}
	}
	for _, name := range []string{"planted.txt", ".env"} {
		wrote, err := jsonstring.Marshal(map[string]any{"file_path": name, "content": file})
		if err != nil {
			t.Fatal(err)
		}
		line, err := jsonstring.Marshal(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
			map[string]any{"id": name, "type": "function", "function": map[string]any{"name": "Write", "arguments": string(wrote)}}}})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return all, encoded, file
}

// telling returns the part of a secret that is looked for: within a line, because lines
// may be indented, and in the middle of a long one, because its ends may be cut off.
func telling(secret string) string {
	longest := ""
	for line := range strings.Lines(redacttest.Plain(secret)) {
		if line = strings.Trim(line, "\\\n"); len(line) > len(longest) {
			longest = line
		}
	}
	if n := len(longest); n > 60 {
		return longest[n/2-15 : n/2+15]
	}
	return longest
}

// noSurface are the commands that show nothing of a record, with the reason.
var noSurface = map[string]string{
	"lcm setup": "writes settings of hosts", "lcm config get": "settings", "lcm config set": "settings", "lcm version": "the version",
	"lcm completion bash": "a script", "lcm completion zsh": "a script", "lcm completion fish": "a script", "lcm completion powershell": "a script",
	"lcm team token add": "tokens", "lcm team token revoke": "tokens",
	"lcm db copy": "stores what it reads", "lcm db backup": "stores what it reads", "lcm db restore": "stores what it reads", "lcm db export": "an archive has the record as it is",
	"lcm demo": "a record of its own", "lcm map": "sends items that are typed for it",
}

// Every secret that masking finds in a text is masked wherever a stored message, or a line of a
// file, is shown or sent, with the default settings, and still in the record. The commands, the
// tools and the pages are listed by the program: a new one fails until it is here.
func TestNoSurfaceShowsASecret(t *testing.T) {
	tm := newTeam(t)
	stored := filepath.Join(tm.dir, "secrets.jsonl")
	secrets, encoded, file := plantSecrets(t, stored)
	n := len(secrets) - encoded
	t.Logf("%d secrets, %d of them encoded", len(secrets), encoded)
	tm.project(file)
	imported := tm.run("laptop1", nil, "import", stored)
	run := func(args ...string) func() string {
		return func() string { return tm.run("laptop1", nil, args...) }
	}
	hook := func(event string) func() string {
		return func() string { return tm.typed(event, "hook", "claude") }
	}
	surfaces := []struct {
		name  string // begins with the command
		marks int    // how many marks there are at least, so that an empty output does not pass
		read  func() string
	}{
		{"import", 0, func() string { return imported }},
		{"conversations", 0, run("conversations", "--json")},
		{"grep .", 50, run("grep", ".", "-n", "200")},
		{"grep, all pages", n, func() string { return tm.pages("laptop1", "grep", "(?s).+", "--scope", "messages") }},
		{"grep -F", n / 4, func() string {
			return tm.pages("laptop1", "grep", "-F", "password token key secret", "--scope", "messages")
		}},
		{"show --full", n, run("show", "1", "--full", "--limit", "0")},
		{"show --json", n, run("show", "1", "--json", "--full")},
		{"show --tree", 0, run("show", "1", "--tree")},
		{"show --html", n, func() string { return tm.html() }},
		{"describe", 10, func() string { return tm.described(encoded, len(secrets)) }},
		{"why of a file", 0, run("why", "planted.txt", "--json")},
		{"why of a line", 1, func() string { return tm.whyLines(file) }},
		{"context", n, run("context", "1", "--budget", "2000000")},
		{"context --json", n, run("context", "1", "--budget", "2000000", "--json")},
		{"context --openai", n, run("context", "1", "--budget", "2000000", "--openai")},
		{"context --anthropic", n, run("context", "1", "--budget", "2000000", "--anthropic")},
		{"context --items", 0, run("context", "1", "--budget", "2000000", "--items")},
		{"context --brief", 0, run("context", "--brief")},
		{"ui", 2 * n, func() string { return tm.explorer(len(secrets)) }},
		{"mcp", n, func() string { return tm.mcpAnswers(len(secrets), file) }},
		{"engine", 20, func() string { return tm.engineAnswers() }},
		{"hook, a start", 0, hook(`{"hook_event_name":"SessionStart","session_id":"x","cwd":".","source":"startup"}`)},
		{"hook, a compaction", 0, hook(`{"hook_event_name":"SessionStart","session_id":"secrets","cwd":".","source":"compact"}`)},
		{"hook, a prompt", 0, hook(`{"hook_event_name":"UserPromptSubmit","session_id":"x","cwd":".","prompt":"Which password did we use for the database last time?"}`)},
		{"statusline", 0, func() string { return tm.typed(`{"session_id":"secrets"}`, "statusline") }},
		{"run --list", 0, run("run", "--list", "--json")},
		{"undelete", 0, run("undelete")},
		{"forget --dry-run", 0, run("forget", "1", "--dry-run")},
		{"verify", 0, run("verify", "--all")},
		{"doctor", 0, run("doctor")},
		{"db status", 0, run("db", "status")},
		{"sync", n, func() string {
			tm.run("laptop1", nil, "sync")
			return tm.wire.sent.String()
		}},
		{"grep --team", n / 4, func() string { return tm.pages("laptop3", "grep", "--team", "(?s).+", "--scope", "messages") }},
		{"team serve", 0, func() string {
			return tm.run("laptop3", nil, "ask", "--team", "Which password, token and key?", "--json")
		}},
		{"team audit", 0, func() string { return tm.run("server", nil, "team", "audit") }},
		{"team token list", 0, func() string { return tm.run("server", nil, "team", "token", "list") }},
		{"context --fold", 1, run("context", "1", "--budget", "16000", "--fold")},
		{"compact", 0, run("compact", "1", "--budget", "8000")},
		{"describe --expand", n, func() string { return tm.expanded() }},
		{"ask --evidence", 5, run("ask", "--evidence", "--json", "Which password, token and key?", "--max-tokens", "16000")},
	}
	for path := range leaves(newRoot(newProgram(nil, &bytes.Buffer{}, &bytes.Buffer{}))) {
		shown := false
		for _, s := range surfaces {
			shown = shown || strings.HasPrefix("lcm "+strings.ReplaceAll(s.name, ",", "")+" ", path+" ")
		}
		if shown == (noSurface[path] != "") {
			t.Errorf("%s is new: add what it shows to the surfaces, or to noSurface why it shows nothing", path)
		}
	}
	for _, s := range surfaces {
		t.Run(s.name, func(t *testing.T) {
			out := s.read()
			if marks := strings.Count(out, "[redacted"); marks < s.marks {
				t.Errorf("%d marks in %d bytes, want %d: it does not show what is searched for secrets", marks, len(out), s.marks)
			}
			leaks := leaked(out, secrets)
			for _, l := range leaks[:min(len(leaks), 10)] {
				t.Errorf("shows the secret of %s: %s", l.name, l.secret)
			}
			if len(leaks) > 10 {
				t.Errorf("%d of %d secrets", len(leaks), len(secrets))
			}
		})
	}
	if kept := leaked(tm.run("laptop1", nil, "show", "1", "--raw"), secrets); len(kept) != len(secrets) {
		t.Errorf("the record has only %d of %d secrets, or they are not found", len(kept), len(secrets))
		for _, s := range secrets {
			if !slices.Contains(kept, s) {
				t.Error(s)
			}
		}
	}
}

// leaked returns the secrets that an output has, in whatever way it escapes them.
func leaked(out string, secrets []planted) (leaks []planted) {
	const head = 6 // bytes that a secret is looked up by: there are thousands, and megabytes to search
	begin := map[string][]planted{}
	for _, s := range secrets {
		begin[s.secret[:head]] = append(begin[s.secret[:head]], s)
	}
	out = redacttest.Plain(strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(html.UnescapeString(out)))
	seen := map[planted]bool{}
	for i := range max(0, len(out)-head) {
		for _, s := range begin[out[i:i+head]] {
			if !seen[s] && strings.HasPrefix(out[i:], s.secret) {
				seen[s], leaks = true, append(leaks, s)
			}
		}
	}
	return leaks
}
