package tools_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/tools"
)

// worker is a sub-agent whose work is a function.
type worker struct {
	reasoning
	work func(ctx context.Context, message string, emit func(core.Event)) (string, error)
}

func (w worker) ChatStream(message string) core.IResponseChStarter {
	return core.StarterFunc(func(ctx context.Context, emit func(core.Event)) (string, error) {
		return w.work(ctx, message, emit)
	})
}

func named(name string, work func(context.Context, string, func(core.Event)) (string, error)) worker {
	return worker{reasoning{name: name}, work}
}

func surroundings(ctx context.Context, subs ...core.SubAgent) context.Context {
	return core.WithAgentContext(ctx, core.AgentContext{core.KeySubAgents: subs})
}

func TestDelegateRelaysAndReturnsTheAnswer(t *testing.T) {
	helper := named("helper", func(_ context.Context, message string, emit func(core.Event)) (string, error) {
		emit(core.Event{Kind: core.EventText, Text: "thinking about " + message})
		emit(core.Event{Kind: core.EventUsage, Usage: &core.Usage{InputTokens: 7, OutputTokens: 3}})
		return "42", nil
	})
	var relayed []core.Event
	scope := tools.NewScope(tools.Budget{Tokens: 100})
	ctx := tools.WithScope(surroundings(t.Context(), helper), scope)
	ctx = core.WithEmitter(ctx, func(e core.Event) { relayed = append(relayed, e) })
	result, err := tools.NewDelegateTool().Run(ctx, map[string]any{"agent_name": "helper", "task": "6 times 7"})
	if err != nil || result.Text != "42" {
		t.Fatalf("got %+v, %v", result, err)
	}
	want := []core.Event{
		{Kind: core.EventText, From: []string{"helper"}, Text: "thinking about 6 times 7"},
		{Kind: core.EventUsage, From: []string{"helper"}, Usage: &core.Usage{InputTokens: 7, OutputTokens: 3}},
	}
	if diff := cmp.Diff(want, relayed); diff != "" {
		t.Errorf("relayed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tools.Budget{Depth: 3, Handoffs: 31, Tokens: 90}, scope.Left()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestDelegateFailuresReachTheModel(t *testing.T) {
	failing := named("failing", func(context.Context, string, func(core.Event)) (string, error) {
		return "", errors.New("out of coffee")
	})
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"unknown agent", map[string]any{"agent_name": "Failing", "task": "x"},
			"Error: Agent 'Failing' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS]."},
		{"empty task", map[string]any{"agent_name": "failing", "task": " "}, "Error: the task is empty: say what the sub-agent shall do"},
		{"no task", map[string]any{"agent_name": "failing"},
			`Error: bad arguments for tool 'delegate': argument "task" is missing: it is required and must be a string`},
		{"a sub-agent that fails", map[string]any{"agent_name": "failing", "task": "x"}, "Error: sub-agent 'failing' failed: out of coffee"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ac := core.AgentContext{core.KeySubAgents: []core.SubAgent{failing}}
			if diff := cmp.Diff(test.want, tools.NewDelegateTool().Call(ac, test.args)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// A sub-agent that ignores its context must not hold up the one that gave up
// on it.
func TestDelegateDoesNotWaitForADeafSubAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := named("deaf", func(context.Context, string, func(core.Event)) (string, error) {
			<-release
			return "", nil
		})
		ctx, cancel := context.WithCancel(surroundings(t.Context(), deaf))
		var err error
		var done sync.WaitGroup
		done.Go(func() {
			_, err = tools.NewDelegateTool().Run(ctx, map[string]any{"agent_name": "deaf", "task": "listen"})
		})
		synctest.Wait()
		cancel()
		done.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestHandOffGuard(t *testing.T) {
	const task = "Find out why the nightly backup of the orders database fails since Tuesday"
	inner := func(t *testing.T, b tools.Budget) *tools.Scope {
		t.Helper()
		s, err := tools.NewScope(b).HandOff(task, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refused := func(t *testing.T, s *tools.Scope, task, kept, want string) {
		t.Helper()
		if _, err := s.HandOff(task, kept); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	const part, kept = "List the backup jobs that ran since Monday", "Reading the logs of the failed jobs"
	t.Run("the root need not say what it keeps", func(t *testing.T) { inner(t, tools.Budget{}) })
	t.Run("a part may be handed on", func(t *testing.T) {
		if _, err := inner(t, tools.Budget{}).HandOff(part, kept); err != nil {
			t.Error(err)
		}
	})
	t.Run("a sub-agent must keep something", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{}), part, " ", "kept_work")
	})
	t.Run("what is kept is not what is handed on", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{}), part, part+"!", "kept_work repeats the task")
	})
	t.Run("the same task", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{}), task, kept, "nearly the task")
	})
	t.Run("the same task in other dress", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{}), "please: "+strings.ToUpper(task)+"!!", kept, "nearly the task")
	})
	t.Run("the same task with words around it", func(t *testing.T) {
		for _, wrapped := range []string{
			"You are a sub-agent. " + task,
			"Please do the following for me, carefully, completely and without asking back: " + task,
			task + ". Report back with a short list of what you did, what you found, and what is left to be done.",
		} {
			refused(t, inner(t, tools.Budget{}), wrapped, kept, "nearly the task")
		}
	})
	t.Run("a smaller part in the same words", func(t *testing.T) {
		if _, err := inner(t, tools.Budget{}).HandOff("Find out why the nightly backup fails", kept); err != nil {
			t.Error(err)
		}
	})
	t.Run("a short task is in many others", func(t *testing.T) {
		s, err := tools.NewScope(tools.Budget{}).HandOff("Fix it", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.HandOff("Fix it in the file that holds the orders", kept); err != nil {
			t.Error(err)
		}
	})
	t.Run("the task of a grandparent", func(t *testing.T) {
		s, err := inner(t, tools.Budget{}).HandOff(part, kept)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, s, task, kept, "nearly the task")
	})
	t.Run("a script without spaces", func(t *testing.T) {
		s, err := tools.NewScope(tools.Budget{}).HandOff("请找出为什么订单数据库的夜间备份自星期二以来一直失败", "")
		if err != nil {
			t.Fatal(err)
		}
		refused(t, s, "请找出为什么订单数据库的夜间备份自星期二以来一直失败。", "日志", "nearly the task")
	})
	t.Run("depth", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{Depth: 1}), part, kept, "too deeply")
		refused(t, tools.NewScope(tools.Budget{Depth: -1}), part, "", "too deeply")
	})
	t.Run("hand-offs", func(t *testing.T) {
		refused(t, inner(t, tools.Budget{Handoffs: 1}), part, kept, "no more work can be delegated")
	})
	t.Run("tokens", func(t *testing.T) {
		s := inner(t, tools.Budget{Tokens: 10})
		if err := s.Err(); err != nil {
			t.Errorf("before: %v", err)
		}
		s.Charge(core.Usage{InputTokens: 9, OutputTokens: 2})
		if err := s.Err(); !errors.Is(err, tools.ErrBudgetSpent) {
			t.Errorf("after: %v", err)
		}
		refused(t, s, part, kept, "budget")
	})
	t.Run("a spent budget does not silence the root", func(t *testing.T) {
		root := tools.NewScope(tools.Budget{Tokens: 1})
		root.Charge(core.Usage{InputTokens: 5})
		if err := root.Err(); err != nil {
			t.Error(err)
		}
	})
}

// An agent's own budget bounds what it hands on, within what it was given.
func TestANarrowedScope(t *testing.T) {
	const part = "List the backup jobs that ran since Monday"
	outer, err := tools.NewScope(tools.Budget{Depth: 3, Handoffs: 9, Tokens: 100}).HandOff("Look after the backups", "")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		own, want tools.Budget
	}{
		{tools.Budget{}, tools.Budget{Depth: 2, Handoffs: 8, Tokens: 100}},
		{tools.Budget{Depth: 1, Handoffs: 2, Tokens: 30}, tools.Budget{Depth: 1, Handoffs: 2, Tokens: 30}},
		{tools.Budget{Depth: 99, Handoffs: 99, Tokens: 999}, tools.Budget{Depth: 2, Handoffs: 8, Tokens: 100}},
		{tools.Budget{Depth: -1, Handoffs: -1, Tokens: -1}, tools.Budget{}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, outer.Narrow(test.own).Left()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.own, diff)
		}
	}

	narrow := outer.Narrow(tools.Budget{Handoffs: 1, Tokens: 30})
	outer.Charge(core.Usage{InputTokens: 40})
	if got := narrow.Left().Tokens; got != 30 {
		t.Errorf("the agent's own calls were taken from the budget for its helpers: %d left", got)
	}
	helper, err := narrow.HandOff(part, "the rest")
	if err != nil {
		t.Fatal(err)
	}
	helper.Charge(core.Usage{InputTokens: 30})
	if !errors.Is(helper.Err(), tools.ErrBudgetSpent) || outer.Err() != nil {
		t.Errorf("helper %v, agent %v", helper.Err(), outer.Err())
	}
	if _, err := narrow.HandOff(part, "the rest"); err == nil {
		t.Error("the own budget does not bind")
	}
	want := tools.Budget{Depth: 2, Handoffs: 7, Tokens: 30}
	if diff := cmp.Diff(want, outer.Left()); diff != "" {
		t.Errorf("what is left outside (-want +got):\n%s", diff)
	}
	if _, err := narrow.HandOff("fix", "the rest"); !errors.Is(err, tools.ErrBudgetSpent) {
		t.Errorf("got %v", err)
	}
}

// However agents hand work on, what is left of the budget never grows and the
// tree of hand-offs is no larger than the budget said.
func TestBudgetOnlyShrinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := tools.Budget{
			Depth:    rapid.IntRange(1, 4).Draw(t, "depth"),
			Handoffs: rapid.IntRange(1, 12).Draw(t, "handoffs"),
			Tokens:   rapid.IntRange(1, 1000).Draw(t, "tokens"),
		}
		scopes := []*tools.Scope{tools.NewScope(budget)}
		left := scopes[0].Left()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s := rapid.SampledFrom(scopes).Draw(t, "scope")
			if rapid.IntRange(0, 3).Draw(t, "narrow") == 0 {
				s = s.Narrow(tools.Budget{
					Depth:    rapid.IntRange(-1, 9).Draw(t, "own depth"),
					Handoffs: rapid.IntRange(-1, 20).Draw(t, "own handoffs"),
					Tokens:   rapid.IntRange(-1, 2000).Draw(t, "own tokens"),
				})
			}
			if rapid.Bool().Draw(t, "charge") {
				s.Charge(core.Usage{InputTokens: rapid.IntRange(-5, 50).Draw(t, "cost")})
			} else if next, err := s.HandOff(rapid.StringN(1, 60, -1).Draw(t, "task")+"x", "the rest of the work"); err == nil {
				if next.Left().Depth >= s.Left().Depth {
					t.Fatal("a hand-off did not go deeper")
				}
				scopes = append(scopes, next)
			}
			now := scopes[0].Left()
			if now.Handoffs > left.Handoffs || now.Tokens > left.Tokens || now.Depth > left.Depth {
				t.Fatalf("the budget grew from %+v to %+v", left, now)
			}
			left = now
		}
		if len(scopes)-1 > budget.Handoffs {
			t.Fatalf("%d hand-offs under a budget of %d", len(scopes)-1, budget.Handoffs)
		}
	})
}

func TestHooksRunInOrder(t *testing.T) {
	var log []string
	hook := func(name string) tools.Hook {
		return tools.Hook{
			Before: func(_ context.Context, tool string, args map[string]any) (map[string]any, error) {
				log = append(log, "before "+name+" "+tool)
				return map[string]any{"echo": args["echo"].(string) + name}, nil
			},
			After: func(_ context.Context, _ string, args map[string]any, r core.Result, err error) (core.Result, error) {
				log = append(log, "after "+name+" "+args["echo"].(string))
				r.Text += "<" + name
				return r, err
			},
		}
	}
	got := tools.WithHooks(tools.NewFooTool(), hook("1"), hook("2")).Call(nil, map[string]any{"echo": "x"})
	if got != "x12<2<1" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"before 1 foo", "before 2 foo", "after 2 x12", "after 1 x1"}, log); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAHookCanForbidAndMend(t *testing.T) {
	forbid := tools.Hook{Before: func(context.Context, string, map[string]any) (map[string]any, error) {
		return nil, errors.New("not today")
	}}
	mend := tools.Hook{After: func(_ context.Context, _ string, _ map[string]any, r core.Result, err error) (core.Result, error) {
		if err != nil {
			return core.TextResult("it said: " + err.Error()), nil
		}
		return r, nil
	}}
	if got := tools.WithHooks(tools.NewFooTool(), forbid).Call(nil, map[string]any{"echo": "x"}); got != "Error: not today" {
		t.Errorf("got %q", got)
	}
	if got := tools.WithHooks(tools.NewFooTool(), mend, forbid).Call(nil, map[string]any{"echo": "x"}); got != "it said: not today" {
		t.Errorf("got %q", got)
	}
	plain := tools.WithHooks(tools.NewFooTool(), tools.Hook{})
	if got := plain.Call(nil, map[string]any{"echo": "x"}); got != "x" || string(plain.Parameters()) == "" {
		t.Errorf("got %q", got)
	}
}
