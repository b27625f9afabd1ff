package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// fenced is the configuration of a server that keeps to the record's project.
func (r *record) fenced() mcpserver.Config {
	r.t.Helper()
	p, err := project.Of(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	config := r.config()
	config.Engine, config.ProjectOnly = r.newEngine(scope.Narrow(r.db, scope.OneProject(p))), true
	return config
}

func TestProjectOnlyAnswersFromNoOtherProject(t *testing.T) {
	r := newRecord(t)
	here := r.say("claude:here", r.dir, time.Hour, user("the needle is here"))
	shared := strings.Repeat("both projects have this file\n", 300)
	foreign := r.say("claude:there", r.other, time.Hour, user("the secret needle"), llms.Result("c", "cat", strings.Repeat("a secret file\n", 500), false))
	r.say("claude:here", r.dir, time.Hour, llms.Result("d", "cat", shared, false))
	r.say("claude:there", r.other, time.Hour, llms.Result("e", "cat", shared, false))
	secret := r.fold(foreign, "A secret summary.")
	var files []string
	for m, err := range r.db.Messages(t.Context(), store.MessageQuery{Conversation: foreign}) {
		if err != nil {
			t.Fatal(err)
		}
		ids, err := r.db.Attached(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			files = append(files, string(id))
		}
	}
	if len(files) != 2 {
		t.Fatalf("files %v", files)
	}
	c := r.connect(r.serve(r.fenced()), clientOptions{roots: []string{r.other}})

	for _, a := range []args{{"pattern": "needle"}, {"pattern": "needle", "allConversations": true}, {"pattern": "needle", "mode": "full_text", "allConversations": true}} {
		got := into[found](t, c.call("lcm_grep", a))
		if got.Total != 1 || got.Matches[0].Session != here || strings.Contains(got.Found, "elsewhere") {
			t.Errorf("%v: %+v", a, got)
		}
	}
	none := into[found](t, c.call("lcm_grep", args{"pattern": "secret"}))
	if none.Total != 0 || strings.Contains(none.Found, "elsewhere") {
		t.Errorf("what is elsewhere is told: %+v", none)
	}
	calls := []*mcp.CallToolParams{
		callOf("lcm_grep", args{"pattern": "needle", "conversationId": foreign}),
		callOf("lcm_describe", args{"id": r.first(foreign), "allConversations": true}),
		callOf("lcm_describe", args{"id": r.first(foreign), "conversationId": foreign}),
		callOf("lcm_describe", args{"id": string(secret.ID), "allConversations": true}),
		callOf("lcm_describe", args{"id": files[0], "allConversations": true}),
		callOf("lcm_expand_query", args{"prompt": "What is the secret?", "summaryIds": []string{string(secret.ID)}, "allConversations": true}),
	}
	for _, p := range calls {
		got := c.callWith(p)
		if !got.IsError || !strings.Contains(text(got), "not found") || strings.Contains(text(got), "there") {
			t.Errorf("%s(%v): %s", p.Name, p.Arguments, text(got))
		}
	}
	asked := c.call("lcm_expand_query", args{"prompt": "What is the secret?", "query": "secret needle", "allConversations": true})
	if strings.Contains(text(asked), "secret needle\n") || strings.Contains(text(asked), "A secret summary") {
		t.Errorf("it was answered: %s", text(asked))
	}
	// A file that the project has as well is the project's.
	got := into[recall.DescribeAnswer](t, c.call("lcm_describe", args{"id": files[1], "allConversations": true}))
	if got.ConversationID != here || len(got.MessageIDs) != 1 {
		t.Errorf("a shared file: %+v", got)
	}
	if !strings.Contains(c.InitializeResult().Instructions, "one project only") || len(c.InitializeResult().Instructions) >= 2048 {
		t.Error("the instructions do not say so")
	}
}

// The fence lets everything of its own project through: a store behind it
// passes for the store itself.
func TestProjectOnlyShowsItsProjectWhole(t *testing.T) {
	r := newRecord(t)
	id := r.say("claude:here", r.dir, time.Hour, user("one"), user("two"), llms.Result("c", "cat", strings.Repeat("a file\n", 500), false))
	r.say("claude:there", r.other, time.Hour, user("three"))
	sum := r.fold(id, "All of it.")
	p, err := project.Of(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	f := scope.Narrow(r.db, scope.OneProject(p))
	ctx := t.Context()
	list, err := f.Conversations(ctx, store.ConversationQuery{Limit: 1})
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("conversations %+v, %v", list, err)
	}
	n := 0
	for m, err := range f.Messages(ctx, store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		want, err := r.db.Record(ctx, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Record(ctx, m.ID); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v", m.ID, err)
		}
		if above, err := f.Derived(ctx, store.ID{Message: m.ID}); err != nil || len(above) != 1 || above[0] != sum.ID {
			t.Errorf("above %s: %v, %v", m.ID, above, err)
		}
	}
	if below, err := f.Sources(ctx, sum.ID); err != nil || len(below) != n || n != 3 {
		t.Errorf("beneath: %v, %v", below, err)
	}
	if v, err := f.Verify(ctx, id); err != nil || len(v.Faults) > 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if v, err := f.View(ctx, id, store.Window{}); err != nil || v.Count != 1 {
		t.Errorf("view: %+v, %v", v, err)
	}
	for m, err := range f.Messages(ctx, store.MessageQuery{Conversation: id + 1}) {
		if err == nil {
			t.Errorf("%s of another project is shown", m.ID)
		}
	}
}
