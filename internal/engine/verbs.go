package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// form is a shape of messages: how they are read in assemble and in ingest.
type form struct {
	request apiform.Form
	record  llms.Format
}

// forms are the shapes of messages that hosts may send.
var forms = map[string]form{
	"anthropic": {apiform.Messages, llms.FormatAnthropic},
	"openai":    {apiform.Chat, llms.FormatOpenAI},
	"pi":        {apiform.Pi, llms.FormatPi},
}

func (r request) form() (form, error) {
	f, ok := forms[r.Form]
	if !ok {
		return f, fail(codeRequest, "form: %q is none of anthropic, openai, pi", r.Form)
	}
	return f, nil
}

// How long a verb waits for the record or for a fold where the adapter does not say it.
const (
	helloWait    = 2 * time.Second
	assembleWait = 300 * time.Millisecond
)

// wait bounds a request by its own limit.
func (r request) wait(ctx context.Context, usual time.Duration) (context.Context, time.Duration, context.CancelFunc) {
	d := cmp.Or(time.Duration(max(r.Wait, 0))*time.Millisecond, usual)
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, d, cancel
}

// recallTools are the verbs that are tools for a model.
var recallTools = func() map[string]string {
	verbs := map[string]string{tools.ExpandName: tools.ExpandName}
	for _, name := range toolname.Agent() {
		verbs[toolname.Short(name)] = name
	}
	return verbs
}()

// answer answers a request.
func (s *server) answer(ctx context.Context, r request) (any, error) {
	if r.Verb == "hello" {
		return s.hello(ctx, r)
	}
	if r.Verb == "reply" {
		return s.answered(ctx, r)
	}
	if name, ok := recallTools[r.Verb]; ok && r.Child != "" {
		return s.childTool(ctx, r)
	} else if ok {
		return s.tool(ctx, r, name)
	}
	verb, ok := map[string]func(context.Context, request) (any, error){
		"ingest": s.ingest, "assemble": s.assemble, "compact": s.compact, "shorten": s.shorten, "subagent": s.subagent,
	}[r.Verb]
	if !ok {
		return nil, fail(codeRequest, "verb: %q is not known", r.Verb)
	}
	if r.Session == "" {
		return nil, fail(codeRequest, "session: it is missing")
	}
	return verb(ctx, r)
}

// greeting is the answer to hello.
type greeting struct {
	Protocol int         `json:"protocol"`
	Version  string      `json:"version"`
	Reads    bool        `json:"reads"`
	Tools    []offerTool `json:"tools"`
	Shorten  int         `json:"shorten,omitempty"` // tokens above which shorten is worth asking
	Problem  string      `json:"problem,omitempty"`
}

// offerTool is a tool that an adapter may register for the model.
type offerTool struct {
	Verb        string          `json:"verb"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// meet takes the identity of the adapter's host. It is done before the next line is read.
func (s *server) meet(r request) error {
	if !slices.Contains(r.Protocols, Protocol) {
		return fail(codeVersion, "this lcm speaks version %d of the protocol, the adapter %v", Protocol, r.Protocols)
	}
	if r.Host == "" {
		return fail(codeRequest, "host: it is missing")
	}
	_, err := all.Named[hosts.Host](r.Host)
	if !s.who.CompareAndSwap(nil, &identity{r.Host, err == nil, r.Dir, projectOf(r.Dir)}) && s.who.Load().host != r.Host {
		return fail(codeRequest, "host: this process serves %q", s.who.Load().host)
	}
	return nil
}

func (s *server) hello(ctx context.Context, r request) (any, error) {
	g := greeting{Protocol: Protocol, Version: s.Version, Reads: s.who.Load().reads, Shorten: s.ShortenAbove, Tools: []offerTool{}}
	ctx, _, cancel := r.wait(ctx, helloWait)
	defer cancel()
	o, err := s.record(ctx)
	if err != nil {
		g.Problem = err.Error()
		return g, nil
	}
	for verb, name := range recallTools {
		if t, ok := o.tool(name); ok {
			g.Tools = append(g.Tools, offerTool{verb, t.Name, t.Description, t.Parameters})
		}
	}
	slices.SortFunc(g.Tools, func(a, b offerTool) int { return cmp.Compare(a.Name, b.Name) })
	return g, nil
}

// part is a part of the messages to send: kept ones, from the first index up to the second, or
// a message of the user with texts.
type part struct {
	Keep []int    `json:"keep,omitempty"`
	Say  []string `json:"say,omitempty"`
}

// assembled is the answer to assemble.
type assembled struct {
	Parts  []part `json:"parts"`
	Tokens int    `json:"tokens"` // estimated
	// Folded says that other summaries are shown than in the last answer, and Why, if the
	// messages are above the budget, the reason.
	Folded bool   `json:"folded,omitempty"`
	Why    string `json:"over,omitempty"`
}

func (s *server) assemble(ctx context.Context, r request) (any, error) {
	f, err := r.form()
	if err != nil {
		return nil, err
	}
	if r.Budget <= 0 || len(r.Messages) == 0 {
		return nil, fail(codeRequest, "assemble needs a budget and messages")
	}
	ctx, wait, cancel := r.wait(ctx, assembleWait)
	defer cancel()
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	a := o.proxy.Assemble(proxy.Assembly{
		Host: o.host, Session: r.Session, Form: f.request, Body: r.Body, Model: r.Model, Budget: r.Budget, Tools: r.Tools, Cut: r.Cut, Wait: wait,
	})
	if a.Messages == 0 { // it could not be read
		return nil, fail(codeRequest, "messages: %s", a.Failure)
	}
	out := assembled{Tokens: a.Tokens, Folded: a.Fold, Why: cmp.Or(a.Over, a.Failure)}
	next := 0
	keep := func(to int) {
		if next < to {
			out.Parts = append(out.Parts, part{Keep: []int{next, to}})
		}
	}
	for _, e := range a.Edits {
		keep(e.From)
		out.Parts, next = append(out.Parts, part{Say: e.Say}), e.To
	}
	keep(a.Messages)
	return out, nil
}

// compacted is the answer to compact.
type compacted struct {
	Summary string `json:"summary"`
	Tokens  int    `json:"tokens"` // estimated
}

// compactTokens is how long a summary of a compaction may be where the adapter does not say it.
const compactTokens = 16_000

func (s *server) compact(ctx context.Context, r request) (any, error) {
	budget := cmp.Or(r.Budget, compactTokens)
	if budget < lcm.MinBudget {
		return nil, fail(codeRequest, "budget: %d is too small for a summary; use at least %d", budget, lcm.MinBudget)
	}
	ctx, _, cancel := r.wait(ctx, 20*time.Second)
	defer cancel()
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	c, err := o.proxy.Compact(ctx, o.host, r.Session, r.Keep, budget)
	return compacted{c.Text, c.Tokens}, err
}

func (s *server) subagent(ctx context.Context, r request) (any, error) {
	if r.Child == "" || r.Event != "started" && r.Event != "ended" {
		return nil, fail(codeRequest, "subagent needs a child, and the event started or ended")
	}
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	if r.Event == "ended" {
		o.proxy.Ready(o.host, r.Child)
		return struct{}{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session(r.Child).parent = r.Session
	return struct{}{}, nil
}

// said is the answer of a tool.
type said struct {
	Text  string `json:"text"`
	Error bool   `json:"isError,omitempty"`
}

// catchUpTime bounds how long a tool waits for the transcript of its session.
const catchUpTime = 2 * time.Second

func (s *server) tool(ctx context.Context, r request, name string) (any, error) {
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	t, ok := o.tool(name)
	if !ok {
		return nil, fail(codeRequest, "there is no tool %s", name)
	}
	if o.reads && r.Session != "" {
		bounded, cancel := context.WithTimeout(ctx, catchUpTime)
		_, _ = o.read(bounded, r.Session) // an older record still answers
		cancel()
	}
	from := mcpserver.Caller{Host: o.host, Session: r.Session}
	if dir := cmp.Or(r.Dir, o.dir); dir != "" {
		from.Dirs = []string{dir}
	}
	run := func(ctx context.Context) said {
		text, failed := t.Run(ctx, from, r.Arguments)
		return said{text, failed}
	}
	if r.Delegate && name == lcm.ExpandQueryName {
		return s.delegate(ctx, run)
	}
	return run(ctx), nil
}

// tool returns a tool by its name.
func (o *opened) tool(name string) (t mcpserver.Tool, ok bool) {
	i := slices.IndexFunc(o.Tools, func(t mcpserver.Tool) bool { return t.Name == name })
	if i < 0 {
		return t, false
	}
	return o.Tools[i], true
}

// key is the key of a session's conversation.
func (o *opened) key(session string) string { return o.host + ":" + session }
