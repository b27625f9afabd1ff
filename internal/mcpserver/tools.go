package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/tools"
)

// call is one call of a tool.
type call struct {
	*Server
	tool   core.Tool
	schema *core.Schema
	from   func(context.Context) Caller
	args   map[string]any // as they were sent
	// currentOnly is an explicit allConversations: false.
	currentOnly bool
	// client identifies the session: delegation serialises its questions.
	client string
	host   string // the name of the host, "" for other clients
	// patient says that the client asked for progress, and so waits as long as there is some.
	patient bool
	// report tells the caller how far the call is.
	report func(what string)
	notes  []string // of the answer
}

// answer is the result of a call: a text and, for the recall tools, the same as
// a value.
type answer struct {
	text  string
	value any
}

// toolSpec says how a tool is offered to MCP clients.
type toolSpec struct {
	title  string
	schema func() (*jsonschema.Schema, error) // of the structured content
	run    func(*call, context.Context) (answer, error)
	world  bool // the call may leave the machine
}

// specs lists the tools that are offered. lcm_expand is not: it belongs to the
// sub-agent that answers lcm_expand_query.
func (s *Server) specs() map[string]toolSpec {
	team := s.config.Team != nil
	return map[string]toolSpec{
		lcm.GrepName:        {title: "Search memory", schema: schemaOf[grepResult], run: (*call).grep, world: team},
		lcm.DescribeName:    {title: "Show one thing from memory", schema: describeSchema, run: (*call).describe, world: team},
		lcm.ExpandQueryName: {title: "Ask memory", schema: schemaOf[askResult], run: (*call).expandQuery, world: team || s.config.Model},
		// expand has no structured content: hosts would show its text to the
		// model as JSON.
		tools.ExpandName: {title: "Explain a tool", run: (*call).expand},
		toolname.Why:     {title: "Explain a line of a file", run: (*call).why},
	}
}

// addTools offers the tools of a session under their own names, parameters and
// texts. The SDK lists them by name, so that the order is fixed.
func (s *Server) addTools() error {
	specs := s.specs()
	for _, t := range s.tools() {
		f, ok := specs[t.GetName()]
		if !ok {
			continue
		}
		takes, err := argumentsOf(t, s.config.Team != nil)
		if err != nil {
			return err
		}
		offer := &mcp.Tool{
			Name: t.GetName(), Title: f.title, Description: core.BasicDescription(t), InputSchema: takes.listed,
			Meta: s.toolMeta(), Annotations: &mcp.ToolAnnotations{
				Title: f.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(bool), OpenWorldHint: &f.world,
			},
		}
		if f.schema != nil {
			schema, err := f.schema()
			if err != nil {
				return fmt.Errorf("mcpserver: the output of %s: %w", offer.Name, err)
			}
			offer.OutputSchema = schema
		}
		s.mcp.AddTool(offer, s.handler(t, takes.all, f))
		s.offered = append(s.offered, Tool{t.GetName(), offer.Description, takes.listed, s.asking(t, takes.all, f)})
	}
	return nil
}

// Tool is a tool for a host that does not speak MCP and offers it to its model by itself.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage // their JSON Schema
	// Run answers a call with a text for the model. failed says that it is an error.
	Run func(ctx context.Context, from Caller, args json.RawMessage) (text string, failed bool)
}

// Tools returns the tools that clients are offered.
func (s *Server) Tools() []Tool { return slices.Clone(s.offered) }

// asking returns [Tool.Run] of a tool.
func (s *Server) asking(t core.Tool, schema *core.Schema, f toolSpec) func(context.Context, Caller, json.RawMessage) (string, bool) {
	return func(ctx context.Context, from Caller, raw json.RawMessage) (string, bool) {
		args, err := arguments(t, raw)
		if err != nil {
			return errorText(learnMore(t, err)), true
		}
		c := &call{Server: s, tool: t, schema: schema, args: args, from: func(context.Context) Caller { return from },
			host: from.Host, client: from.Key(), report: func(string) {}}
		a, err := c.answer(ctx, f)
		if err != nil {
			return errorText(err), true
		}
		return a.text, false
	}
}

// tools returns the tools of a session. The session itself is never opened: each
// call decides anew which conversation is current.
func (s *Server) tools() []core.Tool {
	all := s.config.Engine.Session("mcp").Tools(lcm.WithProjectScope())
	if s.config.Local {
		all = append(all, newWhyTool())
	}
	return all
}

// charsPerToken is more than any text has, so that a bound in characters never
// cuts a text that is within the bound in tokens.
const charsPerToken = 8

// toolMeta holds hints for Claude Code: list the tools without a search, and
// accept answers as long as the settings allow.
func (s *Server) toolMeta() mcp.Meta {
	return mcp.Meta{
		"anthropic/alwaysLoad":         true,
		"anthropic/maxResultSizeChars": min(s.config.MaxTokens*charsPerToken, 500_000),
	}
}

// handler runs a tool for a client. An error that the model can correct is a
// result with isError: a protocol error would not reach the model.
func (s *Server) handler(t core.Tool, schema *core.Schema, f toolSpec) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := arguments(t, req.Params.Arguments)
		if err != nil {
			return failure(learnMore(t, err)), nil
		}
		patient := req.Params.GetProgressToken() != nil
		ctx, stop := context.WithCancel(ctx)
		if !patient {
			ctx, stop = context.WithTimeout(ctx, s.config.Patience)
		}
		defer stop()
		defer context.AfterFunc(s.lifetime, stop)()
		c := &call{Server: s, tool: t, schema: schema, args: args, patient: patient, host: s.hostOf(req), client: fmt.Sprintf("mcp %p", req.Session)}
		c.from = func(ctx context.Context) Caller { return s.caller(ctx, c.host, req.Session, req.Params.Meta) }
		if s.config.Stateless {
			c.client = sessionID(req)
		}
		var done func()
		c.report, done = s.progress(ctx, req)
		a, err := c.answer(ctx, f)
		done()
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return failure(err), nil
		}
		if c.host != "" {
			a.value = nil // see textForHosts
		}
		return a.result()
	}
}

// answer runs a call. The error is one that the model may see.
func (c *call) answer(ctx context.Context, f toolSpec) (a answer, err error) {
	err = guard.Run(func() (err error) { a, err = c.run(ctx, f); return err })
	if p := new(guard.Panic); errors.As(err, &p) {
		c.config.Log.Error("a tool call panicked", "tool", c.tool.GetName(), "panic", p.Value, "stack", string(p.Stack))
		err = fmt.Errorf("%s failed inside lcm: %v", c.tool.GetName(), p.Value)
	}
	if err != nil && ctx.Err() == nil && c.config.PublicError != nil {
		if public, changed := c.config.PublicError(err); changed {
			c.config.Log.Error("a tool call failed", "tool", c.tool.GetName(), "error", err)
			err = public
		}
	}
	return a, err
}

// textForHosts lists tools for hosts without output schemas, and their answers
// have no structured content. Claude Code and Codex would show it to their model
// in place of the text, as JSON: longer, and code full of escapes. Other clients
// get both.
func (s *Server) textForHosts(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		if s.hostOf(req) == "" {
			return result, nil
		}
		plain := *list
		plain.Tools = make([]*mcp.Tool, len(list.Tools))
		for i, t := range list.Tools {
			c := *t
			c.OutputSchema = nil
			plain.Tools[i] = &c
		}
		return &plain, nil
	}
}

// arguments decodes the arguments of a call as an object.
func arguments(t core.Tool, raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return nil, &core.ArgumentError{Tool: t.GetName(), Problems: []string{"the arguments are not a JSON object"}}
	}
	return args, nil
}

// read coerces and checks the arguments of a call, and decodes them into a
// request, whose fields have the names of the arguments.
func (c *call) read(request any) error {
	applied, problems := c.schema.Apply(c.schema.Coerce(c.args))
	if len(problems) > 0 {
		return learnMore(c.tool, &core.ArgumentError{Tool: c.tool.GetName(), Problems: problems})
	}
	all, given := applied["allConversations"].(bool)
	c.currentOnly = given && !all
	raw, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, request); err != nil {
		return learnMore(c.tool, &core.ArgumentError{Tool: c.tool.GetName(), Problems: []string{err.Error()}})
	}
	return nil
}

// learnMore adds the call that shows the tool's troubleshooting guide.
func learnMore(t core.Tool, err error) error {
	return fmt.Errorf("%w\n%s", err, toolname.LearnMore(t.GetName()))
}

// failure returns an error to the model.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: errorText(err)}}, IsError: true}
}

// errorText is an error as the model gets it. A refusal keeps the tool's own words.
func errorText(err error) string {
	if r := refusal(""); errors.As(err, &r) {
		return string(r)
	}
	return core.ErrorResult(err).Text
}

func (a answer) result() (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}}
	if a.value != nil {
		raw, err := jsonstring.Marshal(a.value)
		if err != nil {
			return nil, err
		}
		r.StructuredContent = json.RawMessage(raw)
	}
	return r, nil
}

// expand explains the tools. It parses its own arguments and words its own
// errors.
func (c *call) expand(ctx context.Context) (answer, error) {
	ac := core.AgentContext{core.KeyTools: c.tools()}
	r, err := c.tool.Run(core.WithAgentContext(ctx, ac), c.args)
	if err != nil {
		return answer{}, err
	}
	if r.IsError {
		return answer{}, refusal(r.ModelText())
	}
	return answer{text: r.Text}, nil
}
