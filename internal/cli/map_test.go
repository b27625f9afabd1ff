package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

const sizeSchema = `{"type": "object", "properties": {"letters": {"type": "integer"}}, "required": ["letters"]}`

// mapper runs lcm map in a directory of its own, against a scripted model.
type mapper struct {
	t     *testing.T
	model llmtest.Responder
	calls atomic.Int64
}

// newMapper returns a mapper whose model replies to "odd" wrongly at first and to "bad" always.
func newMapper(t *testing.T) *mapper {
	m := &mapper{t: t, model: func(r llms.Request) llmtest.Reply {
		item := strings.Trim(itemOf(r), `"`)
		if strings.HasPrefix(item, "bad") || item == "odd" && !strings.Contains(llmtest.LastUserText(r), "does not fit") {
			return llmtest.Say(`{"letters": "many"}`)
		}
		return llmtest.Say(fmt.Sprintf("```json\n{\"letters\": %d}\n```", len(item)))
	}}
	server := httptest.NewServer(llmtest.NewHandler(func(r llms.Request) llmtest.Reply {
		m.calls.Add(1)
		return m.model(r)
	}))
	t.Cleanup(server.Close)
	t.Chdir(t.TempDir())
	for key, value := range map[string]string{
		"HOME": ".", "XDG_CONFIG_HOME": ".", "LCM_DATABASE_PATH": "lcm.db", "LCM_SYNCHRONOUS": "relaxed", "NO_COLOR": "1",
		"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.URL + "/v1", "LCM_SUBAGENTS_MODEL": "scripted",
	} {
		t.Setenv(key, value)
	}
	m.write("schema.json", sizeSchema)
	m.write("items.jsonl", "\"one\"\n\n\"odd\"\n\"bad\"\n\"three\"\n")
	return m
}

// itemOf returns the item that a request asks about.
func itemOf(r llms.Request) string {
	for _, m := range r.Messages {
		if m.Role == llms.RoleUser {
			return m.PlainText()
		}
	}
	return ""
}

func (m *mapper) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run runs lcm map and tells how many calls it made.
func (m *mapper) run(ctx context.Context, want int, input string, args ...string) (out, errs string, calls int64) {
	m.t.Helper()
	before := m.calls.Load()
	var stdout, stderr bytes.Buffer
	code := run(ctx, newProgram(strings.NewReader(input), &stdout, &stderr), append([]string{"map"}, args...))
	if code != want {
		m.t.Errorf("lcm map %q: exit %d, not %d: %s", args, code, want, stderr.String())
	}
	return stdout.String(), stderr.String(), m.calls.Load() - before
}

func TestMapCommand(t *testing.T) {
	m := newMapper(t)
	args := []string{"items.jsonl", "--prompt", "Count the letters.", "--schema", "schema.json"}
	out, errs, calls := m.run(t.Context(), exitFailure, "", args...)
	lines := strings.Split(out, "\n")
	if len(lines) != 5 || lines[0] != `{"item":0,"output":{"letters":3}}` || lines[1] != `{"item":1,"output":{"letters":3}}` ||
		!strings.HasPrefix(lines[2], `{"item":2,"error":"the reply does not fit: `) || lines[3] != `{"item":3,"output":{"letters":5}}` {
		t.Errorf("output:\n%s", out)
	}
	if calls != 1+2+3+1 {
		t.Errorf("%d calls", calls)
	}
	for _, want := range []string{"warning: item 2: the reply does not fit", "3 of 4 items done, 1 failed, 7 calls", "output in file_", "1 of 4 items failed", "hint: "} {
		if !strings.Contains(errs, want) {
			t.Errorf("standard error lacks %q:\n%s", want, errs)
		}
	}
	again, _, calls := m.run(t.Context(), exitFailure, "", args...)
	if again != out || calls != 0 {
		t.Errorf("the second time: %d calls, output %s", calls, again)
	}
	// The same items from standard input are the same job; another model is another.
	again, _, calls = m.run(t.Context(), exitFailure, "\"one\"\n\"odd\"\r\n \"bad\"\n\"three\"", "-", "-p", "Count the letters.", "--schema", "schema.json")
	if again != out || calls != 0 {
		t.Errorf("from standard input: %d calls, output %s", calls, again)
	}
	if _, _, calls = m.run(t.Context(), exitFailure, "", append(args, "--model", "other")...); calls != 7 {
		t.Errorf("another model: %d calls", calls)
	}
	if _, errs, calls = m.run(t.Context(), exitOK, `"a"`+"\n", "-", "--prompt", "x", "--key", "mine", "--session", "s"); calls != 1 || !strings.Contains(errs, "key mine") {
		t.Errorf("%d calls: %s", calls, errs)
	}
	if _, errs, _ = m.run(t.Context(), exitFailure, `"b"`+"\n", "-", "--prompt", "x", "--key", "mine", "--session", "s"); !strings.Contains(errs, "choose another key") {
		t.Errorf("another job with the key: %s", errs)
	}
	var shown bytes.Buffer
	if code := run(t.Context(), newProgram(nil, &shown, &shown), []string{"grep", `"letters":5`}); code != exitOK || strings.Count(shown.String(), `{"item":3,"output":{"letters":5}}`) != 2 {
		t.Errorf("grep ends with %d: %s", code, shown.String())
	}
	shown.Reset()
	if code := run(t.Context(), newProgram(nil, &shown, &shown), []string{"db", "status"}); code != exitOK || !strings.Contains(shown.String(), "map") {
		t.Errorf("db status ends with %d, without what map cost: %s", code, shown.String())
	}
}

// A job that was interrupted, or has used its budget, goes on with the items that are left.
func TestMapCommandGoesOn(t *testing.T) {
	m := newMapper(t)
	var items, want strings.Builder
	const n = 40
	for i := range n {
		fmt.Fprintf(&items, "%d\n", i)
		fmt.Fprintf(&want, "{\"item\":%d,\"output\":\"<%d>\"}\n", i, i)
	}
	m.write("items.jsonl", items.String())
	ctx, cancel := context.WithCancel(t.Context())
	m.model = func(r llms.Request) llmtest.Reply {
		if m.calls.Load() == 10 {
			cancel()
		}
		return llmtest.Say("<" + itemOf(r) + ">")
	}
	args := []string{"items.jsonl", "--prompt", "Put it in brackets.", "--concurrency", "2"}
	out, errs, calls := m.run(ctx, exitInterrupted, "", args...)
	if out != "" || calls < 10 || calls > 12 || !strings.Contains(errs, "repeating the command goes on") || !strings.Contains(errs, "no output yet") {
		t.Errorf("interrupted: %d calls, output %q, %s", calls, out, errs)
	}
	out, errs, calls = m.run(t.Context(), exitFailure, "", append(args, "--budget", "1")...)
	if out != "" || calls > 2 || !strings.Contains(errs, "a larger --budget goes on") { // two that were interrupted may arrive late
		t.Errorf("the budget: %d calls, output %q, %s", calls, out, errs)
	}
	t.Setenv("LCM_TOKENS_PER_DAY", "1")
	out, errs, calls = m.run(t.Context(), exitFailure, "", args...)
	if out != "" || calls != 0 || !strings.Contains(errs, "the cap is 1") || !strings.Contains(errs, "what is done is kept") {
		t.Errorf("the cap of the day: %d calls, output %q, %s", calls, out, errs)
	}
	t.Setenv("LCM_TOKENS_PER_DAY", "0")
	out, _, calls = m.run(t.Context(), exitOK, "", args...)
	if out != want.String() || calls > n-8 {
		t.Errorf("in the end: %d calls, output\n%s", calls, out)
	}
}

// A command that cannot begin leaves no database behind, and asks nothing.
func TestMapCommandThatCannotBegin(t *testing.T) {
	m := newMapper(t)
	m.write("empty", "\n")
	m.write("text", "\"a\"\nnot JSON\n")
	m.write("noschema.json", `{"type": "letter"}`)
	for _, c := range []struct {
		code int
		says string
		env  string
		args string
	}{
		{exitUsage, "FILE|- is missing", "", "--prompt x"},
		{exitUsage, "--prompt is missing", "", "items.jsonl"},
		{exitUsage, "more than 0", "", "items.jsonl --prompt x --concurrency 0"},
		{exitUsage, "more than 0", "", "items.jsonl --prompt x --budget -1"},
		{exitNotFound, "missing.jsonl", "", "missing.jsonl --prompt x"},
		{exitNotFound, "missing.json", "", "items.jsonl --prompt x --schema missing.json"},
		{exitFailure, "text: line 2 is not JSON", "", "text --prompt x"},
		{exitFailure, "there are no items", "", "empty --prompt x"},
		{exitFailure, "standard input: there are no items", "", "- --prompt x"},
		{exitFailure, "no JSON Schema", "", "items.jsonl --prompt x --schema noschema.json"},
		{exitFailure, "the file is empty", "", "items.jsonl --prompt x --schema empty"},
		{exitConfig, "no model to ask", "LCM_SUBAGENTS_MODEL=", "items.jsonl --prompt x"},
		{exitConfig, "hint: set ANTHROPIC_API_KEY", "", "items.jsonl --prompt x --model claude-x"},
		{exitConfig, "ignore_session_patterns", "LCM_IGNORE_SESSION_PATTERNS=map/*", "items.jsonl --prompt x"},
	} {
		t.Run(c.says, func(t *testing.T) {
			if key, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(key, value)
			}
			out, errs, calls := m.run(t.Context(), c.code, "", strings.Fields(c.args)...)
			if left, err := filepath.Glob("lcm.db*"); err != nil || len(left) > 0 || out != "" || calls != 0 || !strings.Contains(errs, c.says) {
				t.Errorf("leaves %q, makes %d calls, prints %q and says %s", left, calls, out, errs)
			}
		})
	}
}

// What a model says in an error does not act upon a terminal.
func TestMapCommandOnATerminal(t *testing.T) {
	m := newMapper(t)
	m.model = func(r llms.Request) llmtest.Reply {
		if itemOf(r) == "1" {
			return llmtest.Status(413, "too long \x1b[31m")
		}
		return llmtest.Say("fine \u009b31m")
	}
	var stdout, stderr bytes.Buffer
	p := newProgram(strings.NewReader("0\n1\n"), &stdout, &stderr)
	p.terminal, p.progress = true, true
	if code := run(t.Context(), p, []string{"map", "-", "--prompt", "x"}); code != exitFailure {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(stdout.String(), `"fine \`) || strings.ContainsAny(stdout.String(), "\u009b\x1b") {
		t.Errorf("standard output: %q", stdout.String())
	}
	if _, rest, ok := strings.Cut(stderr.String(), "warning: item 1: "); !ok || strings.Contains(rest, "\x1b") || !strings.Contains(stderr.String(), "0/2, 0 failed") {
		t.Errorf("standard error: %q", stderr.String())
	}
}
