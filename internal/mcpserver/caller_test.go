package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func callOf(tool string, a args) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: a}
}

// where greps the current conversation for a word that every conversation has,
// and tells where that was looked for.
func (c *client) where(meta mcp.Meta) found {
	c.t.Helper()
	p := callOf("lcm_grep", args{"pattern": "needle", "allConversations": false, "everything": true})
	p.Meta = meta
	return grepped(c.t, c.callWith(p))
}

func TestTheCurrentConversation(t *testing.T) {
	r := newRecord(t)
	needle := func() llms.Message { return user("the needle") }
	old := r.say("claude:old", r.dir, 3*time.Hour, needle())
	newer := r.say("claude:new", r.dir, time.Hour, needle(), llms.Calls("", llms.ToolCall{ID: "toolu_7", Name: "mcp__lcm__lcm_grep", Arguments: `{"pattern":"needle"}`}))
	codex := r.say("codex:thread-1", r.dir, 2*time.Hour, needle())
	elsewhere := r.say("claude:elsewhere", r.other, time.Minute, needle())
	r.say("cline:here", r.dir, 2*time.Hour, needle())
	cline := r.say("cline:elsewhere", r.other, time.Hour, needle())
	claude := map[string]string{"CLAUDE_CODE_SESSION_ID": "old"}
	tests := []struct {
		name   string
		client string
		env    map[string]string
		meta   mcp.Meta
		roots  []string
		want   store.ConversationID
	}{
		{name: "the newest of the project", want: newer},
		{name: "the newest of the calling host", client: "codex-mcp-client", want: codex},
		{name: "a host that has none here yet", client: "opencode", want: newer},
		{name: "the thread that Codex names", client: "codex-mcp-client", meta: mcp.Meta{"threadId": "thread-1"}, want: codex},
		{name: "the session that Claude Code was started for", client: "claude-code", env: claude, want: old},
		{name: "the session that makes the call, after /clear", client: "claude-code", env: claude, meta: mcp.Meta{"claudecode/toolUseId": "toolu_7"}, want: newer},
		{name: "a call that is not written yet", client: "claude-code", env: claude, meta: mcp.Meta{"claudecode/toolUseId": "toolu_9"}, want: old},
		{name: "a session that is not stored", client: "claude-code", env: map[string]string{"CLAUDE_CODE_SESSION_ID": "gone"}, want: newer},
		{name: "the project that the environment names", env: map[string]string{"CLAUDE_PROJECT_DIR": r.other}, want: elsewhere},
		{name: "a host that was started from Claude Code's shell", client: "codex-mcp-client", env: map[string]string{
			"CLAUDE_PROJECT_DIR": r.other, "CLAUDE_CODE_SESSION_ID": "elsewhere"}, want: codex},
		{name: "a host that starts the server anywhere", client: "@cline/core", want: cline},
		{name: "the project that the client's roots name", roots: []string{r.other}, want: elsewhere},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := r.config()
			config.Getenv = func(name string) string { return test.env[name] }
			c := r.connect(r.serve(config), clientOptions{name: test.client, roots: test.roots})
			got := c.where(test.meta)
			if want := fmt.Sprintf(" in conversation %d", test.want); !strings.HasSuffix(got.Found, want) || len(got.Notes) > 0 {
				t.Errorf("%q (%q), want %q", got.Found, got.Notes, want)
			}
		})
	}
}

func TestAnExplicitConversationWins(t *testing.T) {
	r := newRecord(t)
	r.say("claude:here", r.dir, time.Hour, user("the needle"))
	other := r.say("claude:there", r.other, time.Minute, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := grepped(t, c.call("lcm_grep", args{"pattern": "needle", "conversationId": other}))
	if want := fmt.Sprintf("1 match in conversation %d", other); got.Found != want {
		t.Errorf("%q, want %q", got.Found, want)
	}
	all := grepped(t, c.call("lcm_grep", args{"pattern": "needle", "allConversations": true}))
	if all.Found != "2 matches in all conversations" {
		t.Error(all.Found)
	}
}

func TestTwoLiveConversationsAreBothSearched(t *testing.T) {
	r := newRecord(t)
	one := r.say("claude:one", r.dir, time.Minute, user("the needle"))
	two := r.say("claude:two", r.dir, 2*time.Minute, user("the needle"))
	r.say("claude:ended", r.dir, time.Hour, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := c.where(nil)
	if want := fmt.Sprintf("2 matches in conversations %d, %d", one, two); got.Found != want {
		t.Errorf("%q, want %q", got.Found, want)
	}
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "2 conversations of this project are going on, 1, 2") {
		t.Errorf("the answer does not say so: %q", notes)
	}
}

func TestAProjectWithoutConversationsSearchesAll(t *testing.T) {
	r := newRecord(t)
	r.say("claude:there", r.other, time.Minute, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := grepped(t, c.call("lcm_grep", args{"pattern": "needle"}))
	if got.Found != "1 match in all conversations" || len(got.Sessions) != 1 || !strings.Contains(got.Sessions[0], r.other) {
		t.Errorf("got %+v", got)
	}
}

// Messages of the current turn are found, without hooks.
func TestTheCurrentTranscriptIsReadBeforeTheAnswer(t *testing.T) {
	r := newRecord(t)
	turn := 0
	f := &feed{}
	f.current = func(context.Context, mcpserver.Caller) error {
		turn++
		r.say("claude:live", r.dir, 0, user("the prompt of turn %d, which asks for a needle of turn", turn), llms.Assistant(fmt.Sprintf("The needle of turn %d.", turn)))
		return nil
	}
	config := r.config()
	config.Feed = f
	c := r.connect(r.serve(config), clientOptions{name: "claude-code"})
	for n := 1; n <= 3; n++ {
		got := grepped(t, c.call("lcm_grep", args{"pattern": "needle of turn"}))
		if got.Total != 2*n-1 { // all but the prompt of this turn
			t.Errorf("turn %d: %d matches", n, got.Total)
		}
	}
	if from := f.places.Load(); from.Host != "claude" || len(from.Dirs) != 1 || from.Dirs[0] != r.dir {
		t.Errorf("the feed was asked for %+v", from)
	}
	if _, err := config.Engine.Store().Get(t.Context(), store.RecallSpace, "claude:live"); err != nil {
		t.Errorf("the recall was not noted: %v", err)
	}
}

func TestAnAnswerThatMayBeBehindSaysSo(t *testing.T) {
	for _, failure := range []error{mcpserver.ErrBehind, errors.New("permission denied")} {
		r := newRecord(t)
		r.say("claude:s", r.dir, time.Minute, user("the needle"))
		config := r.config()
		config.Feed = &feed{current: func(context.Context, mcpserver.Caller) error { return failure }}
		c := r.connect(r.serve(config), clientOptions{})
		got := c.where(nil)
		if got.Total != 1 || !strings.Contains(strings.Join(got.Notes, "\n"), "may be missing") {
			t.Errorf("%v: %+v", failure, got)
		}
	}
}

// Of several servers that start together one reads all transcripts.
func TestServersDoNotRepeatTheWork(t *testing.T) {
	r := newRecord(t)
	var begun atomic.Int32
	release := make(chan struct{})
	asked := make(chan struct{}, 8)
	config := r.config()
	config.Feed = &feed{all: func(ctx context.Context) error {
		begun.Add(1)
		asked <- struct{}{}
		<-release
		return nil
	}}
	first := r.serve(config)
	r.connect(first, clientOptions{})
	<-asked
	second := r.serve(config)
	r.connect(second, clientOptions{})
	second.Close() // waits for its background work
	close(release)
	first.Close()
	third := r.serve(config)
	r.connect(third, clientOptions{})
	third.Close()
	if n := begun.Load(); n != 1 {
		t.Errorf("the transcripts were read %d times", n)
	}
}

// A server that could not finish leaves the work to the next.
func TestACatchUpThatFailedIsTriedAgain(t *testing.T) {
	r := newRecord(t)
	var begun atomic.Int32
	config := r.config()
	config.Feed = &feed{all: func(context.Context) error {
		begun.Add(1)
		return errors.New("no")
	}}
	for range 2 {
		s := r.serve(config)
		c := r.connect(s, clientOptions{})
		c.call("expand", args{"subject_type": "tool", "subject_name": "expand"})
		s.Close()
	}
	if n := begun.Load(); n != 2 {
		t.Errorf("it was tried %d times", n)
	}
}

// A new session asks about other sessions: by default the tools search all sessions of the
// project, of every host, and never find the question.
func TestTheProjectIsTheDefaultScope(t *testing.T) {
	r := newRecord(t)
	said := r.say("codex:thread-1", r.dir, 3*time.Hour, user("Which port does the proxy use?"), llms.Assistant("The proxy listens on 8473."))
	r.say("claude:there", r.other, 2*time.Hour, user("and the gateway?"), llms.Assistant("The gateway of the other project is called walrus."))
	question := "Which port did we choose for the proxy?"
	r.say("claude:new", r.dir, 0, user("%s", question))
	c := r.connect(r.serve(r.config()), clientOptions{name: "claude-code"})
	for _, a := range []args{{"pattern": "proxy"}, {"pattern": question, "mode": "full_text"}, {"pattern": "proxy port"}} {
		got := grepped(t, c.call("lcm_grep", a))
		if len(got.Matches) == 0 || got.Matches[0].Session != said {
			t.Fatalf("%v: %+v", a, got)
		}
		for _, m := range got.Matches {
			if strings.Contains(m.Snippet, "did we choose") {
				t.Errorf("%v finds the question: %+v", a, got)
			}
		}
		if all := mustJSON(t, got); !strings.Contains(all, "8473") || !strings.Contains(got.Sessions[0], "codex") {
			t.Errorf("%v: %s", a, all)
		}
	}
	asked := c.call("lcm_expand_query", args{"query": "proxy port", "prompt": question})
	if !strings.Contains(text(asked), "8473") {
		t.Errorf("expand_query: %s", text(asked))
	}
	wide := grepped(t, c.call("lcm_grep", args{"pattern": "walrus"}))
	if len(wide.Matches) != 1 || !strings.Contains(wide.Found, "widened to all conversations: 1 match elsewhere") || !strings.Contains(wide.Sessions[0], r.other) {
		t.Errorf("another project: %+v", wide)
	}
	if got := c.call("lcm_describe", args{"id": wide.Matches[0].ID}); !strings.Contains(text(got), "walrus") {
		t.Errorf("the match cannot be read: %s", text(got))
	}
	for _, a := range []args{{"pattern": "walrus", "allConversations": false}, {"pattern": "walrus", "conversationId": said}, {"pattern": "walrus", "conversationId": fmt.Sprint(said)}} {
		if got := grepped(t, c.call("lcm_grep", a)); len(got.Matches) != 0 {
			t.Errorf("%v was widened: %+v", a, got)
		}
	}
	if got := grepped(t, c.call("lcm_grep", args{"pattern": "did we choose", "everything": true})); len(got.Matches) != 1 {
		t.Errorf("everything does not find the prompt: %+v", got)
	}
}

// A host may call before anything of its session is stored. The last prompt of
// the session before it is then a match like any other.
func TestASessionThatIsNotStoredYetHidesNoPrompt(t *testing.T) {
	r := newRecord(t)
	r.say("claude:before", r.dir, time.Minute, user("The harbour gate opens with tangerine."))
	config := r.config()
	config.Getenv = func(name string) string { return map[string]string{"CLAUDE_CODE_SESSION_ID": "new"}[name] }
	c := r.connect(r.serve(config), clientOptions{name: "claude-code"})
	if got := grepped(t, c.call("lcm_grep", args{"pattern": "harbour"})); len(got.Matches) != 1 {
		t.Errorf("got %+v", got)
	}
}

// A client of which no sessions are stored asks in none of them: the prompt of an imported
// session is no prompt of its own.
func TestAnUnknownClientHidesNoPrompt(t *testing.T) {
	r := newRecord(t)
	r.say("import:1", r.dir, time.Minute, user("the needle is in the barn"), llms.Assistant("Noted."))
	c := r.connect(r.serve(r.config()), clientOptions{name: "some-editor"})
	if a := grepped(t, c.call("lcm_grep", args{"pattern": "needle"})); a.Total != 1 {
		t.Errorf("%d matches were found", a.Total)
	}
}
