package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/mcpserver"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store"
)

func callOf(tool string, a args) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: a}
}

// where greps for a word that every conversation has, and tells where that was
// looked for.
func (c *client) where(meta mcp.Meta) recall.GrepAnswer {
	c.t.Helper()
	p := callOf("lcm_grep", args{"pattern": "needle"})
	p.Meta = meta
	return into[recall.GrepAnswer](c.t, c.callWith(p))
}

func sameIDs(got []store.ConversationID, want ...store.ConversationID) bool {
	if len(got) != len(want) {
		return false
	}
	seen := map[store.ConversationID]bool{}
	for _, id := range got {
		seen[id] = true
	}
	for _, id := range want {
		if !seen[id] {
			return false
		}
	}
	return true
}

func TestTheCurrentConversation(t *testing.T) {
	r := newRecord(t)
	needle := func() llms.Message { return user("the needle") }
	old := r.say("claude:old", r.dir, 3*time.Hour, needle())
	newer := r.say("claude:new", r.dir, time.Hour, needle(), llms.Calls("", llms.ToolCall{ID: "toolu_7", Name: "mcp__lcm__lcm_grep", Arguments: `{"pattern":"needle"}`}))
	codex := r.say("codex:thread-1", r.dir, 2*time.Hour, needle())
	elsewhere := r.say("claude:elsewhere", r.other, time.Minute, needle())
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
		{name: "the project that the client's roots name", roots: []string{r.other}, want: elsewhere},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := r.config()
			config.Getenv = func(name string) string { return test.env[name] }
			c := r.connect(r.serve(config), clientOptions{name: test.client, roots: test.roots})
			got := c.where(test.meta)
			if got.Scope.Kind != recall.ScopeCurrent || !sameIDs(got.Scope.ConversationIDs, test.want) || len(got.Notes) > 0 {
				t.Errorf("looked in %+v (%q), want %d", got.Scope, got.Notes, test.want)
			}
		})
	}
}

func TestAnExplicitConversationWins(t *testing.T) {
	r := newRecord(t)
	r.say("claude:here", r.dir, time.Minute, user("the needle"))
	other := r.say("claude:there", r.other, time.Minute, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := into[recall.GrepAnswer](t, c.call("lcm_grep", args{"pattern": "needle", "conversationId": other}))
	if got.Scope.Kind != recall.ScopeConversation || !sameIDs(got.Scope.ConversationIDs, other) {
		t.Errorf("looked in %+v", got.Scope)
	}
	all := into[recall.GrepAnswer](t, c.call("lcm_grep", args{"pattern": "needle", "allConversations": true}))
	if all.Scope.Kind != recall.ScopeAll || all.Total != 2 {
		t.Errorf("looked in %+v, found %d", all.Scope, all.Total)
	}
}

func TestTwoLiveConversationsAreBothSearched(t *testing.T) {
	r := newRecord(t)
	one := r.say("claude:one", r.dir, time.Minute, user("the needle"))
	two := r.say("claude:two", r.dir, 2*time.Minute, user("the needle"))
	r.say("claude:ended", r.dir, time.Hour, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := c.where(nil)
	if got.Scope.Kind != recall.ScopeCurrent || !sameIDs(got.Scope.ConversationIDs, one, two) {
		t.Errorf("looked in %+v", got.Scope)
	}
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "2 conversations of this project are going on, 1, 2") {
		t.Errorf("the answer does not say so: %q", notes)
	}
}

func TestAProjectWithoutConversationsSearchesAll(t *testing.T) {
	r := newRecord(t)
	r.say("claude:there", r.other, time.Minute, user("the needle"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	got := c.where(nil)
	if got.Scope.Kind != recall.ScopeAll || got.Total != 1 || !strings.Contains(strings.Join(got.Notes, "\n"), "no conversation of this project") {
		t.Errorf("got %+v", got)
	}
}

// What was said in this very turn is found, without hooks.
func TestTheCurrentTranscriptIsReadBeforeTheAnswer(t *testing.T) {
	r := newRecord(t)
	turn := 0
	f := &feed{}
	f.current = func(context.Context, mcpserver.Place) error {
		turn++
		r.say("claude:live", r.dir, 0, user("needle of turn %d", turn))
		return nil
	}
	config := r.config()
	config.Feed = f
	c := r.connect(r.serve(config), clientOptions{name: "claude-code"})
	for n := 1; n <= 3; n++ {
		got := into[recall.GrepAnswer](t, c.call("lcm_grep", args{"pattern": "needle of turn"}))
		if got.Total != n {
			t.Errorf("turn %d: %d matches", n, got.Total)
		}
	}
	if at := f.places.Load(); at.Host != "claude" || len(at.Dirs) != 1 || at.Dirs[0] != r.dir {
		t.Errorf("the feed was asked for %+v", at)
	}
}

func TestAnAnswerThatMayBeBehindSaysSo(t *testing.T) {
	for _, failure := range []error{mcpserver.ErrBehind, errors.New("permission denied")} {
		r := newRecord(t)
		r.say("claude:s", r.dir, time.Minute, user("the needle"))
		config := r.config()
		config.Feed = &feed{current: func(context.Context, mcpserver.Place) error { return failure }}
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
	second.Close() // waits for what it does in the background
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
