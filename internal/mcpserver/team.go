package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// Team is the server of a team (`lcm team serve`). With it lcm_grep, lcm_describe and
// lcm_expand_query take the argument team: true calls the same tool of that server.
type Team struct {
	URL   string // like https://lcm.example
	Token string
}

// The longest that the team's server may take. A question may wait for a model.
const (
	teamTime    = 20 * time.Second
	teamAskTime = 3 * time.Minute
)

// theirs are arguments that name something in the team's record: the same id means another
// thing in the record of this machine.
var theirs = []string{"id", "cursor", "conversationId", "summaryIds"}

// run answers a call, from the team's server if it asks for that. If the server cannot be
// reached, the record of this machine answers, with a note.
func (c *call) run(ctx context.Context, f toolSpec) (answer, error) {
	if team, _ := c.schema.Coerce(c.args)["team"].(bool); !team {
		return f.run(c, ctx)
	}
	if c.config.Team == nil {
		return answer{}, learnMore(c.tool, &core.ArgumentError{Tool: c.tool.GetName(), Problems: []string{"this server has no team: leave team out"}})
	}
	c.report("asking the team's server")
	args := maps.Clone(c.args)
	delete(args, "team")
	limit := teamTime
	if c.tool.GetName() == lcm.ExpandQueryName {
		limit = teamAskTime
	}
	if args["conversationId"] == nil { // the server has no current conversation or project
		args["allConversations"] = true
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := c.config.Team.call(asking, c.config.Version, c.tool.GetName(), args, c.patient)
	if err == nil {
		return c.fromTeam(r)
	}
	if ctx.Err() != nil {
		return answer{}, err
	}
	problem := "the team's server could not be asked: " + safetext.Line(prose.Clip(err.Error(), 200))
	if slices.ContainsFunc(theirs, func(name string) bool { return args[name] != nil }) {
		if !errors.Is(err, errTokenRefused) {
			problem += "; ask again later"
		}
		return answer{}, fmt.Errorf("%s; ids and cursors of the team's record mean nothing in the record of this machine", problem)
	}
	c.notes = append(c.notes, problem+"; this is the answer of the record on this machine")
	return f.run(c, ctx)
}

// teamNote says of an answer where it comes from.
const teamNote = "From the team's record: pass team: true with these ids and cursors."

// fromTeam returns an answer of the team's server, within the bound of this server. If its
// structured form is too long, a client that expects one gets the text as a refusal.
func (c *call) fromTeam(r *mcp.CallToolResult) (answer, error) {
	var all strings.Builder
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			all.WriteString(t.Text)
		}
	}
	if r.IsError {
		return answer{}, refusal(safetext.Text(prose.Clip(all.String(), maxRefusal)))
	}
	text := teamNote + "\n\n" + all.String()
	value, structured := r.StructuredContent.(map[string]any)
	if structured = structured && c.host == ""; !structured {
		return answer{text: c.clip(text)}, nil
	}
	notes, _ := value["notes"].([]any)
	value["notes"] = append([]any{teamNote}, notes...)
	if c.fits(text, value) {
		return answer{text: text, value: value}, nil
	}
	return answer{}, refusal(c.clip("The team's server sent more than fits one answer, so this is its text alone. Ask for less at a time.\n" + text))
}

// maxRefusal is how many characters of a refusal of the team's server are shown.
const maxRefusal = 2000

// clip cuts a text to the size that fits. Its end stays, which may have a cursor.
func (c *call) clip(text string) string {
	if c.fits(text, nil) {
		return text
	}
	note := fmt.Sprintf("\n\n[A part is left out: an answer has at most %d tokens. Ask for less at a time.]\n\n", c.config.MaxTokens)
	end := max(0, len(text)-400)
	head, tail := text[:end], text[end:]
	cut := func(n int) string { return strings.ToValidUTF8(head[:n]+note+tail, "") }
	// No text that fits has more bytes than this: counting a longer one would take long.
	most := min(len(head), c.config.MaxTokens*charsPerToken)
	return cut(max(0, sort.Search(most, func(n int) bool { return !c.fits(cut(n), nil) })-1))
}

// call calls a tool of the team's server. Each call has a session of its own: the server
// may have been restarted, or be another one behind the same address.
func (t *Team) call(ctx context.Context, version, tool string, args map[string]any, patient bool) (result *mcp.CallToolResult, err error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "lcm", Version: version}, nil)
	sender := &bearer{next: transport, token: t.Token}
	defer func() {
		if err != nil && sender.refused.Load() {
			err = errTokenRefused
		}
	}()
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: strings.TrimRight(t.URL, "/") + Path, MaxRetries: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{
			Transport: sender,
			// The token is for this server alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	if patient { // else the server ends as early as this one
		p.SetProgressToken(tool)
	}
	return session.CallTool(ctx, p)
}

// errTokenRefused says that the team's server does not accept the token.
var errTokenRefused = errors.New("it does not accept the token: the user has to set a valid one (sync.token)")

// bearer sends a token with each request.
type bearer struct {
	next    http.RoundTripper
	token   string
	refused atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	got, err := b.next.RoundTrip(r)
	if err == nil {
		got.Body = http.MaxBytesReader(nil, got.Body, maxLine)
		b.refused.CompareAndSwap(false, got.StatusCode == http.StatusUnauthorized)
	}
	return got, err
}
