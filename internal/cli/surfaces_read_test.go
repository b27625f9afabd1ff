package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	paths := map[string][]string{
		"/{$}": {"/"}, "/session/{id}/map": {"/session/1/map"}, "/session/{id}/stored": {"/session/1/stored"}, "/session/{id}/context": {"/session/1/context"},
		"/session/{id}/sent": {"/session/1/sent"}, "/search": {"/search?q=password"}, "/session/{id}/export": {"/session/1/export"},
		"/why": {"/why?file=planted.txt&session=1&now=1", "/api/why?file=planted.txt&session=1", "/why?file=.env&session=1&now=1", "/api/why?file=.git/config&session=1"},
		// Those that a page leads to, events and what is not of the record.
		"/summary/{id}": nil, "/file/{id}": nil, "/file/{id}/content": nil, "/session/{id}/events": nil, "/assets/{run}/{name}": nil, "/": nil,
	}
	for _, page := range []string{"/session/1?after=", "/api/session/1?after="} {
		for after := 0; after < messages; after += 40 {
			paths["/session/{id}"] = append(paths["/session/{id}"], page+strconv.Itoa(after))
		}
	}
	for id := 1; id < messages; id += 40 {
		paths["/message/{id}"] = append(paths["/message/{id}"], fmt.Sprint("/message/msg_", id), fmt.Sprint("/api/message/msg_", id))
	}
	source, err := os.ReadFile("../ui/server.go")
	if err != nil {
		tm.t.Fatal(err)
	}
	for _, route := range regexp.MustCompile(`mux(?:, |\.HandleFunc\()"(?:GET )?(/[^"]*)",`).FindAllStringSubmatch(string(source), -1) {
		if _, ok := paths[route[1]]; !ok {
			tm.t.Errorf("%s is a new page of the explorer: add it here", route[1])
		}
	}
	for _, path := range slices.Concat(slices.Collect(maps.Values(paths))...) {
		all.WriteString(get(site + path))
	}
	return all.String()
}

// toolCalls returns calls of a tool for models, by its name.
func (tm *team) toolCalls(tool string, messages int, file string) (calls []map[string]any) {
	tm.t.Helper()
	switch tool {
	case "lcm_grep":
		for _, pattern := range []string{".", "password", "token", "key"} {
			calls = append(calls, map[string]any{"pattern": pattern, "allConversations": true, "limit": 200})
		}
	case "lcm_expand_query":
		calls = append(calls, map[string]any{"prompt": "Which password?", "query": "password token"})
	case "lcm_describe":
		for i := range messages {
			calls = append(calls, map[string]any{"id": fmt.Sprint("msg_", i+1), "allConversations": true})
		}
	case "expand":
		for _, name := range toolname.Agent() {
			calls = append(calls, map[string]any{"subject_type": "tool", "subject_name": name})
		}
	case "lcm_why":
		calls = append(calls, map[string]any{"file": "planted.txt"}, map[string]any{"file": ".env"})
		for line := 1; line <= strings.Count(file, "\n"); line += 3 {
			calls = append(calls, map[string]any{"file": "planted.txt", "line": line})
		}
		for _, name := range []string{".env", "typed.txt", ".git/config"} {
			for line := range 6 {
				calls = append(calls, map[string]any{"file": name, "line": line + 1})
			}
		}
	default:
		tm.t.Errorf("the tool %s is new: add calls of it", tool)
	}
	return calls
}

// mcpAnswers returns what an agent is told of every message, and of the lines of files, by lcm mcp.
func (tm *team) mcpAnswers(messages int, file string) string {
	tm.t.Helper()
	ctx := tm.t.Context()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, &mcp.CommandTransport{Command: tm.command("laptop1", nil, "mcp")}, nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListTools(ctx, nil)
	if err != nil {
		tm.t.Fatal(err)
	}
	var all strings.Builder
	for _, tool := range list.Tools {
		for _, args := range tm.toolCalls(tool.Name, messages, file) {
			answer, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil || answer.IsError && tool.Name != "lcm_why" {
				tm.t.Fatalf("%s %v: %v, %v", tool.Name, args, answer, err)
			}
			text, err := jsonstring.Marshal(answer)
			if err != nil {
				tm.t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// engineAnswers returns what lcm engine tells an adapter that asks with each of its tools.
func (tm *team) engineAnswers() string {
	tm.t.Helper()
	const hello = `{"id":"h","verb":"hello","protocols":[1,2],"host":"loop","dir":"."}`
	var greeting struct {
		OK struct{ Tools []struct{ Verb, Name string } }
	}
	if err := json.Unmarshal([]byte(tm.typed(hello+"\n", "engine")), &greeting); err != nil || len(greeting.OK.Tools) == 0 {
		tm.t.Fatalf("%+v: %v", greeting, err)
	}
	requests := hello + "\n"
	for _, tool := range greeting.OK.Tools {
		for i, args := range tm.toolCalls(tool.Name, 20, "") {
			line, err := jsonstring.Marshal(map[string]any{"id": fmt.Sprint(tool.Verb, i), "verb": tool.Verb, "session": "s", "arguments": args})
			if err != nil {
				tm.t.Fatal(err)
			}
			requests += string(line) + "\n"
		}
	}
	return tm.typed(requests, "engine")
}

// typed returns the output of a command that reads standard input.
func (tm *team) typed(in string, args ...string) string {
	tm.t.Helper()
	c := tm.command("laptop1", nil, args...)
	c.Stdin = strings.NewReader(in)
	out, err := c.Output()
	if err != nil {
		tm.t.Fatalf("lcm %v: %v", args, err)
	}
	return string(out)
}

// project writes files with secrets into the project: one that the agent wrote, one that git
// ignores, one that nobody of the record wrote, and git's own.
func (tm *team) project(file string) {
	tm.t.Helper()
	dir := filepath.Join(tm.dir, "app")
	for _, part := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", part), 0o700); err != nil {
			tm.t.Fatal(err)
		}
	}
	config := "[remote \"origin\"]\n\turl = https://github.com/acme/app.git\n# " + strings.ReplaceAll(file, "\n", "\n# ") + "\n"
	for name, text := range map[string]string{"planted.txt": file, ".env": file, "typed.txt": "typed:\n" + file, ".gitignore": ".env\n", ".git/config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tm.t.Fatal(err)
		}
	}
}

// whyLines returns what lcm why prints of some lines. It may refuse.
func (tm *team) whyLines(file string) string {
	var all strings.Builder
	for name, lines := range map[string]int{"planted.txt": strings.Count(file, "\n"), ".env": 8, "typed.txt": 8, ".git/config": 8} {
		for line := 1; line <= lines; line += max(1, lines/8) {
			for _, form := range [][]string{nil, {"--json"}} {
				out, _ := tm.command("laptop1", nil, append(form, "why", fmt.Sprint(name, ":", line))...).CombinedOutput()
				all.Write(out)
			}
		}
	}
	return all.String()
}
