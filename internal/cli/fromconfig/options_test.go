package fromconfig_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// configured returns a session of an engine that the environment describes. Its
// models are those of a scripted server.
func configured(t *testing.T, model llmtest.Responder, env map[string]string) (*lcm.Session, *llmtest.Handler) {
	t.Helper()
	_, session, h := configuredEngine(t, model, env)
	return session, h
}

func configuredEngine(t *testing.T, model llmtest.Responder, env map[string]string) (*lcm.Engine, *lcm.Session, *llmtest.Handler) {
	t.Helper()
	h := llmtest.NewHandler(model)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	usual := map[string]string{"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.URL + "/v1"}
	cfg, err := config.Load(config.Options{
		Home:     t.TempDir(),
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		Getenv: func(name string) string {
			if value, ok := env[name]; ok {
				return value
			}
			return usual[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	counter, err := fromconfig.Counter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(db, append(fromconfig.Options(cfg, db, counter), lcm.WithoutBackground())...)
	if err != nil {
		t.Fatal(err)
	}
	session := engine.Session("harbour")
	var ms []llms.Message
	for i := range 40 {
		ms = append(ms, llms.User(fmt.Sprintf("Entry %d: the anchor was at %d fathoms, %s", i, i+7, strings.Repeat("and the log goes on for a while. ", 20))))
	}
	if err := session.Append(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	return engine, session, h
}

var (
	payload = regexp.MustCompile(`\{.*"includeMessages":true\}`)
	message = regexp.MustCompile(`msg_\d+`)
)

// asks is a sub-agent that reads one page of its task's summary and answers.
func asks(r llms.Request) llmtest.Reply {
	call := payload.FindString(llmtest.LastUserText(r))
	if len(r.Messages[len(r.Messages)-1].ToolResults()) == 0 {
		return llmtest.Call("lcm_expand", call)
	}
	return llmtest.Say(fmt.Sprintf(`{"answer": "deep", "citedIds": [%q]}`, message.FindString(call)))
}

func ask(t *testing.T, s *lcm.Session) recall.Answer {
	t.Helper()
	a, err := s.Ask(t.Context(), recall.Question{Query: "anchor entry", Prompt: "How deep was the anchor?"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The model for questions is the one set for them, else that of sub-agents.
func TestTheModelOfQuestions(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string // the model that was asked
	}{
		{map[string]string{"LCM_SUBAGENTS_MODEL": "small"}, "small"},
		{map[string]string{"LCM_EXPANSION_MODEL": "reader"}, "reader"},
		{map[string]string{"LCM_EXPANSION_MODEL": "reader", "LCM_SUBAGENTS_MODEL": "small"}, "reader"},
		{nil, ""},
	} {
		s, h := configured(t, asks, test.env)
		a := ask(t, s)
		if test.want == "" {
			if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "no_model: ") || len(h.Exchanges()) != 0 {
				t.Errorf("without a model: %s (%s)", a.Method, a.Reason)
			}
			continue
		}
		if a.Method != recall.MethodDelegated || a.Model != test.want || h.Exchanges()[0].Request.Model != test.want {
			t.Errorf("%v: %s by %q (%s)", test.env, a.Method, a.Model, a.Reason)
		}
	}
}

// LCM_MAX_EXPAND_TOKENS bounds the tokens that a question reads.
func TestTheTokensOfQuestions(t *testing.T) {
	s, _ := configured(t, asks, map[string]string{"LCM_SUBAGENTS_MODEL": "small", "LCM_MAX_EXPAND_TOKENS": "300"})
	if a := ask(t, s); a.Method != recall.MethodDelegated || a.TotalSourceTokens > 300 || a.TotalSourceTokens < 100 || a.TruncatedBy != "expansion" {
		t.Errorf("%d tokens were read (%s %s), truncated by %q", a.TotalSourceTokens, a.Method, a.Reason, a.TruncatedBy)
	}
	s, _ = configured(t, asks, map[string]string{"LCM_SUBAGENTS_MODEL": "small"})
	if a := ask(t, s); a.TotalSourceTokens < 600 {
		t.Errorf("by default %d tokens were read: the bounds above bound nothing", a.TotalSourceTokens)
	}
}

// LCM_MAX_MODEL_TOKENS bounds the tokens sent to the model.
func TestTheBudgetOfQuestions(t *testing.T) {
	s, h := configured(t, asks, map[string]string{"LCM_SUBAGENTS_MODEL": "small", "LCM_MAX_MODEL_TOKENS": "1000"})
	if a := ask(t, s); a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "budget: ") || len(h.Exchanges()) != 0 {
		t.Errorf("%s (%s), %d calls", a.Method, a.Reason, len(h.Exchanges()))
	}
}

// LCM_DELEGATION_TIMEOUT_MS bounds how long the model is waited for.
func TestTheTimeOfQuestions(t *testing.T) {
	hangs := func(llms.Request) llmtest.Reply { return llmtest.Say("…").Broken(llmtest.FaultHang, 0) }
	s, _ := configured(t, hangs, map[string]string{"LCM_SUBAGENTS_MODEL": "small", "LCM_DELEGATION_TIMEOUT_MS": "150"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // where the setting is not heeded
	defer cancel()
	begun := time.Now()
	a, err := s.Ask(ctx, recall.Question{Query: "anchor entry", Prompt: "How deep was the anchor?"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "timeout: the sub-agent did not answer within 150ms") {
		t.Errorf("%s (%s) after %v", a.Method, a.Reason, time.Since(begun))
	}
}

// A key that a provider repeats in its refusal stays out of the reason.
func TestAKeyInAnErrorIsNotRepeated(t *testing.T) {
	for _, key := range []string{"sk-proj-a8Kq2LmX9vRt5WzB7cNd3YpF6gHjS4uE1oQxT0bVnMcZkLw", "the-key-of-our-own-server"} {
		refuses := func(llms.Request) llmtest.Reply { return llmtest.Status(401, "Incorrect API key provided: "+key) }
		s, _ := configured(t, refuses, map[string]string{"LCM_SUBAGENTS_MODEL": "small", "OPENAI_API_KEY": key})
		if a := ask(t, s); !strings.HasPrefix(a.Reason, "model_failed: ") || strings.Contains(a.Reason, key) || a.Method != recall.MethodEvidence {
			t.Errorf("%s (%s)", a.Method, a.Reason)
		}
	}
}
