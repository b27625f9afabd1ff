package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/record/redact"
	"github.com/lossless-context/lcm/internal/record/redact/redacttest"
)

// planted is a secret in a stored message.
type planted struct{ name, secret string }

// plantSecrets writes a session with every format in two of the carriers, one a message, that
// masking is known to find; TestFormats masks each in all carriers. The first ones, so many as
// encoded says, are in an encoding.
func plantSecrets(t *testing.T, path string) (all []planted, encoded int) {
	t.Helper()
	var lines bytes.Buffer
	random := rand.New(rand.NewPCG(28, 4))
	masks := redact.Redactor{Secrets: true}
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
	formats := redacttest.Read(t, "../record/redact/testdata/formats.txt")
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
			plant(f.Name+" in "+carrier, text, secret, message)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return all, encoded
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

// Every secret that masking finds in a text is masked wherever a stored message is shown
// or sent, with the default settings, and still in the record.
func TestNoSurfaceShowsASecret(t *testing.T) {
	tm := newTeam(t)
	file := filepath.Join(tm.dir, "secrets.jsonl")
	secrets, encoded := plantSecrets(t, file)
	n := len(secrets) - encoded
	t.Logf("%d secrets, %d of them encoded", len(secrets), encoded)
	imported := tm.run("laptop1", nil, "import", file)
	surfaces := []struct {
		name  string
		marks int // how many marks there are at least, so that an empty output does not pass
		read  func() string
	}{
		{"import", 0, func() string { return imported }},
		{"conversations", 0, func() string { return tm.run("laptop1", nil, "conversations", "--json") }},
		{"grep .", 50, func() string { return tm.run("laptop1", nil, "grep", ".", "-n", "200") }},
		{"grep, all pages", n, func() string { return tm.pages("laptop1", "grep", "(?s).+", "--scope", "messages") }},
		{"grep -F", n / 4, func() string {
			return tm.pages("laptop1", "grep", "-F", "password token key secret", "--scope", "messages")
		}},
		{"show --full", n, func() string { return tm.run("laptop1", nil, "show", "1", "--full", "--limit", "0") }},
		{"show --json", n, func() string { return tm.run("laptop1", nil, "show", "1", "--json", "--full") }},
		{"describe", 10, func() string { return tm.described(encoded, len(secrets)) }},
		{"show --html", n, func() string { return tm.html() }},
		{"context", n, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "2000000") }},
		{"context --json", n, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "2000000", "--json") }},
		{"context --openai", n, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "2000000", "--openai") }},
		{"context --anthropic", n, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "2000000", "--anthropic") }},
		{"context --items", 0, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "2000000", "--items") }},
		{"ui", 2 * n, func() string { return tm.explorer(len(secrets)) }},
		{"mcp", n, func() string { return tm.mcpAnswers(len(secrets)) }},
		{"embed", n / 2, func() string { return tm.embedded() }},
		{"sync", n, func() string {
			tm.run("laptop1", nil, "sync")
			return tm.wire.sent.String()
		}},
		{"grep --team", n / 4, func() string { return tm.pages("laptop3", "grep", "--team", "(?s).+", "--scope", "messages") }},
		{"context --fold", 1, func() string { return tm.run("laptop1", nil, "context", "1", "--budget", "16000", "--fold") }},
		{"describe --expand", n, func() string { return tm.expanded() }},
		{"ask --evidence", 5, func() string {
			return tm.run("laptop1", nil, "ask", "--evidence", "--json", "Which password, token and key?", "--max-tokens", "16000")
		}},
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

// pages returns all pages of a search.
func (tm *team) pages(machine string, args ...string) string {
	tm.t.Helper()
	var all strings.Builder
	for cursor := ""; ; {
		page := tm.run(machine, nil, append(args, "--json", "-n", "200", "--cursor="+cursor)...)
		all.WriteString(page)
		var answer struct{ NextCursor string }
		if err := json.Unmarshal([]byte(page), &answer); err != nil {
			tm.t.Fatal(err)
		}
		if cursor = answer.NextCursor; cursor == "" {
			return all.String()
		}
	}
}

// described returns what lcm describe prints of seven of the messages with encoded secrets, and
// of seven of the others.
func (tm *team) described(encoded, messages int) string {
	tm.t.Helper()
	var all strings.Builder
	for i := range 7 {
		for _, message := range []int{1 + i*encoded/7, encoded + 1 + i*(messages-encoded)/7} {
			for _, form := range [][]string{{}, {"--json"}, {"--raw"}} {
				all.WriteString(tm.run("laptop1", nil, append([]string{"describe", fmt.Sprint("msg_", message)}, form...)...))
			}
		}
	}
	return all.String()
}

// expanded returns what lcm describe --expand prints beneath the summaries of a folded context.
func (tm *team) expanded() string {
	tm.t.Helper()
	folded := tm.run("laptop1", nil, "context", "1", "--budget", "16000", "--fold")
	ids := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`sum_[0-9a-f]{16}`).FindAllString(folded, -1))))
	all := tm.run("laptop1", nil, append(append([]string{"describe"}, ids...), "--expand")...)
	return all + tm.run("laptop1", nil, append(append([]string{"describe"}, ids...), "--expand", "--json")...)
}

// html returns the pages of lcm show --html.
func (tm *team) html() string {
	tm.t.Helper()
	dir := filepath.Join(tm.dir, "pages")
	if err := os.Mkdir(dir, 0o700); err != nil {
		tm.t.Fatal(err)
	}
	tm.run("laptop1", nil, "show", "1", "--html", filepath.Join(dir, "session.html"))
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	return all.String()
}

// explorer returns the pages of a session in lcm ui, and their JSON.
func (tm *team) explorer(messages int) string {
	tm.t.Helper()
	c := tm.command("laptop1", nil, "ui", "--no-open")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		tm.t.Fatal(err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	var link string
	if _, err := fmt.Fscanln(out, &link); err != nil {
		tm.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(url string) string {
		got, err := browser.Get(url)
		if err != nil {
			tm.t.Fatal(err)
		}
		defer got.Body.Close()
		body, err := io.ReadAll(got.Body)
		if err != nil || got.StatusCode != http.StatusOK {
			tm.t.Fatalf("%s: %s, %v", url, got.Status, err)
		}
		return string(body)
	}
	get(link)
	site := regexp.MustCompile(`^http://[^/]+`).FindString(link)
	var all strings.Builder
	for _, path := range []string{"/", "/session/1/map", "/session/1/stored", "/session/1/context", "/search?q=password"} {
		all.WriteString(get(site + path))
	}
	for _, page := range []string{"/session/1?after=", "/api/session/1?after="} {
		for after := 0; after < messages; after += 40 {
			all.WriteString(get(site + page + strconv.Itoa(after)))
		}
	}
	return all.String()
}

// mcpAnswers returns what an agent is told of every message by lcm mcp.
func (tm *team) mcpAnswers(messages int) string {
	tm.t.Helper()
	ctx := tm.t.Context()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, &mcp.CommandTransport{Command: tm.command("laptop1", nil, "mcp")}, nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	defer client.Close()
	var all strings.Builder
	call := func(tool string, args map[string]any) {
		answer, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || answer.IsError {
			tm.t.Fatalf("%s %v: %v, %v", tool, args, answer, err)
		}
		text, err := jsonstring.Marshal(answer)
		if err != nil {
			tm.t.Fatal(err)
		}
		all.Write(text)
	}
	for _, pattern := range []string{".", "password", "token", "key"} {
		call("lcm_grep", map[string]any{"pattern": pattern, "allConversations": true, "limit": 200})
	}
	call("lcm_expand_query", map[string]any{"prompt": "Which password?", "query": "password token"})
	for i := range messages {
		call("lcm_describe", map[string]any{"id": fmt.Sprint("msg_", i+1), "allConversations": true})
	}
	return all.String()
}

// embedded returns what lcm db embed sends to the embedding model.
func (tm *team) embedded() string {
	tm.t.Helper()
	var mu sync.Mutex
	var sent strings.Builder
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			tm.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		var data []string
		for i, text := range body.Input {
			sent.WriteString(text + "\n")
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1,%d]}`, i, len(text)%7))
		}
		fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":5}}`, strings.Join(data, ","))
	}))
	defer model.Close()
	tm.run("laptop1", []string{"LCM_EMBEDDINGS_MODEL=m", "LCM_EMBEDDINGS_BASE_URL=" + model.URL + "/v1"}, "db", "embed")
	return sent.String()
}
