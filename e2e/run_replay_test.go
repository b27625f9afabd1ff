//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/bench/carry"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// Transcripts of Claude Code whose work TestRunReplay plays again, separated by colons, and
// the file with the facts of `go run ./bench carry` that the last request should hold.
const (
	replayEnv = "LCM_E2E_TRANSCRIPTS"
	factsEnv  = "LCM_E2E_FACTS"
)

// replayBudget is what the replayed work has to fit into.
const replayBudget = 120_000

// TestRunReplay plays real work in an agent, without lcm and with it: the prompts of a
// transcript, the model's texts, its edits, and commands that print what its tools gave.
func TestRunReplay(t *testing.T) {
	files := os.Getenv(replayEnv)
	if files == "" {
		t.Skip(replayEnv + " is not set")
	}
	if !withoutNetwork(t) {
		return
	}
	var turns []replayTurn
	for _, f := range strings.Split(files, ":") {
		turns = append(turns, readTurns(t, f)...)
	}
	facts := readReplayFacts(t, os.Getenv(factsEnv), files)
	for _, h := range []agent{claudeAgent{}, codexAgent{}} {
		t.Run(h.name(), func(t *testing.T) {
			var plain, through apiTotals
			t.Run("plain", func(t *testing.T) { plain = replayWork(t, h, nil, turns, facts) })
			t.Run("lcm", func(t *testing.T) { through = replayWork(t, h, proxied(replayBudget), turns, facts) })
			if through.Compactions > 0 || through.Largest > replayBudget || len(through.Refused) > 0 {
				t.Errorf("%d compactions, largest request %d, refused: %q", through.Compactions, through.Largest, through.Refused)
			}
			t.Logf("cost %.2f of plain", through.Cost/plain.Cost)
		})
	}
}

// replayWork plays the turns and counts the facts in the last request.
func replayWork(t *testing.T, h agent, wrap []string, turns []replayTurn, facts []replayFact) apiTotals {
	var b *runBed
	var last []byte
	b = newRunBed(t, h, wrap, apiOptions{
		Script: func(s playStep) llmtest.Reply { return b.again(s, turns) },
		Seen: func(r apiRecord, body []byte) {
			if r.Kind == mainRequest && r.Refused == "" {
				last = slices.Clone(body)
			}
		},
	})
	if h == (claudeAgent{}) {
		b.flags = []string{"--model", "claude-sonnet-4-6", "--allowedTools", "Bash,Read,Write"}
	}
	b.write(filepath.Join(b.work, "README"), "Work that was done before.\n")
	for n, turn := range turns {
		prompt := fmt.Sprintf("%.100000s play:t%d", turn.prompt, n)
		o := b.turn(b.command(prompt, n > 0))
		if o.Code != 0 {
			t.Errorf("turn %d ends with %d: %s", n, o.Code, tail(o.log))
		}
	}
	by, all := countFacts(facts, allStrings(t, last))
	t.Logf("%d of %d facts in the last request: %v of %v", by["all"], len(facts), by, all)
	sum := b.totals()
	folds, before := 0, 0
	for _, r := range b.api.Records() {
		if r.Kind == mainRequest && r.Refused == "" {
			folds += min(1, max(0, before-r.Read))
			before = r.Prefix
		}
	}
	t.Logf("%d times the cached prefix was not read whole", folds)
	return sum
}

// replayFact is a fact, and the words by which somebody would look for it, if any.
type replayFact struct {
	carry.Fact
	Ask string
}

// countFacts counts the facts that a text states, and all of them, by kind.
func countFacts(facts []replayFact, text string) (by, all map[string]int) {
	by, all = map[string]int{}, map[string]int{}
	text = foldSpaces(text)
	for _, f := range facts {
		all[f.Kind]++
		if f.In(text) {
			by[f.Kind]++
			by["all"]++
		}
	}
	return by, all
}

func foldSpaces(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }

// replayTurn is a prompt and what the model did until the next one.
type replayTurn struct {
	prompt string
	steps  []*replayStep
}

type replayStep struct {
	text  string
	calls []*replayCall
}

type replayCall struct{ path, content, output string }

// again gives the model's part of a step. An edit becomes a file, any other call a command
// that prints what the call gave.
func (b *runBed) again(s playStep, turns []replayTurn) llmtest.Reply {
	n, err := strconv.Atoi(strings.TrimPrefix(s.Play, "t"))
	if err != nil || n >= len(turns) {
		return llmtest.Say("There is no play " + s.Play)
	}
	if s.Number >= len(turns[n].steps) {
		return llmtest.Say("Done.")
	}
	step := turns[n].steps[s.Number]
	reply := llmtest.Reply{Text: cmp.Or(step.text, "Going on.")}
	for i, c := range step.calls {
		if c.path != "" && offers(s.Request, "Write") {
			path := filepath.Join(b.work, "files", filepath.Base(c.path))
			_ = os.Remove(path) // the host would want to read it first
			reply = reply.And("Write", map[string]any{"file_path": path, "content": c.content})
			continue
		}
		name := fmt.Sprintf("out/%d-%d-%d.txt", n, s.Number, i)
		b.write(filepath.Join(b.work, name), fmt.Sprintf("%.28000s", c.output))
		command := "cat " + name
		if c.path != "" {
			command = fmt.Sprintf("mkdir -p files; cat > files/%s <<'EOF'\n%s\nEOF", filepath.Base(c.path), c.content)
		}
		if c.path != "" && offers(s.Request, "exec_command") { // Codex
			command = fmt.Sprintf("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: files/%s\n+%s\n*** End Patch\nEOF",
				filepath.Base(c.path), strings.ReplaceAll(c.content, "\n", "\n+"))
			_ = os.Remove(filepath.Join(b.work, "files", filepath.Base(c.path)))
		}
		reply = shell(s.Request, reply, command)
	}
	return reply
}

// readTurns reads the turns of a transcript, without those of sub-agents.
func readTurns(t *testing.T, path string) (turns []replayTurn) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls, step := map[string]*replayCall{}, ""
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r struct {
			Type                                  string
			IsMeta, IsSidechain, IsCompactSummary bool
			Message                               struct {
				ID      string
				Content json.RawMessage
			}
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.IsMeta || r.IsSidechain || r.IsCompactSummary {
			continue
		}
		type block struct {
			Type, Text, ID, Name string
			ToolUseID            string `json:"tool_use_id"`
			Content              json.RawMessage
			Input                struct {
				Path      string `json:"file_path"`
				Content   string
				NewString string `json:"new_string"`
			}
		}
		var blocks []block
		if json.Unmarshal(r.Message.Content, &blocks) != nil {
			var text string
			_ = json.Unmarshal(r.Message.Content, &text) // else there is none
			blocks = []block{{Type: "text", Text: text}}
		}
		for _, c := range blocks {
			switch {
			case r.Type == "user" && c.Type == "text" && c.Text != "" && !strings.HasPrefix(c.Text, "/") && !strings.HasPrefix(c.Text, "<"):
				turns = append(turns, replayTurn{prompt: c.Text})
				step = ""
			case c.Type == "tool_result" && calls[c.ToolUseID] != nil:
				calls[c.ToolUseID].output = allStrings(t, c.Content)
			case r.Type == "assistant" && len(turns) > 0 && c.Type != "thinking":
				turn := &turns[len(turns)-1]
				if step != r.Message.ID {
					turn.steps, step = append(turn.steps, &replayStep{}), r.Message.ID
				}
				at := turn.steps[len(turn.steps)-1]
				if c.Type == "text" {
					at.text += c.Text
					continue
				}
				call := &replayCall{output: "nothing"}
				if c.Name == "Edit" || c.Name == "Write" {
					call.path, call.content = c.Input.Path, cmp.Or(c.Input.Content, c.Input.NewString, "nothing")
				}
				at.calls, calls[c.ID] = append(at.calls, call), call
			}
		}
	}
	for _, turn := range turns { // only the last step of a turn has no call
		for i, s := range turn.steps {
			if len(s.calls) == 0 && i < len(turn.steps)-1 {
				s.calls = []*replayCall{{output: "nothing"}}
			}
		}
	}
	return turns
}

// allStrings are the strings in a JSON text, a line each.
func allStrings(t *testing.T, data []byte) string {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var v any
	if len(data) > 0 && json.Unmarshal(data, &v) != nil {
		t.Errorf("no JSON: %.100s", data)
	}
	walk(v)
	return b.String()
}

// readReplayFacts reads the facts of the transcripts that are named.
func readReplayFacts(t *testing.T, path, files string) (facts []replayFact) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%s: %v", factsEnv, err)
	}
	for line := range strings.Lines(string(data)) {
		var f replayFact
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(files, f.Session) {
			facts = append(facts, f)
		}
	}
	return facts
}
