package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// turnTools are the tools that the model of a turn calls, one after the other. Each call writes a line
// to a file.
var turnTools = map[string]core.Behavior{"once": {}, "again": {Repeatable: true}, "gate": {NeedsApproval: true}}

// turnAgent returns an agent that may be killed between any two of its steps.
func turnAgent(o order, s *lcm.Session) (*agents.Agent, error) {
	rng := rand.New(rand.NewPCG(o.Seed, 3))
	pause := func() { time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond) }
	model := llmtest.New(func(r llms.Request) llmtest.Reply {
		pause()
		turn, done := llmtest.LastUserText(r), map[string]bool{}
		for _, m := range r.Messages {
			if m.Role == llms.RoleUser {
				clear(done)
			}
			for _, result := range m.ToolResults() {
				done[result.Name] = true
			}
		}
		for _, name := range []string{"once", "again", "gate"} {
			if !done[name] {
				return llmtest.Call(name, map[string]any{"turn": turn})
			}
		}
		return llmtest.Say("finished " + turn)
	})
	config := agents.AgentConfig{LLMEngine: model, AgentName: "worker", Memory: s.Memory(smallBudget), MaxParallelTools: 1}
	for name, behavior := range turnTools {
		config.Tools = append(config.Tools, core.MustTool(core.ToolInfo{Name: name, Description: name, Behavior: behavior},
			func(_ context.Context, in struct {
				Turn string `json:"turn"`
			}) (core.Result, error) {
				pause()
				err := effect(o.Path, name+" "+in.Turn)
				pause()
				return core.TextResult("done"), err
			}))
	}
	return agents.New(config)
}

// effect is what a tool does outside the record.
func effect(path, line string) error {
	f, err := os.OpenFile(path+".effects", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// beAgent finishes the turn that was broken off, and takes others until it is killed.
func beAgent(ctx context.Context, o order) error {
	return withTurns(ctx, o, func(s *lcm.Session, a *agents.Agent) error {
		fmt.Println("ready")
		for n := 0; ; n++ {
			if err := takeTurn(ctx, s, a, fmt.Sprintf("turn %d-%d", o.Seed, n)); err != nil {
				return err
			}
		}
	})
}

func withTurns(ctx context.Context, o order, do func(*lcm.Session, *agents.Agent) error) error {
	db, err := sqlite.Open(ctx, o.Path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		return err
	}
	defer engine.Close(ctx)
	s := engine.Session("turns")
	a, err := turnAgent(o, s)
	if err != nil {
		return err
	}
	return do(s, a)
}

// takeTurn finishes a turn that is pending, or takes a new one. It approves what waits.
func takeTurn(ctx context.Context, s *lcm.Session, a *agents.Agent, prompt string) error {
	pending, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	call := a.ChatStream(prompt)
	if pending.Unfinished {
		call = a.Continue(ctx)
	}
	for {
		for _, waiting := range pending.Waiting() {
			if err := s.Approve(ctx, waiting.ID, "the test", "it may"); err != nil {
				return err
			}
		}
		_, err := call.StartContext(ctx).Text()
		if _, ok := errors.AsType[*agents.ApprovalError](err); !ok {
			return err
		}
		if pending, err = s.Pending(ctx); err != nil {
			return err
		}
		call = a.Continue(ctx)
	}
}

// Turns of an agent that is killed at any point are finished by the next process. No call runs twice
// that must not.
func TestTurnsSurviveKills(t *testing.T) {
	kills := 20
	if os.Getenv("LCM_TORTURE") != "" {
		kills = 200
	}
	ctx := t.Context()
	o := order{Role: "agent", Path: filepath.Join(t.TempDir(), "turns.db")}
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range kills {
		o.Seed = uint64(i)
		p, err := start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q %v: %s", line, err, p.errs.b)
		}
		time.Sleep(time.Duration(rng.IntN(120_000)) * time.Microsecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := p.lines(func(string) {}); err != nil {
			t.Fatal(err)
		}
		if p.Wait(); len(p.errs.b) > 0 {
			t.Fatalf("before kill %d: %s", i+1, p.errs.b)
		}
	}
	err := withTurns(ctx, o, func(s *lcm.Session, a *agents.Agent) error {
		for {
			pending, err := s.Pending(ctx)
			if err != nil {
				return err
			}
			if !pending.Unfinished {
				break
			}
			if err := takeTurn(ctx, s, a, ""); err != nil {
				return err
			}
		}
		checkTurns(ctx, t, o.Path, s)
		v, err := s.Verify(ctx)
		if err == nil && len(v.Faults) > 0 {
			t.Errorf("the record is damaged: %v", v.Faults)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkTurns holds that every turn has its answer, and what ran how often.
func checkTurns(ctx context.Context, t *testing.T, path string, s *lcm.Session) {
	turns, answers := 0, 0
	for m, err := range s.Messages(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch text := m.Body.PlainText(); {
		case m.Body.Role == llms.RoleUser:
			turns++
		case m.Body.Role == llms.RoleAssistant && strings.HasPrefix(text, "finished "):
			answers++
		}
	}
	effects, err := os.ReadFile(path + ".effects")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range strings.Lines(string(effects)) {
		ran[line]++
	}
	again := 0
	for line, n := range ran {
		switch {
		case strings.HasPrefix(line, "again") && n > 1:
			again++
		case n > 1:
			t.Errorf("%s ran %d times", strings.TrimSpace(line), n)
		}
	}
	if !strings.Contains(string(effects), "gate ") {
		t.Error("no call was approved and made")
	}
	if turns == 0 || answers != turns {
		t.Errorf("%d turns have %d answers", turns, answers)
	}
	t.Logf("%d turns, %d repeatable calls repeated", turns, again)
}
