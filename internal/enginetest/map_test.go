package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/store/sqlite"
)

func mapSession(t *testing.T) *lcm.Session {
	t.Helper()
	session, _ := mapEngine(t)
	return session
}

func mapEngine(t *testing.T) (*lcm.Session, *lcm.Engine) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(db, lcm.WithoutBackground(), lcm.WithPrivacy(record.Privacy{Redact: record.RedactSearch}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(context.WithoutCancel(t.Context())), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return engine.Session("boss"), engine
}

type size struct {
	Letters int `json:"letters"`
}

// countLetters replies with the number of letters of an item. It replies to "odd" wrongly at
// first and to "bad" always.
func countLetters(calls *atomic.Int64) *llmtest.Model {
	return llmtest.New(func(r llms.Request) llmtest.Reply {
		calls.Add(1)
		var item string
		_ = json.Unmarshal([]byte(r.Messages[0].PlainText()), &item)
		if item == "bad" || item == "odd" && !strings.Contains(llmtest.LastUserText(r), "does not fit") {
			return llmtest.Say(`{"letters": "many"}`)
		}
		return llmtest.Say(fmt.Sprintf("Here it is:\n```json\n{\"letters\": %d}\n```", len(item)))
	})
}

func TestMap(t *testing.T) {
	ctx, session := t.Context(), mapSession(t)
	var calls atomic.Int64
	job := lcm.MapJob{Key: "letters", Items: []any{"one", "odd", "bad", "three"}, Prompt: "Count the letters.", Model: countLetters(&calls)}
	var got []string
	for s, err := range lcm.MapInto[size](ctx, session, job) {
		if failure := (*lcm.MapFailure)(nil); err != nil && !errors.As(err, &failure) {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(s.Letters, err != nil))
	}
	if want := "[3 false 3 false 0 true 5 false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	asked := calls.Load()
	if asked != 1+2+3+1 {
		t.Errorf("%d calls", asked)
	}

	schema, err := core.SchemaFor[size]()
	if err != nil {
		t.Fatal(err)
	}
	job.Schema = schema.JSON()
	report, err := session.Map(ctx, job)
	if err != nil || report.Done != 3 || report.Failed != 1 || report.Calls != 7 || report.TokensIn == 0 || len(report.Failures) != 1 || report.Failures[0].Item != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	if calls.Load() != asked {
		t.Error("a job that has ended was asked again")
	}
	other := job
	other.Prompt = "Count the vowels."
	if _, err := session.Map(ctx, other); err == nil || !strings.Contains(err.Error(), "choose another key") {
		t.Errorf("another job under the same key: %v", err)
	}

	view, err := session.Context(ctx, 32_000)
	if err != nil || len(view.Messages) != 0 {
		t.Errorf("the view shows %d messages, %v", len(view.Messages), err)
	}
	found, err := session.Grep(ctx, recall.GrepRequest{Pattern: `"letters":5`})
	if err != nil || len(found.Matches) != 1 {
		t.Errorf("grep finds %+v, %v", found.Matches, err)
	}
	shown, err := session.Describe(ctx, recall.DescribeRequest{ID: store.ID{Payload: report.FileID}})
	if err != nil || !strings.Contains(fmt.Sprint(shown), `{"item":3,"output":{"letters":5}}`) {
		t.Errorf("describe shows %+v, %v", shown, err)
	}
	if v, err := session.Verify(ctx); err != nil || len(v.Faults) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Items and replies keep their characters.
func TestMapEscapesNothing(t *testing.T) {
	const text = `"if a<b && c>d"`
	var asked string
	model := llmtest.New(func(r llms.Request) llmtest.Reply {
		asked = r.Messages[0].PlainText()
		return llmtest.Say(strings.Trim(text, `"`))
	})
	for reply, err := range lcm.MapInto[json.RawMessage](t.Context(), mapSession(t), lcm.MapJob{Key: "k", Items: []any{json.RawMessage(text)}, Prompt: "Repeat.", Model: model}) {
		if asked != text || string(reply) != text || err != nil {
			t.Errorf("asked about %s, output %s, %v", asked, reply, err)
		}
	}
}

// A job that was cut short goes on with the items that are left.
func TestMapGoesOn(t *testing.T) {
	session := mapSession(t)
	var calls atomic.Int64
	var refused atomic.Bool
	path := filepath.Join(t.TempDir(), "items.jsonl")
	var lines strings.Builder
	const items = 60
	for i := range items {
		fmt.Fprintf(&lines, "{\"n\": %d}\n", i)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	model := llmtest.New(func(r llms.Request) llmtest.Reply {
		switch n := calls.Add(1); {
		case n == 15:
			cancel()
		case refused.Load() && n%4 == 0:
			return llmtest.Status(http.StatusUnauthorized, "no such key")
		}
		return llmtest.Say("fine")
	})
	job := lcm.MapJob{Key: "k", InputPath: path, Prompt: "Say fine.", Model: model, Concurrency: 3}
	report, err := session.Map(ctx, job)
	if !errors.Is(err, context.Canceled) || report.Done < 10 || report.Done > 17 {
		t.Fatalf("%+v, %v", report, err)
	}
	job.Budget = report.TokensIn + report.TokensOut + 1
	report, err = session.Map(t.Context(), job)
	if !errors.Is(err, lcm.ErrMapBudget) || report.Done == items {
		t.Fatalf("%+v, %v", report, err)
	}
	job.Budget = 0
	refused.Store(true)
	report, err = session.Map(t.Context(), job)
	refused.Store(false)
	if llms.ClassOf(err) != llms.ClassAuth || report.Failed > 0 {
		t.Fatalf("a refused key: %+v, %v", report, err)
	}
	report, err = session.Map(t.Context(), job)
	if err != nil || report.Done != items || report.Failed != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	n := 0
	for text, err := range lcm.MapInto[json.RawMessage](t.Context(), session, job) {
		if err != nil || string(text) != `"fine"` {
			t.Fatalf("item %d: %s, %v", n, text, err)
		}
		n++
	}
	if n != items {
		t.Errorf("%d outputs", n)
	}
}

// A model that answers others is not at fault if it fails for one item, and one that answers
// nobody fails no item.
func TestMapOfAFailingModel(t *testing.T) {
	for _, c := range []struct {
		poison, want  string
		status, times int
	}{
		{`"b"`, "1 failed", http.StatusInternalServerError, 99},
		{`"b"`, "1 failed", http.StatusBadRequest, 99},
		{`"b"`, "0 failed", http.StatusInternalServerError, 3},
		{`"b"`, "0 failed", http.StatusTooManyRequests, 3},
		{"", "0 failed, error", http.StatusInternalServerError, 99},
	} {
		session := mapSession(t)
		var failures atomic.Int64
		model := llmtest.New(func(r llms.Request) llmtest.Reply {
			if strings.Contains(r.Messages[0].PlainText(), c.poison) && failures.Add(1) <= int64(c.times) {
				return llmtest.Status(c.status, "no")
			}
			time.Sleep(100 * time.Millisecond)
			return llmtest.Say("fine")
		})
		report, err := session.Map(t.Context(), lcm.MapJob{Key: "k", Items: []any{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, Prompt: "x", Model: model, Concurrency: 2, MaxAttempts: 2, ItemTimeout: 5 * time.Second})
		got := fmt.Sprintf("%d failed", report.Failed)
		if err != nil {
			got += ", error"
		}
		if got != c.want {
			t.Errorf("%+v: %s (%v)", c, got, err)
		}
	}
}

// An agent works on each item with its tools, and only those that read if it may only read.
func TestMapWithAgents(t *testing.T) {
	var read, wrote atomic.Int64
	tool := func(name string, n *atomic.Int64, b core.Behavior) llms.Tool {
		return core.MustTool(core.ToolInfo{Name: name, Description: "x", Behavior: b}, func(context.Context, struct{}) (core.Result, error) {
			n.Add(1)
			return core.TextResult("ok"), nil
		})
	}
	model := llmtest.New(llmtest.ByTurn(llmtest.Call("look", nil), llmtest.Call("change", nil), llmtest.Say("many"), llmtest.Say(`{"letters": 3}`)))
	config := &agents.AgentConfig{LLMEngine: model, AgentName: "reader", Tools: []llms.Tool{
		tool("look", &read, core.Behavior{ReadOnly: true}), tool("change", &wrote, core.Behavior{}),
	}}
	for _, readOnly := range []bool{true, false} {
		session := mapSession(t)
		n := 0
		for s, err := range lcm.MapInto[size](t.Context(), session, lcm.MapJob{Key: "k", Items: []any{"one", "two"}, Prompt: "Count.", Agent: config, ReadOnly: readOnly}) {
			if n++; err != nil || s.Letters != 3 {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if want := map[bool]int64{true: 0, false: 2}[readOnly]; n != 2 || wrote.Load() != want {
			t.Errorf("read only %v: %d outputs, %d reads, %d writes", readOnly, n, read.Load(), wrote.Load())
		}
	}
	if read.Load() != 4 {
		t.Errorf("%d reads", read.Load())
	}
}

// An agent gets a report of its maps, reads their output with its other tools, and cannot leave
// the directory of inputs.
func TestMapTools(t *testing.T) {
	session := mapSession(t)
	var calls atomic.Int64
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "words.jsonl"), []byte("\"four\"\n\"sevenths\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var nested atomic.Bool // the agents of items may map too, but not if they may only read
	worker := &agents.AgentConfig{AgentName: "worker", LLMEngine: llmtest.New(func(r llms.Request) llmtest.Reply {
		nested.Store(slices.ContainsFunc(r.Tools, func(t llms.ToolSpec) bool { return t.Name == "agentic_map" }))
		return llmtest.Say("done")
	})}
	schema := map[string]any{"type": "object", "properties": map[string]any{"letters": map[string]any{"type": "integer"}}, "required": []string{"letters"}}
	boss := llmtest.New(llmtest.ByTurn(
		llmtest.Call("llm_map", map[string]any{"prompt": "Count.", "input": "words.jsonl", "schema": schema}),
		llmtest.Call("llm_map", map[string]any{"prompt": "Count.", "input": "../secret.jsonl"}),
		llmtest.Call("agentic_map", map[string]any{"prompt": "Do it.", "items": []any{"a", map[string]any{"b": 1}}, "readOnly": true, "key": "deeds"}),
		llmtest.Call("agentic_map", map[string]any{"prompt": "Do it.", "items": []any{"a"}}),
		llmtest.Call("expand", map[string]any{"subject_type": "tool", "subject_name": "agentic_map"}),
		llmtest.Call("lcm_grep", map[string]any{"pattern": `"letters":8`}),
		llmtest.Say("ready")))
	agent, err := agents.New(agents.AgentConfig{LLMEngine: boss, AgentName: "boss",
		Memory: session.Memory(32_000, lcm.WithMaps(lcm.MapTools{Model: countLetters(&calls), Agent: worker, Dir: dir}))})
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	items := 0
	for e := range agent.ChatStream("go").StartContext(t.Context()).Events() {
		if e.Kind == core.EventToolResult {
			if results = append(results, e.Result.Text); len(results) == 3 && nested.Load() || len(results) == 4 && !nested.Load() {
				t.Errorf("after call %d the agents of items map: %v", len(results), nested.Load())
			}
		}
		if e.Kind == core.EventUsage && len(e.From) > 0 {
			items++
		}
		if e.Err != nil {
			t.Fatal(e.Err)
		}
	}
	for i, want := range []string{`"done":2,"failed":0`, "escapes", `"done":2`, `"done":1`, "Has a sub-agent with tools", "file_"} {
		if i >= len(results) || !strings.Contains(results[i], want) {
			t.Errorf("result %d is %q, want %q in it", i, results[i], want)
		}
	}
	if calls.Load() != 2 || items != 5 {
		t.Errorf("%d calls, %d events of items", calls.Load(), items)
	}
}

// A secret in one output and the end of one in another do not swallow what is between them. The
// file shows masks; Go programs get the outputs as they were made.
func TestMapMasksOutputsOneByOne(t *testing.T) {
	ctx, session := t.Context(), mapSession(t)
	outputs := []string{"-----BEGIN RSA PRIVATE KEY-----", "harmless", "-----END RSA PRIVATE KEY-----", "GH_TOKEN=ghp_" + "x7Kq2mZ9vTb4LwR8" + "sYc1NdF6hJp3QaUe5oGi"}
	model := llmtest.New(func(r llms.Request) llmtest.Reply {
		n := 0
		_, _ = fmt.Sscan(r.Messages[0].PlainText(), &n)
		return llmtest.Say(outputs[n])
	})
	job := lcm.MapJob{Key: "k", Items: []any{0, 1, 2, 3}, Prompt: "x", Model: model}
	n := 0
	for text, err := range lcm.MapInto[json.RawMessage](ctx, session, job) {
		if want := fmt.Sprintf("%q", outputs[n]); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		n++
	}
	report, err := session.Map(ctx, job)
	if err != nil || n != len(outputs) {
		t.Fatal(n, err)
	}
	shown, err := session.Describe(ctx, recall.DescribeRequest{ID: store.ID{Payload: report.FileID}})
	if text := fmt.Sprint(shown); err != nil || strings.Contains(text, "x7Kq2mZ9") || strings.Count(text, `"item":`) != len(outputs) {
		t.Errorf("describe shows %s, %v", text, err)
	}
}

// A job goes on after its session was archived, and is not done again after its output was erased.
func TestMapOfAnArchivedAndAnErasedSession(t *testing.T) {
	session, engine := mapEngine(t)
	var calls atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	model := llmtest.New(func(llms.Request) llmtest.Reply {
		if calls.Add(1) == 10 {
			cancel()
		}
		return llmtest.Say("fine")
	})
	job := lcm.MapJob{Key: "k", Items: make([]any, 20), Prompt: "x", Model: model, Concurrency: 1}
	if _, err := session.Map(ctx, job); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := session.Archive(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Map(t.Context(), job); err != nil || calls.Load() > 21 {
		t.Fatalf("%v after %d calls", err, calls.Load())
	}
	asked := calls.Load()
	var stored []store.MessageID
	for m, err := range session.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, m.ID)
	}
	if _, err := engine.Erase(t.Context(), store.Erasure{Messages: stored}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Map(t.Context(), job); err == nil || !strings.Contains(err.Error(), "erased") || calls.Load() != asked {
		t.Errorf("%v after %d more calls", err, calls.Load()-asked)
	}
}

// A retry asks about the failed items alone, as often as it is wanted. The newest output is that of
// the job.
func TestMapRetry(t *testing.T) {
	ctx, session := t.Context(), mapSession(t)
	good := map[string]bool{"one": true}
	var asked []string
	model := llmtest.New(func(r llms.Request) llmtest.Reply {
		var item string
		_ = json.Unmarshal([]byte(r.Messages[0].PlainText()), &item)
		asked = append(asked, item)
		if !good[item] {
			return llmtest.Say("no idea")
		}
		return llmtest.Say(fmt.Sprintf(`{"letters": %d}`, len(item)))
	})
	schema, err := core.SchemaFor[size]()
	if err != nil {
		t.Fatal(err)
	}
	job := lcm.MapJob{Key: "letters", Items: []any{"one", "three", "seven"}, Prompt: "Count the letters.", Model: model, Schema: schema.JSON(), MaxAttempts: 1, Concurrency: 1}
	var files []store.PayloadID
	for _, step := range []struct {
		retry        bool
		asked        string
		done, failed int
	}{
		{true, "one three seven", 1, 2}, // there is nothing to ask again about
		{false, "", 1, 2},
		{true, "three seven", 2, 1},
		{false, "", 2, 1},
		{true, "seven", 3, 0},
		{true, "", 3, 0},
	} {
		asked, job.Retry = nil, step.retry
		report, err := session.Map(ctx, job)
		if got := strings.Join(asked, " "); err != nil || got != step.asked || report.Done != step.done || report.Failed != step.failed {
			t.Fatalf("%+v: %q was asked about; %+v, %v", step, got, report, err)
		}
		if step.asked != "" && report.Calls != len(asked) {
			t.Errorf("%d calls, %d were made", report.Calls, len(asked))
		}
		files = append(files, report.FileID)
		good[[]string{"three", "seven", "seven"}[min(report.Done-1, 2)]] = true
	}
	if got := len(slices.Compact(files)); got != 3 {
		t.Errorf("there are %d outputs", got)
	}
	var sizes []int
	for s, err := range lcm.MapInto[size](ctx, session, job) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, s.Letters)
	}
	if fmt.Sprint(sizes) != "[3 5 5]" {
		t.Errorf("the output is %v", sizes)
	}
	if v, err := session.Verify(ctx); err != nil || len(v.Faults) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}
