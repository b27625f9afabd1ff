// Package tracing starts the OpenTelemetry spans of this module: a request, a turn of an agent, a
// model call, a tool call, recall, the store.
//
// A span belongs to the provider of the span in its context. Where the context has none,
// it belongs to the global provider, so that a program that embeds lcm and sets one
// (otel.SetTracerProvider) gets the spans of recall and of the store. Without a provider
// no span is made.
//
// Attributes are counts, sizes and words from this module's own lists, names of agents, models and
// tools, and ids of conversations, answers and calls. Text of messages,
// queries, names of projects and texts of errors, which may quote any of them, are never
// in a span.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/lossless-context/lcm"

// none is the global provider of a program that has set none; nil if one was set before
// this package was initialised.
var none = func() trace.TracerProvider {
	if p := otel.GetTracerProvider(); fmt.Sprintf("%T", p) == "*global.tracerProvider" {
		return p
	}
	return nil
}()

// Span is a span that has been started. The zero Span records nothing.
type Span struct{ span trace.Span }

// Client is an option of [Start]: the span is of a call of another program.
var Client = trace.WithSpanKind(trace.SpanKindClient)

// Start starts a span below the one in ctx.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, Span) {
	var p trace.TracerProvider
	if parent := trace.SpanFromContext(ctx); parent.SpanContext().IsValid() && !parent.SpanContext().IsRemote() {
		p = parent.TracerProvider()
	} else if p = otel.GetTracerProvider(); p == none {
		return ctx, Span{}
	}
	ctx, span := p.Tracer(Scope).Start(ctx, name, options...)
	return ctx, Span{span}
}

// StartRemote starts a span of a given provider below the span that the headers of a
// request name (traceparent, tracestate), or at the root where they name none. A provider
// that is nil makes no span.
func StartRemote(ctx context.Context, p trace.TracerProvider, h http.Header, name string, kind trace.SpanKind) (context.Context, Span) {
	if p == nil {
		return ctx, Span{}
	}
	// A context that outlives its request may have a span of an earlier one.
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
	ctx, span := p.Tracer(Scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// Of returns the span of ctx.
func Of(ctx context.Context) Span { return Span{trace.SpanFromContext(ctx)} }

// Inject writes the span of ctx into the headers of a request.
func Inject(ctx context.Context, h http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
}

func (s Span) set(all ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(all...)
	}
}

// Int sets an attribute to a count or a size.
func (s Span) Int(key string, n int) { s.set(attribute.Int("lcm."+key, n)) }

// Word sets an attribute to a word from a list of this module, never to text of a user.
func (s Span) Word(key, word string) { s.set(attribute.String("lcm."+key, word)) }

// GenAI sets an attribute of OpenTelemetry's conventions for generative AI: a count, a name or an
// id. It sets none that is empty.
func (s Span) GenAI(key string, value any) {
	switch v := value.(type) {
	case int:
		s.set(attribute.Int("gen_ai."+key, v))
	case string:
		if v != "" {
			s.set(attribute.String("gen_ai."+key, v))
		}
	case []string:
		s.set(attribute.StringSlice("gen_ai."+key, v))
	}
}

// Fail says that what the span is about has failed, with a kind of error: the code of HTTP, or a
// word from a list of this module.
func (s Span) Fail(kind string) {
	s.set(attribute.String("error.type", kind))
	if s.span != nil {
		s.span.SetStatus(codes.Error, "")
	}
}

// Outcome says whether a tool answered or refused.
func (s Span) Outcome(refused bool) {
	word := "answered"
	if refused {
		word = "refused"
	}
	s.Word("outcome", word)
}

// HTTP sets the attributes of a request to a server.
func (s Span) HTTP(method, route string, code int) {
	s.set(attribute.String("http.request.method", KnownMethod(method)), attribute.String("http.route", route), attribute.Int("http.response.status_code", code))
	if s.span != nil && code >= 500 {
		s.span.SetStatus(codes.Error, "")
	}
}

// KnownMethod returns a method of HTTP, or _OTHER: a client may send any word.
func KnownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodPatch:
		return method
	}
	return "_OTHER"
}

// End ends a span. The kind of the error is recorded, not its text.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		kind := "_OTHER"
		switch {
		case errors.Is(err, context.Canceled):
			kind = "canceled"
		case errors.Is(err, context.DeadlineExceeded):
			kind = "timeout"
		}
		s.Fail(kind)
	}
	s.span.End()
}
