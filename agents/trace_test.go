package agents_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

func TestSpansTellNamesAndTokensAndNoText(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	call := llmtest.Call("foo", `{"echo":"a secret word"}`)
	call.Usage = llms.Usage{InputTokens: 40, OutputTokens: 2}
	agent, _ := build(t, agents.AgentConfig{Tools: []llms.Tool{tools.NewFooTool()}}, call, llmtest.Say("a secret word"))
	if _, err := agent.ChatStream("a secret word").StartContext(ctx).Text(); err != nil {
		t.Fatal(err)
	}
	root.End()
	var names []string
	tokens := false
	for _, s := range kept.GetSpans() {
		names = append(names, s.Name)
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "secret") {
				t.Errorf("%s has %s = %s", s.Name, a.Key, a.Value.String())
			}
			tokens = tokens || a.Key == "gen_ai.usage.input_tokens" && a.Value.AsInt64() == 40
		}
	}
	want := []string{"chat llmtest/scripted", "execute_tool foo", "chat llmtest/scripted", "invoke_agent main", "root"}
	if !slices.Equal(names, want) || !tokens {
		t.Errorf("spans %q, tokens %v", names, tokens)
	}
}

func TestModelHooks(t *testing.T) {
	var order []string
	hook := func(name string) agents.ModelHook {
		return agents.ModelHook{
			Before: func(_ context.Context, r *llms.Request) error {
				order = append(order, name)
				r.System += name
				return nil
			},
			After: func(context.Context, llms.Request, llms.Response, error) { order = append(order, "after "+name) },
		}
	}
	agent, engine := build(t, agents.AgentConfig{ModelHooks: []agents.ModelHook{hook("a"), hook("b")}}, llmtest.Say("ok"))
	if _, err := agent.ChatStream("hi").Start().Text(); err != nil || strings.Join(order, " ") != "a b after b after a" || !strings.HasSuffix(engine.Requests()[0].System, "ab") {
		t.Errorf("%q, %v, system %q", order, err, engine.Requests()[0].System)
	}
	forbidden := errors.New("not today")
	agent, engine = build(t, agents.AgentConfig{ModelHooks: []agents.ModelHook{{Before: func(context.Context, *llms.Request) error { return forbidden }}}}, llmtest.Say("ok"))
	if _, err := agent.ChatStream("hi").Start().Text(); !errors.Is(err, forbidden) || len(engine.Requests()) != 0 {
		t.Errorf("%v, %d requests", err, len(engine.Requests()))
	}
}
