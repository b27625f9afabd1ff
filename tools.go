package lcm

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/tools"
)

//go:embed prompts/*.md
var texts embed.FS

// The names of the tools that every agent gets.
const (
	GrepName        = toolname.Grep
	DescribeName    = toolname.Describe
	ExpandQueryName = toolname.ExpandQuery
)

// ToolOption says more about the tools of a session.
type ToolOption func(*toolset)

// WithCallerModel names the model of the agent that gets the tools. It answers
// lcm_expand_query where the engine has no expansion model.
func WithCallerModel(e llms.Model) ToolOption {
	return func(t *toolset) {
		if e != nil {
			t.model = e
		}
	}
}

// WithProjectScope has the tools look in all sessions of the session's project, of
// every agent and sub-agents included, unless a call says otherwise; where
// those have little, they look everywhere and say so. allConversations: false
// then means the current conversation. Without this option the tools look in
// the current conversation.
func WithProjectScope() ToolOption { return func(t *toolset) { t.project = true } }

// toolset makes the tools of one session.
type toolset struct {
	session *Session
	model   llms.Model // of the caller
	project bool
	maps    *MapTools
}

func newToolset(s *Session, options []ToolOption) *toolset {
	t := &toolset{session: s}
	for _, o := range options {
		o(t)
	}
	return t
}

// Tools returns the tools with which an agent finds older messages: lcm_grep,
// lcm_describe and lcm_expand_query, and expand, which describes each of them in
// detail. [WithMaps] adds others.
func (s *Session) Tools(options ...ToolOption) []core.Tool {
	t := newToolset(s, options)
	all := []core.Tool{ // in the order of toolname.Agent
		newRecallTool(GrepName, t.project, t.grep),
		newRecallTool(DescribeName, t.project, t.describe),
		newRecallTool(ExpandQueryName, t.project, t.expandQuery),
	}
	more := t.mapTools()
	return append(append(all, tools.NewExpandTool(slices.Concat(all, more)...)), more...)
}

// recallTool is a tool whose errors say where to learn more.
type recallTool struct {
	*core.FuncTool
	parameters json.RawMessage
}

// prompt returns one of the texts for models. They are part of the program.
func prompt(name string) string {
	text, err := texts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic("lcm: " + err.Error())
	}
	return string(text)
}

// projectWords rewords the texts of tools that name the default scope.
var projectWords = strings.NewReplacer(
	"before in this conversation, and with allConversations: true in all others:", "before, in this and earlier sessions:",
)

// projectParameters changes the schema of arguments for WithProjectScope: parameters with
// a tag "project" are described by it and have no default. A model that fills in
// defaults must not narrow the search by that.
func projectParameters[In any](schema json.RawMessage) (json.RawMessage, error) {
	var old struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(schema, &old); err != nil {
		return nil, err
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		words, ok := f.Tag.Lookup("project")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var p struct {
			Type        string `json:"type"`
			Description string `json:"description"`
		}
		if err := json.Unmarshal(old.Properties[name], &p); err != nil {
			return nil, err
		}
		p.Description = words
		changed, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		key := []byte(strconv.Quote(name) + ":") // the order of the others stays
		schema = bytes.Replace(schema, slices.Concat(key, old.Properties[name]), slices.Concat(key, changed), 1)
	}
	return schema, nil
}

// Parameters implements [core.Tool].
func (t recallTool) Parameters() json.RawMessage { return slices.Clone(t.parameters) }

func newRecallTool[In any](name string, project bool, run func(context.Context, In) (any, error)) core.Tool {
	text := prompt(name)
	if project {
		text = projectWords.Replace(text)
	}
	info := core.MustToolInfo(name, text)
	info.Behavior.ReadOnly = true
	tool := core.MustTool(info, func(ctx context.Context, in In) (core.Result, error) {
		answer, err := run(ctx, in)
		if err != nil {
			return core.Result{}, err
		}
		// JSON: the field names are the ones that the tools' texts explain, and
		// quoted text cannot pass for anything else.
		raw, err := jsonstring.Marshal(answer)
		return core.Result{Text: string(raw), Data: answer}, err
	})
	parameters := tool.Parameters()
	if project {
		var err error
		if parameters, err = projectParameters[In](parameters); err != nil {
			panic("lcm: " + err.Error()) // the schema is part of the program
		}
	}
	return recallTool{tool, parameters}
}

// givenKey marks a context with the arguments of a call: the defaults of the schema hide
// which of them the call gives itself.
type givenKey struct{}

func given(ctx context.Context, name string) bool {
	args, _ := ctx.Value(givenKey{}).(map[string]any)
	return args[name] != nil
}

// Run implements [core.Tool].
func (t recallTool) Run(ctx context.Context, args map[string]any) (core.Result, error) {
	r, err := t.FuncTool.Run(context.WithValue(ctx, givenKey{}, args), args)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, toolname.LearnMore(t.GetName()))
	}
	return r, err
}

// Call implements [core.Tool].
func (t recallTool) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(t, ac, args)
}

// where is the scope of a request and, with WithProjectScope, the session's project.
func (t *toolset) where(ctx context.Context, conversation record.ConversationID, all bool) recall.Where {
	w := recall.Where{ConversationID: conversation, AllConversations: all, InTurn: true}
	if p := t.session.open.Project; t.project {
		w.CurrentOnly, w.Widen = given(ctx, "allConversations") && !all, true
		if p != (record.Project{}) {
			w.Projects = []record.Project{p}
		}
	}
	return w
}

type grepArgs struct {
	Pattern          string                `json:"pattern" description:"Search pattern: a regular expression, or words or a question with mode full_text"`
	Mode             recall.Mode           `json:"mode,omitempty" enum:"regex,full_text" description:"How the pattern is read (default: as a regex; plain words that match nothing are then read as words)"`
	Scope            string                `json:"scope" enum:"messages,summaries,both" default:"both" description:"What is searched"`
	ConversationID   record.ConversationID `json:"conversationId,omitempty" description:"A specific conversation (default: the current one)" project:"A specific conversation (default: the sessions of the project)"`
	AllConversations bool                  `json:"allConversations" default:"false" description:"Search all conversations" project:"true: every project; false: only the current conversation (default: the project)"`
	SummaryID        record.SummaryID      `json:"summaryId,omitempty" description:"Only messages beneath this summary, sum_…"`
	Since            string                `json:"since,omitempty" description:"Not before this time (ISO, inclusive)"`
	Before           string                `json:"before,omitempty" description:"Before this time (ISO, exclusive)"`
	Limit            int                   `json:"limit" default:"50" minimum:"1" maximum:"200" description:"Most results"`
	Sort             recall.Sort           `json:"sort,omitempty" enum:"recency,relevance" description:"Order (default: relevance; recency for a regex with operators or with mode)"`
	Role             llms.Role             `json:"role,omitempty" enum:"user,assistant,system,tool" description:"Only messages of this role"`
	Tool             string                `json:"tool,omitempty" description:"Only calls of this tool and their results"`
	Context          int                   `json:"context,omitempty" minimum:"0" maximum:"20" description:"Messages to show before and after each match"`
	Everything       bool                  `json:"everything,omitempty" description:"Also find the current prompt, lcm's own output and hosts' bookkeeping"`
	Cursor           string                `json:"cursor,omitempty" description:"nextCursor of the answer before, with the same other arguments"`
}

func (t *toolset) grep(ctx context.Context, in grepArgs) (any, error) {
	only := given(ctx, "context") && in.Context == 0
	found, err := t.session.Grep(ctx, recall.GrepRequest{
		Pattern: in.Pattern, Mode: in.Mode, Kinds: in.Scope, Where: t.where(ctx, in.ConversationID, in.AllConversations),
		SummaryID: in.SummaryID, Since: in.Since, Before: in.Before, Limit: in.Limit, Sort: in.Sort, Role: in.Role, Tool: in.Tool, Context: in.Context,
		Cursor: in.Cursor, Everything: in.Everything, NoSaid: only,
	})
	if only {
		found = found.OnlyMatches()
	}
	return found, err
}

type expandQueryArgs struct {
	Prompt           string                `json:"prompt" description:"The question to answer"`
	Query            string                `json:"query,omitempty" description:"Words to find summaries and messages with (required if there are no summaryIds)"`
	SummaryIDs       []record.SummaryID    `json:"summaryIds,omitempty" description:"Specific summaries to expand, sum_… (required if there is no query)"`
	MaxTokens        int                   `json:"maxTokens" default:"2000" minimum:"50" maximum:"16000" description:"Answer length cap"`
	ConversationID   record.ConversationID `json:"conversationId,omitempty" description:"A specific conversation (default: the current one)" project:"A specific conversation (default: the sessions of the project)"`
	AllConversations bool                  `json:"allConversations" default:"false" description:"Search across all conversations" project:"As in lcm_grep"`
	Output           string                `json:"output" enum:"answer,evidence" default:"answer" description:"answer, or evidence for verbatim passages without a sub-agent"`
}

// expandQuery answers a question. Unlike [Session.Ask] it refuses a call without
// query and summaryIds.
func (t *toolset) expandQuery(ctx context.Context, in expandQueryArgs) (any, error) {
	if strings.TrimSpace(in.Query+prose.Join(in.SummaryIDs, "", 0)) == "" {
		return nil, errors.New("neither summaryIds nor query is given: pass the ids of summaries to expand, or words to find them with")
	}
	if !given(ctx, "maxTokens") {
		in.MaxTokens = 0 // evidence is shorter than an answer may be
	}
	a, err := t.session.Ask(ctx, recall.Question{
		Prompt: in.Prompt, Query: in.Query, SummaryIDs: in.SummaryIDs, MaxTokens: in.MaxTokens, Output: in.Output,
		Where: t.where(ctx, in.ConversationID, in.AllConversations), Agent: core.AgentContextFrom(ctx).AgentName(), Model: t.model,
	})
	if err == nil && a.Method == recall.MethodNone {
		a.Notes = append(slices.Clone(a.Notes), toolname.LearnMore(ExpandQueryName))
	}
	return a, err
}

type describeArgs struct {
	ID               string                `json:"id" description:"sum_… for a summary, file_… for a stored file, msg_… for a message"`
	ConversationID   record.ConversationID `json:"conversationId,omitempty" description:"A specific conversation (default: the current one)" project:"A specific conversation (default: the sessions of the project)"`
	AllConversations bool                  `json:"allConversations" default:"false" description:"Allow lookups across conversations" project:"As in lcm_grep"`
	MaxTokens        int                   `json:"maxTokens" default:"8000" minimum:"1" maximum:"100000" description:"Most content in one answer; nextCursor leads to the rest"`
	Cursor           string                `json:"cursor,omitempty" description:"nextCursor of the answer before, with the same other arguments"`
	Lines            string                `json:"lines,omitempty" description:"Only these lines of the content: 120-180"`
	Pattern          string                `json:"pattern,omitempty" description:"Only the lines that match this regex"`
}

// describe looks one thing up. Content is paged: a file is stored apart
// because it is too large for a context.
func (t *toolset) describe(ctx context.Context, in describeArgs) (any, error) {
	id, err := lookup.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	return t.session.Describe(ctx, recall.DescribeRequest{
		ID: id, Where: t.where(ctx, in.ConversationID, in.AllConversations), MaxTokens: in.MaxTokens, Cursor: in.Cursor, Lines: in.Lines, Pattern: in.Pattern,
	})
}

// Guidance returns the paragraph about the memory for an agent's system prompt. It
// tells the agent when to use the tools of [Session.Tools] and where they look; pass
// the options that the tools get. An agent whose memory is a [Memory] gets it
// without asking.
func (s *Session) Guidance(options ...ToolOption) string {
	t := newToolset(s, options)
	scope := "scope"
	if t.project {
		scope = "scope_project"
	}
	return strings.TrimSpace(prompt("guidance")) + "\n\n" + strings.TrimSpace(prompt(scope))
}

// subAgents runs the sub-agents of package delegation on the agent runtime. The
// record and the runtime meet here and in [Memory].
type subAgents struct{ engine llms.Model }

func newSubAgents(m llms.Model) delegation.Runner { return subAgents{m} }

// maxPages is how many rounds of tool calls a sub-agent may take.
const maxPages = 24

// Name implements [delegation.Runner].
func (r subAgents) Name() string { return r.engine.Name() }

// Spawn implements [delegation.Runner]. The session lives in a transcript in
// memory, and goes with it.
func (r subAgents) Spawn(_ context.Context, c delegation.Child) (delegation.Session, error) {
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: c.Meter.Engine(r.engine), AgentName: c.Key, SystemPrompt: c.System, Tools: c.Tools,
		Memory: agents.NewTranscript(), MaxToolIterations: maxPages,
	})
	if err != nil {
		return nil, err
	}
	session := &childSession{}
	session.agent.Store(agent)
	return session, nil
}

type childSession struct{ agent atomic.Pointer[agents.Agent] }

// relayName names the sub-agent in events that are relayed to the stream of the agent
// that asked.
const relayName = ExpandQueryName

// Ask implements [delegation.Session]. Calls and costs are relayed to the
// agent that asked; the results of calls are not, because raw content must not
// reach the caller.
func (s *childSession) Ask(ctx context.Context, message string) (string, error) {
	agent := s.agent.Load()
	if agent == nil {
		return "", errors.New("the sub-agent's session is closed")
	}
	stream := agent.ChatStream(message).StartContext(ctx)
	defer stream.Stop()
	for e := range stream.EventsContext(ctx) {
		switch e.Kind {
		case core.EventDone:
			return e.Text, nil
		case core.EventError:
			return "", e.Err
		case core.EventToolCall, core.EventUsage:
			core.Emit(ctx, e.Relayed(relayName))
		}
	}
	return "", context.Cause(ctx)
}

// Close implements [delegation.Session].
func (s *childSession) Close() { s.agent.Store(nil) }
