package agents_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
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
	agent, _ := build(t, agents.AgentConfig{Model: "big", Tools: []llms.Tool{tools.NewFooTool()}}, call, llmtest.Say("a secret word"))
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
	want := []string{"chat big", "execute_tool foo", "chat big", "invoke_agent main", "root"}
	if !slices.Equal(names, want) || !tokens {
		t.Errorf("spans %q, tokens %v", names, tokens)
	}
}

// inSession is a memory that knows the conversation it belongs to.
type inSession struct{ *agents.Transcript }

func (inSession) ConversationID() string { return "session 7" }

// Spans have the kinds, names, ids and errors of the conventions for generative AI.
func TestSpansFollowTheConventions(t *testing.T) {
	spans := func(reply ...llmtest.Reply) (out []string) {
		kept := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
		ctx, _ := provider.Tracer("test").Start(t.Context(), "root")
		agent, _ := build(t, agents.AgentConfig{Memory: inSession{agents.NewTranscript()}, Tools: []llms.Tool{
			tool("fail", func(context.Context, map[string]any) (core.Result, error) {
				return core.ErrorResult(errors.New("no")), nil
			}),
			tool("break", func(context.Context, map[string]any) (core.Result, error) { return core.Result{}, errors.New("no") }),
			counted("deploy", core.Behavior{NeedsApproval: true}, new(int)),
		}}, reply...)
		_, _ = agent.ChatStream("go").StartContext(ctx).Text()
		for _, s := range kept.GetSpans() {
			line := s.Name + " " + s.SpanKind.String() + " " + s.Status.Code.String()
			for _, a := range s.Attributes {
				if !strings.HasPrefix(string(a.Key), "gen_ai.usage") && a.Key != "gen_ai.response.id" {
					line += " " + strings.TrimPrefix(string(a.Key), "gen_ai.") + "=" + a.Value.String()
				}
			}
			out = append(out, line)
		}
		return out
	}
	const about = " provider.name=llmtest agent.name=main conversation.id=session 7"
	for name, c := range map[string]struct {
		replies []llmtest.Reply
		want    []string
	}{
		"a failing tool": {[]llmtest.Reply{{Calls: []llms.ToolCall{{ID: "c1", Name: "fail", Arguments: `{}`}}}, llmtest.Say("ok")}, []string{
			`chat scripted client Unset operation.name=chat` + about + ` request.model=scripted response.model=scripted response.finish_reasons=["tool_call"]`,
			`execute_tool fail internal Error operation.name=execute_tool` + about + ` tool.name=fail tool.type=function tool.call.id=c1 lcm.outcome=refused error.type=tool_error`,
			`chat scripted client Unset operation.name=chat` + about + ` request.model=scripted response.model=scripted response.finish_reasons=["stop"]`,
			`invoke_agent main internal Unset operation.name=invoke_agent` + about,
		}},
		"a tool that breaks": {[]llmtest.Reply{{Calls: []llms.ToolCall{{ID: "c1", Name: "break", Arguments: `{}`}}}, llmtest.Status(429, "slow down")}, []string{
			`chat scripted client Unset operation.name=chat` + about + ` request.model=scripted response.model=scripted response.finish_reasons=["tool_call"]`,
			`execute_tool break internal Error operation.name=execute_tool` + about + ` tool.name=break tool.type=function tool.call.id=c1 lcm.outcome=refused error.type=_OTHER`,
			`chat scripted client Error operation.name=chat` + about + ` request.model=scripted error.type=429`,
			`invoke_agent main internal Error operation.name=invoke_agent` + about + ` error.type=429`,
		}},
		"a connection that breaks": {[]llmtest.Reply{llmtest.Say("one two").Broken(llmtest.FaultCut, 1)}, []string{
			`chat scripted client Error operation.name=chat` + about + ` request.model=scripted error.type=transient`,
			`invoke_agent main internal Error operation.name=invoke_agent` + about + ` error.type=transient`,
		}},
		"an error of the provider": {[]llmtest.Reply{llmtest.Status(429, "slow down")}, []string{
			`chat scripted client Error operation.name=chat` + about + ` request.model=scripted error.type=429`,
			`invoke_agent main internal Error operation.name=invoke_agent` + about + ` error.type=429`,
		}},
		"a call that waits": {[]llmtest.Reply{llmtest.Call("deploy", `{}`)}, []string{
			`chat scripted client Unset operation.name=chat` + about + ` request.model=scripted response.model=scripted response.finish_reasons=["tool_call"]`,
			`invoke_agent main internal Unset operation.name=invoke_agent` + about + ` lcm.outcome=waits for approval`,
		}},
	} {
		if diff := cmp.Diff(c.want, spans(c.replies...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
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
