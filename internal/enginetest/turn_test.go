package enginetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

// waitingTurn returns a session with a turn in which a call of deploy with the given text waits, and an
// agent that continues it. Texts that deploy gets are added to ran.
func waitingTurn(t *testing.T, text string, ran *[]string) (*lcm.Engine, *lcm.Session, *agents.Agent) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(context.WithoutCancel(t.Context())), db.Close()); err != nil {
			t.Error(err)
		}
	})
	session := engine.Session("turn")
	agent := deployer(t, session, text, ran)
	if _, err := agent.ChatStream("deploy it").StartContext(t.Context()).Text(); err == nil {
		t.Fatal("it does not wait")
	}
	return engine, session, agent
}

func deployer(t *testing.T, session *lcm.Session, text string, ran *[]string) *agents.Agent {
	t.Helper()
	deploy := core.MustTool(core.ToolInfo{Name: "deploy", Description: "x", Behavior: core.Behavior{NeedsApproval: true}},
		func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (core.Result, error) {
			*ran = append(*ran, in.Text)
			return core.TextResult("ok"), nil
		})
	agent, err := agents.New(agents.AgentConfig{LLMEngine: llmtest.New(llmtest.ByTurn(llmtest.Call("deploy", map[string]any{"text": text}), llmtest.Say("done"))),
		AgentName: "main", Memory: session.Memory(32_000), Tools: []llms.Tool{deploy}})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// An approved call gets its arguments as the model made them: not the mask of a secret, nor the reference
// to a large text.
func TestAnApprovedCallGetsItsOwnArguments(t *testing.T) {
	for _, text := range []string{"GH_TOKEN=ghp_" + strings.Repeat("a1B2", 9), strings.Repeat("a large text ", 60_000)} {
		var ran []string
		_, session, agent := waitingTurn(t, text, &ran)
		pending, err := session.Pending(t.Context())
		if err != nil || len(pending.Waiting()) != 1 {
			t.Fatal(pending, err)
		}
		id := pending.Waiting()[0].ID
		if err := session.Approve(t.Context(), id, "Ann", ""); err != nil {
			t.Fatal(err)
		}
		if err := session.Deny(t.Context(), id, "Bob", ""); err == nil {
			t.Error("two people decide on one call")
		}
		if answer, err := agent.Continue(t.Context()).Start().Text(); err != nil || answer != "done" {
			t.Errorf("%q, %v", answer, err)
		}
		if len(ran) != 1 || ran[0] != text {
			t.Errorf("it ran %d times, with %.60q", len(ran), ran)
		}
	}
}

// A fork of a turn that waits waits too, and an archived one cannot go on.
func TestForksAndArchivesOfAWaitingTurn(t *testing.T) {
	var ran []string
	engine, session, _ := waitingTurn(t, "x", &ran)
	var last store.MessageID
	for m, err := range session.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Flags.Said() {
			last = m.ID
		}
	}
	fork, err := session.Fork(t.Context(), "fork", last)
	if err != nil {
		t.Fatal(err)
	}
	waits := new(agents.ApprovalError)
	if _, err := deployer(t, fork, "x", &ran).Continue(t.Context()).Start().Text(); !errors.As(err, &waits) || len(ran) > 0 {
		t.Errorf("the fork goes on: %v, ran %q", err, ran)
	}
	c, err := session.Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Archive(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	archived, err := engine.Resume(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := archived.Approve(t.Context(), waits.Calls[0].ID, "Ann", ""); !errors.Is(err, store.ErrArchived) {
		t.Errorf("an archived turn: %v", err)
	}
}

// Two chats of a session do not run at once, whoever has them.
func TestOneChatAtATimeInASession(t *testing.T) {
	var ran []string
	_, session, _ := waitingTurn(t, "x", &ran)
	first, second := session.Memory(32_000), session.Memory(32_000)
	done, err := first.TakeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.TakeTurn(ctx); err == nil {
		t.Error("both have the turn")
	}
	done()
	if done, err = second.TakeTurn(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()
}
