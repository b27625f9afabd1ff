package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// shorten asks how an output is handed on.
func (a *adapter) shorten(members map[string]any) string {
	a.t.Helper()
	var got struct{ Text string }
	if err := json.Unmarshal(a.ask("shorten", members), &got); err != nil {
		a.t.Fatal(err)
	}
	return got.Text
}

// TestShorten: a large output is handed on in part, and all of it is in the record, where the
// model reads the rest by line or pattern.
func TestShorten(t *testing.T) {
	var lines []string
	for i := range 9000 {
		lines = append(lines, fmt.Sprintf("line %d of the build: compiled harbour%d", i+1, i))
	}
	lines[4000] = "main.go:12: error: the gate opens with TANGERINE"
	for name, output := range map[string]string{"a message": strings.Join(lines[3500:4200], "\n"), "a file": strings.Join(lines, "\n") + "\n", "one line": strings.Repeat("wörd ", 9000)} {
		t.Run(name, func(t *testing.T) {
			a := start(t, t.TempDir(), "loop")
			ask := func(tool string) string {
				return a.shorten(map[string]any{"session": "s", "tool": tool, "call": "c1", "text": output})
			}
			text := ask("bash")
			if n := llms.Estimate.Count(text); n == 0 || n > 1500 || text != ask("bash") {
				t.Fatalf("%d tokens: %s", n, text)
			}
			if !strings.HasPrefix(text, output[:200]) || !strings.HasSuffix(text, output[len(output)-200:]) || strings.Contains(output, "TANGERINE") && !strings.Contains(text, "error: the gate opens with TANGERINE") {
				t.Errorf("%s", text)
			}
			_, id, _ := strings.Cut(text, `lcm_describe(id: "`)
			id, _, _ = strings.Cut(id, `"`)
			describe := func(arguments map[string]any) string {
				arguments["id"] = id
				return string(a.ask("describe", map[string]any{"session": "s", "arguments": arguments}))
			}
			if got := describe(map[string]any{"lines": "1"}); !strings.Contains(got, "1: "+output[:36]) {
				t.Errorf("%s", got)
			}
			if got := describe(map[string]any{"lines": "300-310"}); name != "one line" && (!strings.Contains(got, "305: line ") || strings.Contains(got, "311: ")) {
				t.Errorf("%s", got)
			}
			if got := describe(map[string]any{"pattern": "TANGER.NE"}); name != "one line" && (!strings.Contains(got, "1: main.go:12: error") || strings.Contains(got, "compiled harbour4100")) {
				t.Errorf("%s", got)
			}
			c, err := a.db.Conversations(t.Context(), store.ConversationQuery{Key: "loop:s"})
			if err != nil || len(c) != 1 || c[0].ViewItems != 0 {
				t.Fatalf("%+v, %v", c, err)
			}
			for _, tool := range []string{"read", "Read", "lcm_describe"} {
				if got := ask(tool); got != "" {
					t.Errorf("what %s read is shortened: %s", tool, got)
				}
			}
			if got := a.shorten(map[string]any{"session": "s", "tool": "bash", "call": "c2", "text": output[:2000]}); got != "" {
				t.Errorf("a short output is shortened: %s", got)
			}
		})
	}
}

// TestShortenEntry: the output of an entry in a transcript that lcm reads is not stored twice.
func TestShortenEntry(t *testing.T) {
	home := t.TempDir()
	p := &piSession{start(t, home, "pi"), home, "0199a1b2-0000-7000-8000-000000000001"}
	output := prose(3000)
	result := map[string]any{"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": []any{map[string]any{"type": "text", "text": output}}, "timestamp": 1763000000000}
	members := map[string]any{"session": p.id, "tool": "bash", "entry": "e2", "text": output}
	if got := p.get("shorten", members); got.Error == nil && string(got.OK) != "{}" {
		t.Errorf("it is shortened before it is in the record: %s", got.OK)
	}
	p.write(piMessage("user", "build"), result)
	if got := p.shorten(members); !strings.Contains(got, `lcm_describe(id: "msg_`) {
		t.Errorf("%s", got)
	}
	if got := p.visible(); len(got) != 2 {
		t.Errorf("%d messages", len(got))
	}
}

// TestShortenExcluded: in a session that is kept out of the record every output is handed on whole.
func TestShortenExcluded(t *testing.T) {
	a := start(t, t.TempDir(), "loop")
	if got := a.shorten(map[string]any{"session": "private-1", "tool": "bash", "call": "c1", "text": prose(3000)}); got != "" {
		t.Errorf("%s", got)
	}
}

// TestShortenRedacted: an output of which the record lacks the secrets is handed on whole. What is
// left out of an excerpt could not be read again.
func TestShortenRedacted(t *testing.T) {
	a := start(t, t.TempDir(), "loop")
	output := prose(3000) + "\n<private>the vault opens with PERSIMMON</private>\n" + prose(3000)
	if got := a.shorten(map[string]any{"session": "s", "tool": "bash", "call": "c1", "text": output}); got != "" {
		t.Errorf("it is shortened: %s", got)
	}
	if got := a.shorten(map[string]any{"session": "s", "tool": "bash", "call": "c2", "text": prose(6000)}); got == "" {
		t.Error("an output that the record has in full is not shortened")
	}
}

// TestShortenErrors: of the lines with errors those are named that fit, as many bytes as the limit has
// tokens, also a short one behind one that is too long.
func TestShortenErrors(t *testing.T) {
	const limit = 1000 // of the adapter's server
	failure := func(name string, size int) string {
		return "error: " + name + strings.Repeat("x", size-len("error: "+name))
	}
	for name, test := range map[string]struct {
		lines []string
		want  []string
	}{
		"one that just fits":     {[]string{failure("a", limit)}, []string{"a"}},
		"one that is too long":   {[]string{failure("a", limit+1)}, nil},
		"short behind too long":  {[]string{failure("a", limit+1), failure("b", 100)}, []string{"b"}},
		"the second is too much": {[]string{failure("a", 600), failure("b", 600), failure("c", 100)}, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, t.TempDir(), "loop")
			output := prose(6000) + "\n" + strings.Join(test.lines, "\n") + "\n" + prose(6000)
			text := a.shorten(map[string]any{"session": "s", "tool": "bash", "call": "c1", "text": output})
			var named []string
			for _, line := range regexp.MustCompile(`\d+: error: (\w)x+\b`).FindAllStringSubmatch(text, -1) {
				named = append(named, line[1])
			}
			if text == "" || !slices.Equal(named, test.want) {
				t.Errorf("%q are named, want %q", named, test.want)
			}
		})
	}
}
