package lookup_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// fixture is a record on disk and the service over it.
type fixture struct {
	*lookup.Service
	t   testing.TB
	db  *sqlite.DB
	in  *ingest.Ingester
	now time.Time

	path string // of the database
}

func newFixture(t testing.TB, options ...lookup.Option) *fixture {
	t.Helper()
	f := &fixture{t: t, now: time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC), path: filepath.Join(t.TempDir(), "lcm.db")}
	var err error
	if f.db, err = sqlite.Open(t.Context(), f.path, sqlite.Options{Relaxed: true, Clock: func() time.Time { return f.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if f.in, err = ingest.New(f.db, nil, 500); err != nil {
		t.Fatal(err)
	}
	if f.Service, err = lookup.New(f.db, options...); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) open(key string) store.ConversationID {
	f.t.Helper()
	c, err := f.db.Open(f.t.Context(), store.NewConversation{Key: key})
	if err != nil {
		f.t.Fatal(err)
	}
	return c.ID
}

// say appends messages a minute apart.
func (f *fixture) say(c store.ConversationID, ms ...llms.Message) []store.MessageID {
	f.t.Helper()
	for i := range ms {
		ms[i].Time = f.now
		f.now = f.now.Add(time.Minute)
	}
	done, err := f.in.Append(f.t.Context(), c, ingest.Messages(ms...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := make([]store.MessageID, len(done.Messages))
	for i, a := range done.Messages {
		ids[i] = a.ID
	}
	return ids
}

// fold folds view items from and to, both included, counted from 0.
func (f *fixture) fold(c store.ConversationID, from, to int, body string) store.Summary {
	f.t.Helper()
	v, err := f.db.View(f.t.Context(), c, store.Window{})
	if err != nil {
		f.t.Fatal(err)
	}
	var s store.Summary
	err = f.db.Update(f.t.Context(), c, func(w store.Writer) (err error) {
		s, err = w.Fold(f.t.Context(), store.NewSummary{Over: v.Items[from : to+1], Wording: store.Wording{
			Body: body, Tokens: 7, Level: summary.Normal, Method: "extractive",
		}})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) grep(r recall.GrepRequest) recall.GrepAnswer {
	f.t.Helper()
	a, err := f.Grep(f.t.Context(), r)
	if err != nil {
		f.t.Fatalf("grep %+v: %v", r, err)
	}
	return a
}

// ids are those of the matches that hold the pattern.
func ids(a recall.GrepAnswer) string {
	var all []string
	for _, m := range a.Matches {
		if !m.Beside {
			all = append(all, m.ID.String())
		}
	}
	return strings.Join(all, " ")
}

// story is a small record with something of everything in it.
type story struct {
	*fixture
	a, b store.ConversationID
	file string        // in msg_4
	leaf store.Summary // over msg_1 and msg_2
}

func newStory(t testing.TB) *story {
	f := newFixture(t)
	s := &story{fixture: f, a: f.open("a"), b: f.open("b")}
	long := strings.Repeat("a line of output about nothing in particular\n", 200) + "the marmalade is here\n" +
		strings.Repeat("and then some more lines that say little\n", 200)
	s.say(s.a,
		llms.User("Why does the deployment fail? 配置文件 is missing"),
		llms.Calls("I look at it.", llms.ToolCall{ID: "c1", Name: "shell", Arguments: `{"cmd":"make deploy_staging"}`}),
		llms.Result("c1", "shell", "exit status 2: missing TLS_CERT_PATH", true),
		llms.User(long),
		llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
			{Kind: llms.PartReasoning, Text: "perhaps the certificate moved"}, {Kind: llms.PartText, Text: "The deployment lacks its certificate."},
		}},
		llms.User("Thanks, the deployment is postponed to friday"))
	s.say(s.b, llms.Assistant("the deployments were fine on friday"), llms.User("zeppelins are only spoken of here"))
	s.leaf = s.fold(s.a, 0, 1, "Somebody asked why the deployment fails.\nExpand for details about: the command")
	p, err := f.db.Attached(t.Context(), 4)
	if err != nil || len(p) != 1 {
		t.Fatalf("payloads of msg_4: %v, %v", p, err)
	}
	s.file = string(p[0])
	return s
}

// here asks in conversation a.
func (s *story) here() recall.Where { return recall.Where{Current: s.a} }

func contains(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: %q does not say %q", what, got, p)
		}
	}
}

func messages(n int, text func(i int) string) []llms.Message {
	ms := make([]llms.Message, n)
	for i := range ms {
		ms[i] = llms.User(text(i))
	}
	return ms
}

func number(i int) string { return fmt.Sprintf("message number %d", i+1) }

// idOf reads an id, bare or in a reference. A text without one is the id of nothing.
func idOf(text string) store.ID {
	id, _ := lookup.ParseID(text)
	return id
}

// texts returns ids as text.
func texts[T any](ids []T) (out []string) {
	for _, id := range ids {
		out = append(out, fmt.Sprint(id))
	}
	return out
}
