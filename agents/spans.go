package agents

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/llms"
)

// span starts a span by OpenTelemetry's conventions for generative AI.
func (a *Agent) span(ctx context.Context, operation, subject string, options ...trace.SpanStartOption) (context.Context, tracing.Span) {
	ctx, span := tracing.Start(ctx, operation+" "+subject, options...)
	span.GenAI("operation.name", operation)
	provider, _ := modelName(a.config.LLMEngine)
	span.GenAI("provider.name", provider)
	span.GenAI("agent.name", a.Name())
	if m, ok := a.config.Memory.(interface{ ConversationID() string }); ok {
		span.GenAI("conversation.id", m.ConversationID())
	}
	return ctx, span
}

// modelName takes the name of a model port apart: anthropic/claude-sonnet-4-5. The settings
// name a model without its provider.
func modelName(m llms.Model) (provider, model string) {
	provider, model, ok := strings.Cut(m.Name(), "/")
	switch {
	case ok:
		return provider, model
	case strings.HasPrefix(provider, "claude"):
		return "anthropic", provider
	case strings.HasPrefix(provider, "gpt"):
		return "openai", provider
	}
	return provider, provider
}

// finishReasons are the words of the conventions for why a model stopped.
var finishReasons = map[llms.StopReason]string{
	llms.StopEnd: "stop", llms.StopSequence: "stop", llms.StopToolCalls: "tool_call", llms.StopLength: "length", llms.StopRefusal: "content_filter",
}

// endSpan ends a span. A turn that waits for approval has not failed.
func endSpan(span tracing.Span, err error) {
	failed, ofModel := errors.AsType[*llms.Error](err)
	switch {
	case errors.As(err, new(*ApprovalError)):
		span.Word("outcome", "waits for approval")
		err = nil
	case !ofModel || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
	case failed.Status > 0:
		span.Fail(strconv.Itoa(failed.Status))
		err = nil
	case failed.Class != "":
		span.Fail(string(failed.Class))
		err = nil
	}
	span.End(err)
}
