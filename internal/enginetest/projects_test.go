package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/proof/scopetest"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store/sqlite"
)

// tenants is a record of two projects with an engine within one of them.
func tenants(t *testing.T, b backendtest.Backend) (*scopetest.World, *lcm.Engine) {
	t.Helper()
	db, _ := b.New(t, nil)
	w := scopetest.Fill(t, db)
	engine, err := lcm.New(db, lcm.WithProjects(w.Mine), lcm.WithoutBackground(), lcm.WithLargeContent(500))
	if err != nil {
		t.Fatal(err)
	}
	return w, engine
}

// call runs a tool of a session. Its answer and its error are what the agent sees.
func call(t *testing.T, tools []core.Tool, c scopetest.Call) (answer string, err error) {
	t.Helper()
	raw, err := json.Marshal(c.Args) // as a model sends them
	if err != nil {
		t.Fatal(err)
	}
	var args map[string]any
	if err := json.Unmarshal(raw, &args); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.GetName() == c.Tool {
			r, err := tool.Run(t.Context(), args)
			if err != nil {
				return err.Error(), err
			}
			return r.Text, nil
		}
	}
	t.Fatalf("no tool %s", c.Tool)
	return "", nil
}

// Every tool refuses everything of another project.
func TestWithinRefusesOtherProjects(t *testing.T) { backendtest.Each(t, withinRefuses) }

func withinRefuses(t *testing.T, b backendtest.Backend) {
	w, engine := tenants(t, b)
	session := engine.Session(w.Key)
	for _, name := range toolname.Agent() {
		if !slices.ContainsFunc(w.Refused(), func(c scopetest.Call) bool { return c.Tool == name }) {
			t.Errorf("no request of internal/proof/scopetest/requests.go calls %s", name)
		}
	}
	for name, tools := range map[string][]core.Tool{"session": session.Tools(), "project": session.Tools(lcm.WithProjectScope())} {
		for _, c := range w.Refused() {
			answer, err := call(t, tools, c)
			if shown := w.Shown(answer, c); len(shown) > 0 {
				t.Errorf("%s, %s shows %q: %s", name, c, shown, answer)
			}
			if err == nil && !c.Searches {
				t.Errorf("%s, %s was not refused: %s", name, c, answer)
			}
			if c.Searches && (err != nil || !strings.Contains(answer, `"total":0`) && !strings.Contains(answer, `"method":"none"`)) {
				t.Errorf("%s, %s found something: %s, %v", name, c, answer, err)
			}
		}
	}
}

// The store of the engine shows nothing of another project either, and writes nothing.
func TestWithinStore(t *testing.T) { backendtest.Each(t, withinStore) }

func withinStore(t *testing.T, b backendtest.Backend) {
	w, engine := tenants(t, b)
	ctx, s := t.Context(), engine.Store()
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, scope.ErrDenied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := func(what string, shown any, err error) {
		t.Helper()
		refused(what, err)
		if leaks := w.Leaks(fmt.Sprintf("%+v", shown)); len(leaks) > 0 {
			t.Errorf("%s shows %q", what, leaks)
		}
	}
	id, m, sum, file := w.Conversations[0], w.Messages[0], w.Summaries[0], w.Files[0]
	_, err := s.Conversation(ctx, id)
	refused("conversation", err)
	_, err = s.View(ctx, id, store.Window{})
	refused("view", err)
	_, err = s.Verify(ctx, id)
	refused("verify", err)
	for _, q := range []store.MessageQuery{{IDs: []store.MessageID{m}}, {Conversation: id}, {IDs: w.Erased, Erased: true}, {Conversation: id, Natives: []string{"x"}}} {
		got, err := store.First(s.Messages(ctx, q))
		first("messages", got, err)
	}
	for _, q := range []store.SummaryQuery{{IDs: []store.SummaryID{sum}}, {Conversation: id}, {IDs: []store.SummaryID{w.Blend}}} {
		got, err := store.First(s.Summaries(ctx, q))
		first("summaries", got, err)
	}
	for _, n := range []store.ID{{Message: m}, {Summary: sum}, {Summary: w.Blend}, {Message: w.Erased[0]}} {
		text, err := s.Text(ctx, n)
		first("text", text, err)
		_, err = s.Derived(ctx, n)
		refused("derived", err)
		if n.IsSummary() {
			_, err = s.Sources(ctx, n.Summary)
		} else {
			_, err = s.Record(ctx, n.Message)
		}
		refused("sources or record", err)
	}
	_, err = scopetest.Read(ctx, s, file)
	refused("payload", err)
	shared, err := scopetest.Read(ctx, s, w.Shared)
	if err != nil || len(w.Leaks(shared)) > 0 || !strings.Contains(shared, "notes.txt") {
		t.Errorf("the shared file: %.300s, %v", shared, err)
	}
	if holders, err := s.Holders(ctx, file, nil, 10); err != nil || len(holders) > 0 {
		t.Errorf("holders %v, %v", holders, err)
	}
	_, err = s.Attached(ctx, m)
	refused("attached", err)
	mixed, err := s.View(ctx, w.Mixed, store.Window{})
	if err != nil || mixed.Count != 1 {
		t.Errorf("the fork shows %+v, %v", mixed, err)
	}
	if values, err := s.List(ctx, "hooks.shown"); err != nil || len(values) > 0 {
		t.Errorf("values %v, %v", values, err)
	}
	if all, err := s.Tombstones(ctx); err != nil || len(all) > 0 {
		t.Errorf("tombstones %+v, %v", all, err)
	}
	refused("lift", s.Lift(ctx, 1))

	refused("update", s.Update(ctx, id, func(store.Writer) error { t.Error("it runs"); return nil }))
	refused("archive", s.Archive(ctx, id, "test"))
	_, err = s.Open(ctx, store.NewConversation{Key: w.Keys[0], Project: w.Mine})
	refused("open the key of another project", err)
	_, err = s.Open(ctx, store.NewConversation{Key: "new", Project: w.Foreign})
	refused("open in another project", err)
	_, err = s.Open(ctx, store.NewConversation{Key: "new"})
	refused("open in no project", err)
	_, err = s.Open(ctx, store.NewConversation{Key: "new", Project: w.Mine, Parent: id})
	refused("open below another conversation", err)
	_, err = s.Fork(ctx, id, m, store.NewConversation{Key: "new", Project: w.Mine})
	refused("fork", err)
	for _, order := range []store.Erasure{{Messages: []store.MessageID{m}}, {Conversations: []store.ConversationID{id}}} {
		_, err = engine.Erase(ctx, order, nil)
		refused("erase", err)
	}
	order, err := engine.Order(ctx, lcm.EraseQuery{Pattern: "qzforeign"})
	if err != nil || len(order.Messages) > 0 {
		t.Errorf("a pattern names %v, %v", order.Messages, err)
	}
	mine, err := s.Open(ctx, store.NewConversation{Key: w.Key})
	if err != nil {
		t.Fatal(err)
	}
	refused("claim a payload", s.Update(ctx, mine.ID, func(wr store.Writer) error {
		_, err := wr.Append(ctx, store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte("x"), Payloads: []store.PayloadID{file}})
		return err
	}))
}

// A tenant works as if the store were its own.
func TestWithinWorks(t *testing.T) { backendtest.Each(t, withinWorks) }

func withinWorks(t *testing.T, b backendtest.Backend) {
	w, engine := tenants(t, b)
	ctx := t.Context()
	session := engine.Session("mine/new")
	if err := session.Append(ctx, llms.User("the spindle is ours"), llms.Assistant("yes")); err != nil {
		t.Fatal(err)
	}
	c, err := session.Conversation(ctx)
	if err != nil || c.Project != w.Mine {
		t.Fatalf("the session is in %+v, %v", c.Project, err)
	}
	if view, err := session.Context(ctx, 4000); err != nil || len(view.Messages) != 2 {
		t.Errorf("context: %+v, %v", view, err)
	}
	answer, err := call(t, session.Tools(), scopetest.Call{Tool: lcm.GrepName, Args: map[string]any{"pattern": "needle number", "allConversations": true}})
	if err != nil || !strings.Contains(answer, `"total":39`) { // twelve messages and a summary of each of three sessions
		t.Errorf("%s, %v", answer, err)
	}
	if v, err := engine.Verify(ctx); err != nil || !v.Sound() || len(v.Conversations) != 5 {
		t.Errorf("verify: %d conversations, %v", len(v.Conversations), err)
	}
	order, err := engine.Order(ctx, lcm.EraseQuery{Pattern: "spindle"})
	if err != nil || len(order.Messages) != 1 {
		t.Fatalf("order %+v, %v", order, err)
	}
	if done, err := engine.Erase(ctx, order, nil); err != nil || done.Messages != 1 {
		t.Errorf("erase: %+v, %v", done, err)
	}
	if all, err := engine.Store().Tombstones(ctx); err != nil || len(all) != 1 || all[0].Sessions[0].Key != "mine/new" || !all[0].Finished {
		t.Errorf("tombstones: %+v, %v", all, err)
	}
	if err := engine.Session("theirs", lcm.WithProject(w.Foreign)).Append(ctx, llms.User("x")); !errors.Is(err, scope.ErrDenied) {
		t.Errorf("a session in another project: %v", err)
	}
	for _, projects := range [][]store.Project{nil, {{}}} {
		if _, err := lcm.New(w.Store, lcm.WithProjects(projects...)); err == nil {
			t.Errorf("an engine within %v was made", projects)
		}
	}
}

// Random requests never return a text of another project.
func TestWithinLeaksNothing(t *testing.T) { withinLeaksNothing(t, 400) }

func TestWithinLeaksNothing_Long(t *testing.T) { withinLeaksNothing(t, 2000) }

func withinLeaksNothing(t *testing.T, requests int) {
	w, engine := tenants(t, backendtest.SQLite)
	tools := engine.Session(w.Key).Tools(lcm.WithProjectScope())
	r := rand.New(rand.NewPCG(1, 20))
	answers := 0
	for range requests {
		c := w.Random(r)
		answer, err := call(t, tools, c)
		if err == nil {
			answers++
		}
		if shown := w.Shown(answer, c); len(shown) > 0 {
			t.Fatalf("%s shows %q: %s", c, shown, answer)
		}
	}
	if answers < requests/4 {
		t.Errorf("only %d requests were answered", answers)
	}
}

// A model that fills in the defaults of a schema must search as far as one that
// leaves them out.
func TestProjectScopeChangesTheSchema(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		t.Fatal(err)
	}
	session := engine.Session("s", lcm.WithProject(store.Project{Root: "/src/here"}))
	for i, tool := range session.Tools(lcm.WithProjectScope()) {
		schema := string(tool.Parameters())
		plain := string(session.Tools()[i].Parameters())
		if !strings.Contains(plain, "allConversations") {
			continue
		}
		if !strings.Contains(plain, `"default":false`) || strings.Contains(schema, `"default":false`) || strings.Contains(schema, "the current one") {
			t.Errorf("%s: with ProjectScope the schema must not say that the current conversation is the default: give its parameters a tag project\n%s", tool.GetName(), schema)
		}
	}
	for _, tool := range session.Tools(lcm.WithProjectScope()) {
		if text := core.BasicDescription(tool); strings.Contains(text, "this conversation") {
			t.Errorf("%s: with ProjectScope the description must not say that it looks in this conversation: add the words to projectWords in tools.go\n%s", tool.GetName(), text)
		}
	}
}
