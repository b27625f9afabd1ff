package delegation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// fixture is a record on disk with a delegation over it.
type fixture struct {
	*delegation.Delegator
	t  testing.TB
	db *sqlite.DB
	in *ingest.Ingester
}

func newFixture(t testing.TB, change func(*delegation.Config)) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{t: t, db: db}
	if f.in, err = ingest.New(db, nil, 2000); err != nil {
		t.Fatal(err)
	}
	r, err := lookup.New(db)
	if err != nil {
		t.Fatal(err)
	}
	c := delegation.Config{Recall: r, Store: db, NewID: func() string { return "00000000-0000-4000-8000-000000000001" }}
	if change != nil {
		change(&c)
	}
	if f.Delegator, err = delegation.New(c); err != nil {
		t.Fatal(err)
	}
	return f
}

// talk makes a conversation of the given messages.
func (f *fixture) talk(key string, texts ...string) store.ConversationID {
	f.t.Helper()
	c, err := f.db.Open(f.t.Context(), store.NewConversation{Key: key})
	if err != nil {
		f.t.Fatal(err)
	}
	for i, text := range texts {
		m := llms.User(text)
		m.Time = time.Date(2026, 2, 1, 8, i, 0, 0, time.UTC)
		if _, err := f.in.Append(f.t.Context(), c.ID, ingest.Messages(m)...); err != nil {
			f.t.Fatal(err)
		}
	}
	return c.ID
}

// fold replaces the first n items of a view with a summary.
func (f *fixture) fold(c store.ConversationID, n int, body string) store.SummaryID {
	f.t.Helper()
	view, err := f.db.View(f.t.Context(), c, store.Window{})
	if err != nil {
		f.t.Fatal(err)
	}
	var s store.Summary
	err = f.db.Update(f.t.Context(), c, func(w store.Writer) (err error) {
		s, err = w.Fold(f.t.Context(), store.NewSummary{Over: view.Items[:n], Wording: store.Wording{Body: body, Tokens: 10, Level: summary.Normal, Method: "model"}})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return s.ID
}

// scripted is a runner whose sub-agents read the ids of their task, unless they
// are lazy, and then follow a function.
type scripted struct {
	mu       sync.Mutex
	children []delegation.Child
	asked    []string
	open     int
	lazy     bool
	do       func(ctx context.Context, s *subAgent, message string) (string, error)
	spawn    error
}

type subAgent struct {
	*scripted
	child delegation.Child
	turns int
}

func (r *scripted) Name() string { return "test/scripted" }

func (r *scripted) Spawn(_ context.Context, c delegation.Child) (delegation.Session, error) {
	if r.spawn != nil {
		return nil, r.spawn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children = append(r.children, c)
	r.open++
	return &subAgent{scripted: r, child: c}, nil
}

func (s *subAgent) Ask(ctx context.Context, message string) (string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, message)
	s.turns++
	s.mu.Unlock()
	var payload map[string]any
	if line := payloadLine.FindString(message); line != "" && !s.lazy {
		if err := json.Unmarshal([]byte(line), &payload); err != nil {
			return "", err
		}
		s.expand(ctx, payload)
	}
	return s.do(ctx, s, message)
}

var payloadLine = regexp.MustCompile(`\{.*"includeMessages":true\}`)

func (s *subAgent) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// expand calls the sub-agent's lcm_expand.
func (s *subAgent) expand(ctx context.Context, args map[string]any) string {
	return call(ctx, s.child, "lcm_expand", args)
}

// call calls a tool of a sub-agent.
func call(ctx context.Context, c delegation.Child, name string, args map[string]any) string {
	for _, tool := range c.Tools {
		if tool.GetName() == name {
			return tool.Call(core.AgentContext{core.KeyContext: ctx}, args)
		}
	}
	return "there is no tool " + name
}

// gone asserts that nothing of a question is left: no child session, no caller,
// no session that is open, no grant that still serves.
func (f *fixture) gone(r *scripted) {
	f.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if children, callers := f.Live(); children+callers+r.open != 0 {
		f.t.Errorf("%d grants, %d callers, %d sessions are left", children, callers, r.open)
	}
	for _, c := range r.children {
		f.revoked(c)
	}
}

// revoked asserts that the tools of a sub-agent serve nothing any more.
func (f *fixture) revoked(c delegation.Child) {
	f.t.Helper()
	for name, args := range map[string]map[string]any{
		"lcm_expand": {"messageIds": []string{"msg_1"}}, "lcm_describe": {"id": "msg_1"}, "lcm_grep": {"pattern": "anchor"},
	} {
		if text := call(f.t.Context(), c, name, args); !strings.Contains(text, "the grant was revoked") {
			f.t.Errorf("%s after the question: %s", name, text)
		}
	}
}

func says(answer string, cited ...string) string {
	return fmt.Sprintf(`{"answer": %q, "citedIds": [%s], "totalTokens": 1, "truncated": false}`, answer, quoted(cited))
}

func quoted(ids []string) string {
	out := ""
	for i, id := range ids {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%q", id)
	}
	return out
}

// pieces takes a page of lcm_expand apart.
func pieces(page string) map[string]string {
	all := map[string]string{}
	mark := page[strings.Index(page, "<record-")+1:][:len("record-")+8]
	for _, piece := range strings.Split(page, "\n<"+mark+" ")[1:] {
		head, body, _ := strings.Cut(piece, ">\n")
		text, _, _ := strings.Cut(body, "\n</"+mark+">")
		all[strings.Split(head, `"`)[1]] += text
	}
	return all
}

// asTexts returns ids as text.
func asTexts[T any](ids []T) (out []string) {
	for _, id := range ids {
		out = append(out, fmt.Sprint(id))
	}
	return out
}
