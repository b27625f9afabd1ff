package delegation_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestTaskIsTheSpecified(t *testing.T) {
	var runner scripted
	runner.do = func(context.Context, *subAgent, string) (string, error) { return says("64"), nil }
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "freshTailCount was 64 at first", "we tried 8 and 32", "then the tail stayed")
	id := f.fold(c, 2, "The fresh tail was debated.")
	_, err := f.Ask(t.Context(), recall.Question{
		SummaryIDs: []store.SummaryID{id}, Prompt: `What exact "freshTailCount" values were discussed?`, MaxTokens: 500, Where: recall.Where{Current: c},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(runner.asked[0], string(id), "sum_xxx") + "\n"
	path := filepath.Join("testdata", "task.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

func TestChildSessionHasItsOwnKeyAndTools(t *testing.T) {
	var runner scripted
	runner.do = func(_ context.Context, s *subAgent, _ string) (string, error) {
		var names []string
		for _, tool := range s.child.Tools {
			names = append(names, tool.GetName())
		}
		if want := []string{"lcm_expand", "lcm_describe", "lcm_grep"}; !slices.Equal(names, want) {
			t.Errorf("the sub-agent has %v, want %v", names, want)
		}
		return says("yes"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner, c.NewID = &runner, nil })
	c := f.talk("s", "the anchor is down")
	for range 2 {
		if _, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "Is it down?", Agent: "pilot", Where: recall.Where{Current: c}}); err != nil {
			t.Fatal(err)
		}
	}
	form := regexp.MustCompile(`^agent:pilot:subagent:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if len(runner.children) != 2 || runner.children[0].Key == runner.children[1].Key || !form.MatchString(runner.children[0].Key) {
		t.Errorf("children %v", runner.children)
	}
	f.gone(&runner)
}

func TestUncompactedMessagesAreExpandedToo(t *testing.T) {
	var runner scripted
	runner.do = func(ctx context.Context, s *subAgent, task string) (string, error) {
		page := s.expand(ctx, map[string]any{"messageIds": []string{"msg_2"}})
		if !strings.Contains(task, `"messageIds":["msg_2"`) || !strings.Contains(page, "the anchor lies at 12 fathoms") {
			t.Errorf("task:\n%s\npage:\n%s", task, page)
		}
		return says("12 fathoms", "msg_2"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "good morning", "the anchor lies at 12 fathoms", "thanks")
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asTexts(a.CitedIDs), []string{"msg_2"}) || a.ExpandedSummaryCount != 0 || a.Citations[0].Quote != "the anchor lies at 12 fathoms" {
		t.Errorf("%+v", a)
	}
}

func TestFailuresEndInEvidenceWithAReason(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		spawn        error
		do           func(ctx context.Context) (string, error)
	}{
		{"time-out", "timeout: the sub-agent did not answer within 2m0s", nil, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}},
		{"spawn", "spawn_failed: no seats", errors.New("no seats"), nil},
		{"model", "model_failed: overloaded", nil, func(context.Context) (string, error) { return "", errors.New("overloaded") }},
		{"panic", "panic: the sub-agent crashed: oh", nil, func(context.Context) (string, error) { panic("oh") }},
		{"reply", "reply_invalid: ", nil, func(context.Context) (string, error) { return "well", nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner := &scripted{spawn: test.spawn}
			runner.do = func(ctx context.Context, _ *subAgent, _ string) (string, error) { return test.do(ctx) }
			f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
			c := f.talk("s", "the anchor lies at 12 fathoms")
			if test.name == "time-out" {
				f = f.impatient(runner)
				test.reason = "timeout: the sub-agent did not answer within 20ms"
			}
			a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
			if err != nil {
				t.Fatal(err)
			}
			if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, test.reason) || !strings.Contains(a.Answer, "12 fathoms") {
				t.Errorf("%s, %q: %q", a.Method, a.Reason, a.Answer)
			}
			f.gone(runner)
		})
	}
	if recall.DefaultTimeout != 120*time.Second || recall.DefaultExpandTokens != 68_000 || recall.DefaultPageTokens != 8_000 {
		t.Error("the defaults are 120 s, 68,000 and 8,000 tokens")
	}
}

// A sub-agent that fails is reported as such, with what it read, also where there is no
// passage to show instead.
func TestAFailureIsNoMissingMatch(t *testing.T) {
	var runner scripted
	runner.do = func(context.Context, *subAgent, string) (string, error) { return "", errors.New("overloaded") }
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "the anchor lies at 12 fathoms", "and the keel at 3", "that is all")
	leaf := f.fold(c, 2, strings.Repeat("The crew measured this and that. ", 500))
	above := f.fold(c, 2, "A day at sea.")
	for id, method := range map[store.SummaryID]string{leaf: recall.MethodEvidence, above: recall.MethodNone} {
		a, err := f.Ask(t.Context(), recall.Question{SummaryIDs: []store.SummaryID{id}, Prompt: "Which colour has it got?", Where: recall.Where{Current: c}})
		if err != nil {
			t.Fatal(err)
		}
		if a.Method != method || !strings.HasPrefix(a.Reason, "model_failed: overloaded") || a.TotalSourceTokens < 10 || strings.Contains(a.Answer, "matches") {
			t.Errorf("%s (%s), %d tokens: %s", a.Method, a.Reason, a.TotalSourceTokens, a.Answer)
		}
		if method == recall.MethodNone && !strings.Contains(a.Answer, "the sub-agent failed after reading") {
			t.Error(a.Answer)
		}
	}
}

// impatient is the fixture with little time.
func (f *fixture) impatient(runner delegation.Runner) *fixture {
	f.t.Helper()
	r, err := lookup.New(f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	quick := *f
	quick.Delegator, err = delegation.New(delegation.Config{Recall: r, Store: f.db, Runner: runner, Limits: recall.Limits{Timeout: 20 * time.Millisecond}})
	if err != nil {
		f.t.Fatal(err)
	}
	return &quick
}

func TestCancellationIsAnErrorAndLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user left")
	var runner scripted
	runner.do = func(ctx context.Context, _ *subAgent, _ string) (string, error) {
		cancel(gone)
		<-ctx.Done()
		return "", ctx.Err()
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "the anchor lies at 12 fathoms")
	_, err := f.Ask(ctx, recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
	if !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	f.gone(&runner)
}

func TestQuestionsOfOneCallerQueueAndRecursionIsRefused(t *testing.T) {
	var inside, most int
	var runner scripted
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "the anchor lies at 12 fathoms")
	r := recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}, Caller: "one"}
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		s.mu.Lock()
		inside++
		most = max(most, inside)
		s.mu.Unlock()
		if _, err := f.Ask(ctx, r); !errors.Is(err, delegation.ErrRecursion) {
			t.Errorf("a question inside a question: %v", err)
		}
		s.mu.Lock()
		inside--
		s.mu.Unlock()
		return says("12"), nil
	}
	done := make(chan error)
	for range 6 {
		go func() {
			_, err := f.Ask(t.Context(), r)
			done <- err
		}()
	}
	for range 6 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most != 1 {
		t.Errorf("%d questions of one caller ran at once", most)
	}
}

// Each question of a queue has all of its time: the clock runs from its turn.
func TestEachQuestionOfAQueueHasItsOwnDeadline(t *testing.T) {
	var runner scripted
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner; c.Limits.Timeout = time.Hour })
	c := f.talk("s", "the anchor lies at 12 fathoms")
	var deadlines, ends []time.Time
	release := make(chan struct{})
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		at, _ := ctx.Deadline()
		s.mu.Lock()
		deadlines = append(deadlines, at)
		s.mu.Unlock()
		<-release
		s.mu.Lock()
		ends = append(ends, time.Now())
		s.mu.Unlock()
		return says("12"), nil
	}
	done := make(chan error)
	for range 2 {
		go func() {
			_, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}, Caller: "one"})
			done <- err
		}()
	}
	for range 2 {
		release <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if len(deadlines) != 2 || deadlines[1].Before(ends[0].Add(time.Hour)) {
		t.Errorf("deadlines %v; the first question ended at %v", deadlines, ends[0])
	}
}

func TestAllConversationsAreAnsweredSideBySideAndMerged(t *testing.T) {
	var runner scripted
	waiting := make(chan struct{}, 3)
	runner.do = func(ctx context.Context, s *subAgent, task string) (string, error) {
		waiting <- struct{}{}
		for len(waiting) < 3 && ctx.Err() == nil { // all three are asked at once
			time.Sleep(time.Millisecond)
		}
		ids := regexp.MustCompile(`msg_\d+`).FindAllString(task, -1)
		s.expand(ctx, map[string]any{"messageIds": []string{ids[0]}})
		return says("it is set in "+ids[0], ids[0]), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	var ids []store.ConversationID
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		ids = append(ids, f.talk(key, "the anchor of "+key+" is set", "nothing more"))
	}
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "Where is it set?", Where: recall.Where{AllConversations: true}, MaxTokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.SourceConversationIDs) != 3 || a.SourceConversationID != a.SourceConversationIDs[0] || len(a.CitedIDs) != 3 || len(a.Skipped) != 2 {
		t.Errorf("sources %v, cited %v, skipped %v", a.SourceConversationIDs, a.CitedIDs, a.Skipped)
	}
	for _, id := range a.SourceConversationIDs {
		if !slices.Contains(ids, id) || !strings.Contains(a.Answer, "Conversation ") {
			t.Errorf("answer %q", a.Answer)
		}
	}
	if !strings.Contains(strings.Join(a.Notes, " "), "2 more conversations match but were not asked") {
		t.Errorf("notes %q", a.Notes)
	}
}

func TestModelOrder(t *testing.T) {
	own, callers := &scripted{}, &scripted{}
	own.do = func(context.Context, *subAgent, string) (string, error) { return says("own"), nil }
	callers.do = func(context.Context, *subAgent, string) (string, error) { return says("caller's"), nil }
	for _, test := range []struct {
		runner delegation.Runner
		model  llms.Model
		want   string
	}{{own, dear{}, "own"}, {nil, dear{}, "caller's"}, {nil, nil, ""}} {
		f := newFixture(t, func(c *delegation.Config) {
			c.Runner, c.NewRunner = test.runner, func(llms.Model) delegation.Runner { return callers }
		})
		c := f.talk("s", "the anchor lies at 12 fathoms")
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}, Model: test.model})
		if err != nil {
			t.Fatal(err)
		}
		if test.want != "" && a.Answer != test.want || test.want == "" && a.Method != recall.MethodEvidence {
			t.Errorf("want %q, got %s %q", test.want, a.Method, a.Answer)
		}
	}
}

// What a failed model cost is part of the evidence that is given instead, and
// of its bound.
func TestEvidenceAfterAFailureIsBounded(t *testing.T) {
	model := dear{cost: func(int) llms.Usage { return llms.Usage{InputTokens: 12_345, OutputTokens: 678} }}
	runner := &scripted{do: func(ctx context.Context, s *subAgent, _ string) (string, error) {
		for range s.child.Meter.Engine(model).Stream(ctx, llms.Request{Messages: []llms.Message{llms.User("x")}}) {
			continue
		}
		return "", errors.New("the model is gone")
	}}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("Entry %d about the anchor: the chain is %d fathoms.", i, i*3))
	}
	c := f.talk("s", texts...)
	for most := 250; most < 500; most += 7 {
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor chain", Prompt: "How many fathoms?", Where: recall.Where{Current: c}, MaxTokens: most})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if n := llms.Estimate.Count(string(raw)); n > most || a.Method != recall.MethodEvidence || a.Usage.Calls == 0 {
			t.Errorf("maxTokens %d: %d tokens, %s (%s), %+v", most, n, a.Method, a.Reason, a.Usage)
		}
	}
}
