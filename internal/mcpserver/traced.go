package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/lossless-context/lcm/internal/kit/tracing"
)

// traced makes a span of each call of a tool. The context of
// a call is that of the request that began the session, so the span above is in the
// headers of the call's own request: whoever serves the endpoint writes it there.
func (s *Server) traced(next mcp.MethodHandler) mcp.MethodHandler {
	if s.config.Tracer == nil {
		return next
	}
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		tool := "unknown"
		if s.specs()[call.Params.Name].run != nil {
			tool = call.Params.Name
		}
		extra := req.GetExtra()
		if extra == nil {
			extra = &mcp.RequestExtra{}
		}
		ctx, span := tracing.StartRemote(ctx, s.config.Tracer, extra.Header, "mcp "+method, trace.SpanKindInternal)
		defer func() { span.End(err) }()
		span.Word("tool", tool)
		result, err = next(ctx, method, req)
		if r, ok := result.(*mcp.CallToolResult); ok && err == nil {
			span.Outcome(r.IsError)
		}
		return result, err
	}
}
