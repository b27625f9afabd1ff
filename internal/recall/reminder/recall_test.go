package reminder

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// history is the record that the prompts are asked against: sessions of two
// projects in three hosts, written by somebody who had not seen this package.
type history struct {
	Projects []struct{ Name, Dir string }
	Sessions []struct {
		ID, Project, Host string
		Start             time.Time
		Messages          []struct {
			Role, Text, Tool, Output string
			Input                    json.RawMessage
		}
	}
}

// asked is a prompt, with the words that answer it and where they were said.
type asked struct {
	ID, Project, Prompt string
	Relevant            bool
	Answer, Session     string
}

// promptSet returns the directory with the history and its prompts. The variable names one
// of another author, to check the rules on prompts that they were not tuned on.
func promptSet() string { return cmp.Or(os.Getenv("LCM_PROMPT_SET"), "testdata") }

func read[T any](t *testing.T, name string) (v T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(promptSet(), name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// record stores the history.
func record(t *testing.T, h history) (*sqlite.DB, map[string]store.Project) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	in := map[string]store.Project{}
	for _, p := range h.Projects {
		in[p.Name] = store.Project{Root: p.Dir}
	}
	for _, s := range h.Sessions {
		var all []ingest.Input
		at := s.Start
		add := func(m llms.Message) {
			m.Time = at
			at = at.Add(20 * time.Second)
			all = append(all, ingest.Input{Message: m})
		}
		for i, m := range s.Messages {
			switch {
			case m.Tool != "":
				id := strconv.Itoa(i)
				add(llms.Calls(m.Text, llms.ToolCall{ID: id, Name: m.Tool, Arguments: string(m.Input)}))
				add(llms.Result(id, m.Tool, m.Output, false))
			case m.Role == "user":
				add(llms.User(m.Text))
			default:
				add(llms.Assistant(m.Text))
			}
		}
		if _, err := e.Session(s.Host+":"+s.ID, lcm.WithProject(in[s.Project]), lcm.WithAgent(s.Host)).AppendInputs(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
	}
	return db, in
}

// useful reports whether a line, the cited message, or another message of the same exchange
// has the answer.
func useful(t *testing.T, db *sqlite.DB, l Line, answer string) bool {
	t.Helper()
	var said []store.Message
	at := 0
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: l.Conversation.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.ID == l.ID {
			at = len(said)
		}
		said = append(said, m)
	}
	from, to := at, at+1
	for from > 0 && said[from].Body.Role != llms.RoleUser {
		from--
	}
	for to < len(said) && said[to].Body.Role != llms.RoleUser {
		to++
	}
	for _, m := range said[from:to] {
		if strings.Contains(plain(m.Body.SearchText()), plain(answer)) {
			return true
		}
	}
	return false
}

func plain(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// TestPromptsThatReferBack holds the figures: of the prompts that refer to
// earlier work, how many are answered with a line that helps, and of the
// others, how many are answered at all. The rule was chosen with a view to both halves,
// mostly on the prompts with even numbers.
func TestPromptsThatReferBack(t *testing.T) {
	db, in := record(t, read[history](t, "history.json"))
	type figures struct{ relevant, helped, said, other, noise int }
	halves := [2]figures{}
	for _, p := range read[[]asked](t, "prompts.json") {
		n, err := strconv.Atoi(strings.TrimPrefix(p.ID, "p"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := For(t.Context(), db, p.Prompt, Options{Project: in[p.Project], Session: "claude:new"})
		if err != nil {
			t.Fatal(err)
		}
		half := &halves[n%2]
		said := p.Relevant && strings.Contains(plain(Block(lines)), plain(p.Answer))
		switch helped := said || slices.ContainsFunc(lines, func(l Line) bool { return useful(t, db, l, p.Answer) }); {
		case p.Relevant && helped:
			half.relevant++
			half.helped++
			if said {
				half.said++
			}
		case p.Relevant:
			half.relevant++
			t.Logf("%s %q is not helped by %v", p.ID, p.Prompt, lines)
		case len(lines) > 0:
			half.other++
			half.noise++
			t.Logf("%s %q is answered with %v", p.ID, p.Prompt, lines)
		default:
			half.other++
		}
		if block := Block(lines); llms.Estimate.Count(block) > MaxTokens || len(lines) > 0 && block == "" {
			t.Errorf("%s: %d tokens in %q", p.ID, llms.Estimate.Count(block), block)
		}
	}
	for n, f := range halves {
		name := [2]string{"even", "odd"}[n]
		helped, noise := float64(f.helped)/float64(f.relevant), float64(f.noise)/float64(f.other)
		t.Logf("%s: %d of %d helped (%.2f), %d of them by the answer itself, %d of %d answered in vain (%.2f)", name, f.helped, f.relevant, helped, f.said, f.noise, f.other, noise)
		if helped < 0.75 || noise > 0.05 {
			t.Errorf("%s: at least 0.75 should be helped, and at most 0.05 answered in vain", name)
		}
	}
}

// TestPromptsOfAnotherProject asks the same prompts in a project where none of
// it was said. Those that refer to earlier work may still find something like
// it: there was a load test here as well.
func TestPromptsOfAnotherProject(t *testing.T) {
	db, _ := record(t, history{})
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	here := store.Project{Root: "/work/trackd"}
	if err := e.Session("claude:other", lcm.WithProject(here), lcm.WithAgent("claude")).Append(t.Context(), sample.Messages()...); err != nil {
		t.Fatal(err)
	}
	answered, asked := map[bool]int{}, read[[]asked](t, "prompts.json")
	for _, p := range asked {
		lines, err := For(t.Context(), db, p.Prompt, Options{Project: here, Session: "claude:new"})
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) > 0 {
			answered[p.Relevant]++
			t.Logf("%s %q: %v", p.ID, p.Prompt, lines[0])
		}
	}
	t.Logf("of %d prompts, %d that refer to earlier work and %d others are answered", len(asked), answered[true], answered[false])
	if answered[false] > 3 || answered[true] > 20 {
		t.Error("that is too many")
	}
}
