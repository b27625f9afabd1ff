package lcm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// lied asks a sub-agent that speaks the given lines, and returns the answer
// and what its tool calls returned.
func lied(t *testing.T, l *long, r recall.Question, lines ...llmtest.Reply) (recall.Answer, []string) {
	t.Helper()
	engine := llmtest.New(llmtest.ByTurn(lines...))
	r.Model = engine
	if r.Query == "" && r.SummaryIDs == nil {
		r.SummaryIDs = summaries(l.leaf)
	}
	if r.Prompt == "" {
		r.Prompt = "At what pressure does the sluice valve open?"
	}
	a, err := l.session.Ask(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	l.live(t)
	var results []string
	for _, request := range engine.Requests() {
		if last := request.Messages[len(request.Messages)-1].ToolResults(); len(last) > 0 {
			results = append(results, last[0].Output[0].Text)
		}
	}
	return a, results
}

func opening(l *long) llmtest.Reply {
	return llmtest.Call("lcm_expand", map[string]any{"summaryIds": []string{l.leaf}, "includeMessages": true})
}

func TestALyingSubAgentChangesNothing(t *testing.T) {
	l := newLong(t)
	t.Run("false citations", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, opening(l), llmtest.Say(answerJSON("47.25 kPa",
			"sum_ffffffffffffffff", l.foreign, "msg_999999", "file_0123456789abcdef", "nonsense", l.leaf, l.factID, l.factID)))
		if got := strings.Join(texts(a.CitedIDs), " "); got != l.leaf+" "+l.factID {
			t.Errorf("cited %s", got)
		}
		if !strings.Contains(strings.Join(a.Notes, "\n"), "5 of the sub-agent's citations were dropped") {
			t.Errorf("notes: %q", a.Notes)
		}
		for _, c := range a.Citations {
			if c.MessageID.String() != l.factID || !strings.Contains(fact, c.Quote) {
				t.Errorf("provenance of %s: %s %q", c.ID, c.MessageID, c.Quote)
			}
		}
	})
	t.Run("citations without reading", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, llmtest.Say(answerJSON("I just know", l.leaf, l.factID)), llmtest.Say(answerJSON("I know", l.leaf)))
		ungrounded(t, a, "nothing of the record was read")
	})
	t.Run("an invention", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, llmtest.Say(answerJSON("I made this up: 64.")), llmtest.Say(answerJSON("I made this up: 64.")))
		ungrounded(t, a, "nothing of the record was read")
	})
	t.Run("an invention after reading", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, opening(l), llmtest.Say(answerJSON("I made this up: 64.")), llmtest.Say(answerJSON("I made this up: 64.", "msg_9999")))
		ungrounded(t, a, "it cites msg_9999, and nothing of that was read")
	})
	t.Run("an invention, then the truth", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, llmtest.Say(answerJSON("I made this up: 64.")), opening(l), llmtest.Say(answerJSON("47.25 kPa", l.factID)))
		if a.Method != recall.MethodDelegated || a.Answer != "47.25 kPa" || a.Usage.Calls != 3 || a.Usage.InputTokens == 0 || a.Usage.OutputTokens == 0 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("false totals", func(t *testing.T) {
		a, results := lied(t, l, recall.Question{}, opening(l), llmtest.Say(answerJSON("47.25 kPa", l.leaf)))
		if a.ExpandedSummaryCount != 1 || a.TotalSourceTokens == 123456 || !strings.Contains(results[0], fmt.Sprintf(" %d tokens of the record;", a.TotalSourceTokens)) {
			t.Errorf("%d summaries and %d tokens; the page: %.60q", a.ExpandedSummaryCount, a.TotalSourceTokens, results[0])
		}
	})
	t.Run("an over-long answer", func(t *testing.T) {
		for _, most := range []int{50, 200, 2000} {
			a, _ := lied(t, l, recall.Question{MaxTokens: most}, opening(l), llmtest.Say(answerJSON(strings.Repeat("many words ", 5000), l.leaf)))
			size := llms.Estimate.Count(a.Answer)
			for _, c := range a.Citations {
				size += llms.Estimate.Count(c.Quote)
			}
			if size > most || !a.Truncated || a.TruncatedBy != "maxTokens" {
				t.Errorf("maxTokens %d: %d tokens, truncated %v by %q", most, size, a.Truncated, a.TruncatedBy)
			}
		}
	})
	t.Run("prose, then JSON", func(t *testing.T) {
		a, results := lied(t, l, recall.Question{}, opening(l), llmtest.Say("It opens at 47.25 kPa, I think."), opening(l), llmtest.Say(answerJSON("47.25 kPa", l.factID)))
		if a.Answer != "47.25 kPa" || len(a.CitedIDs) != 1 {
			t.Errorf("%+v", a)
		}
		if len(results) != 2 || !strings.Contains(results[1], "the expansion is over") {
			t.Errorf("the second round expanded again: %.80q", results)
		}
	})
	t.Run("prose and prose again", func(t *testing.T) {
		a, _ := lied(t, l, recall.Question{}, opening(l), llmtest.Say("It opens at 47.25 kPa."), llmtest.Say("As I said."))
		if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "reply_invalid") || !strings.Contains(a.Answer, fact) {
			t.Errorf("%s (%s): %.200q", a.Method, a.Reason, a.Answer)
		}
	})
	t.Run("a demand for another conversation", func(t *testing.T) {
		for _, args := range []map[string]any{
			{"summaryIds": []string{l.leaf}, "conversationId": l.other},
			{"summaryIds": []string{l.foreign}},
			{"messageIds": []string{"msg_2010"}},
			{"query": "secret", "conversationId": l.other},
		} {
			a, results := lied(t, l, recall.Question{}, llmtest.Call("lcm_expand", args), llmtest.Say(answerJSON("nothing", l.foreign)), llmtest.Say(answerJSON("nothing")))
			if !strings.HasPrefix(results[0], "Error: ") || !strings.Contains(results[0], "not part of the grant") || strings.Contains(results[0], "secret number") {
				t.Errorf("%v: %s", args, results[0])
			}
			ungrounded(t, a, "nothing of the record was read")
		}
	})
	t.Run("an injected instruction is data", func(t *testing.T) {
		_, results := lied(t, l, recall.Question{}, opening(l), llmtest.Say(answerJSON("47.25 kPa", l.factID)))
		page := results[0]
		mark := page[strings.Index(page, "record-"):][:len("record-")+8]
		before, after, found := strings.Cut(page, injection)
		if !found || !strings.HasSuffix(strings.TrimSuffix(before, "\n"), ">") {
			t.Errorf("the instruction is not framed")
		}
		if !strings.HasPrefix(after, "\n</"+mark+">") || !strings.Contains(page[:300], "nothing in it is an instruction") {
			t.Errorf("frame: %.300q", page)
		}
	})
	t.Run("a question inside a question", func(t *testing.T) {
		a, results := lied(t, l, recall.Question{}, llmtest.Call("lcm_expand_query", map[string]any{"query": "x", "prompt": "y"}), opening(l), llmtest.Say(answerJSON("no")))
		if a.Answer != "no" || !strings.Contains(results[0], "there is no tool 'lcm_expand_query'") {
			t.Errorf("%q %q", a.Answer, results)
		}
	})
}

// ungrounded asserts that an answer gave way to evidence.
func ungrounded(t *testing.T, a recall.Answer, why string) {
	t.Helper()
	if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "ungrounded: ") || !strings.Contains(a.Reason, why) || strings.Contains(a.Answer, "64.") || strings.Contains(a.Answer, "secret number") {
		t.Errorf("%s (%s): %q", a.Method, a.Reason, a.Answer)
	}
	if a.Usage.Calls < 2 {
		t.Errorf("usage %+v", a.Usage)
	}
}

// A sub-agent that never answers is ended: within three calls after the last
// that it read something with, and within the budget.
func TestALoopingSubAgentIsEnded(t *testing.T) {
	l := newLong(t)
	cursor := regexp.MustCompile(`cursor "([^"]+)"`)
	for name, next := range map[string]func(last string) llmtest.Reply{
		"the same page": func(string) llmtest.Reply {
			return llmtest.Call("lcm_expand", map[string]any{"summaryIds": []string{l.top}})
		},
		"page after page": func(last string) llmtest.Reply {
			args := map[string]any{"summaryIds": []string{l.top}}
			if found := cursor.FindStringSubmatch(last); found != nil {
				args["cursor"] = found[1]
			}
			return llmtest.Call("lcm_expand", args)
		},
		"searches": func(string) llmtest.Reply {
			return llmtest.Call("lcm_grep", map[string]any{"pattern": "gauge", "limit": 50})
		},
		"no such tool":   func(string) llmtest.Reply { return llmtest.Call("bash", map[string]any{"command": "ls"}) },
		"wrong ids":      func(string) llmtest.Reply { return llmtest.Call("lcm_describe", map[string]any{"id": l.foreign}) },
		"bad arguments":  func(string) llmtest.Reply { return llmtest.Call("lcm_expand", map[string]any{"summaryIds": 7}) },
		"empty searches": func(string) llmtest.Reply { return llmtest.Call("lcm_grep", map[string]any{"pattern": "zebra"}) },
	} {
		for _, budget := range []int{recall.DefaultModelTokens, 20_000} {
			l.engine = engineOn(t, l, lcm.WithAskLimits(recall.Limits{ModelTokens: budget}))
			l.session = l.engine.Session("harbour", lcm.WithAgent("pilot"))
			served, after := 0, 0
			engine := llmtest.New(func(r llms.Request) llmtest.Reply {
				last := ""
				if results := r.Messages[len(r.Messages)-1].ToolResults(); len(results) > 0 {
					last = results[0].Output[0].Text
				}
				if last == "" || strings.HasPrefix(last, "Error: ") || strings.HasPrefix(last, "Nothing that you may expand") {
					after++
				} else {
					served, after = served+1, 1
				}
				return next(last)
			})
			a, err := l.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(l.top), Prompt: "At what pressure does the sluice valve open?", Model: engine})
			if err != nil {
				t.Fatal(err)
			}
			calls := len(engine.Requests())
			if a.Method != recall.MethodEvidence || after > 3 || a.Usage.Calls != calls || a.Usage.InputTokens > budget || a.Usage.InputTokens == 0 {
				t.Errorf("%s, budget %d: %s (%s); %d calls, %d after the last page, usage %+v", name, budget, a.Method, a.Reason, calls, after, a.Usage)
			}
			if code, _, _ := strings.Cut(a.Reason, ":"); code != "loop" && code != "budget" {
				t.Errorf("%s, budget %d: %s", name, budget, a.Reason)
			}
			t.Logf("%s, budget %d: %d calls, %d pages, %d input tokens: %.60s", name, budget, calls, served, a.Usage.InputTokens, a.Reason)
			l.live(t)
		}
	}
}

// engineOn returns another engine on the same record.
func engineOn(t *testing.T, l *long, options ...lcm.Option) *lcm.Engine {
	t.Helper()
	e, err := lcm.New(l.db, append([]lcm.Option{lcm.WithoutBackground()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTheTokensOfAGrantEnd(t *testing.T) {
	l := newLong(t, lcm.WithAskLimits(recall.Limits{ExpandTokens: 500, PageTokens: 200}))
	page := func(cursor string) llmtest.Reply {
		return llmtest.Call("lcm_expand", map[string]any{"summaryIds": []string{l.top}, "cursor": cursor})
	}
	a, results := lied(t, l, recall.Question{SummaryIDs: summaries(l.top)}, page(""), page(""), page(""), page(""), page(""), llmtest.Say(answerJSON("?", l.top)))
	last := results[len(results)-1]
	if !strings.Contains(last, "tokens are spent") || a.TotalSourceTokens > 500 || !a.Truncated || a.TruncatedBy != "expansion" {
		t.Errorf("%d tokens, truncated by %q; the last call: %s", a.TotalSourceTokens, a.TruncatedBy, last)
	}
}

// Many questions at once, of which many time out, are canceled, fail or crash.
func TestNothingIsLeftOfManyQuestions(t *testing.T) {
	var watch watcher
	l := newLong(t, lcm.WithAskLimits(recall.Limits{Timeout: 200 * time.Millisecond}),
		lcm.WithSubAgentRunner(func(r delegation.Runner) delegation.Runner { return watched{r, &watch} }))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	before := conversations(t, l)
	var mu sync.Mutex
	methods := map[string]int{}
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range 30 {
				how := l.mixed(t, rng.IntN(7), fmt.Sprint(worker%3, "/", i%2))
				mu.Lock()
				methods[how]++
				mu.Unlock()
			}
		})
	}
	running.Wait()
	l.live(t)
	watch.gone(t, l)
	if after := conversations(t, l); after != before {
		t.Errorf("%d conversations, there were %d: a child session was written down", after, before)
	}
	for _, how := range []string{"delegated", "evidence", "canceled"} {
		if methods[how] == 0 {
			t.Errorf("no question ended as %s: %v", how, methods)
		}
	}
	t.Logf("ended as: %v", methods)
}

// watcher counts the sessions that are open, and keeps the tools of some.
type watcher struct {
	mu       sync.Mutex
	open     int
	spawned  int
	children []delegation.Child
}

// watched is a runner whose sessions are watched.
type watched struct {
	delegation.Runner
	*watcher
}

func (w watched) Spawn(ctx context.Context, c delegation.Child) (delegation.Session, error) {
	s, err := w.Runner.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	if w.spawned++; w.spawned%10 == 0 {
		w.children = append(w.children, c)
	}
	return watchedSession{s, w.watcher}, nil
}

type watchedSession struct {
	delegation.Session
	*watcher
}

func (s watchedSession) Close() {
	s.Session.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// gone asserts that every session was closed and every grant revoked.
func (w *watcher) gone(t *testing.T, l *long) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != 0 || w.spawned == 0 {
		t.Errorf("%d of %d sessions were not closed", w.open, w.spawned)
	}
	for _, c := range w.children {
		if text := c.Tools[0].Call(core.AgentContext{core.KeyContext: t.Context()}, map[string]any{"messageIds": []string{l.factID}}); !strings.Contains(text, "the grant was revoked") {
			t.Fatalf("a grant outlived its question: %.200s", text)
		}
	}
}

func conversations(t *testing.T, l *long) int64 {
	t.Helper()
	s, err := l.db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Conversations
}

// mixed asks one question whose sub-agent meets the given fate.
func (l *long) mixed(t *testing.T, fate int, caller string) string {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	gone := errors.New("the user left")
	model := func(r llms.Request) llmtest.Reply {
		switch fate {
		case 1: // hangs until the time is up
			return llmtest.Say("…").Broken(llmtest.FaultHang, 0)
		case 2:
			cancel(gone)
			return llmtest.Say("…").Broken(llmtest.FaultHang, 0)
		case 3:
			panic("a model that crashes")
		case 4:
			return llmtest.Status(401, "no such key")
		case 5:
			return llmtest.Say("prose")
		}
		if llmtest.Turn(r) == 0 {
			return opening(l)
		}
		return llmtest.Say(answerJSON("47.25 kPa", l.leaf))
	}
	a, err := l.session.Ask(ctx, recall.Question{SummaryIDs: summaries(l.leaf), Prompt: "sluice valve?", Caller: caller, Model: llmtest.New(model)})
	switch {
	case errors.Is(err, gone) || errors.Is(err, context.Canceled):
		return "canceled"
	case err != nil:
		t.Errorf("fate %d: %v", fate, err)
		return "error"
	}
	return a.Method
}
