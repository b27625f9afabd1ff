package teamserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

var acme = store.Project{Origin: "github.com/acme/app", Root: "/src/app"}

// laptop is a record that is pushed.
type laptop struct {
	*teamsync.Pusher
	t      *testing.T
	db     *sqlite.DB
	engine *lcm.Engine
}

func (f *fixture) laptop(name, token string) *laptop {
	f.t.Helper()
	db, err := sqlite.Open(f.t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close() })
	return &laptop{&teamsync.Pusher{
		Client: teamsync.Client{URL: f.url, Token: token}, Store: db, Privacy: ingest.Privacy{Redact: privacy.Search}, MachineName: name,
	}, f.t, db, f.newEngine(db)}
}

// say appends messages with ids to a session.
func (l *laptop) say(key string, project store.Project, texts ...string) {
	l.t.Helper()
	s := l.engine.Session(key, lcm.WithProject(project), lcm.WithAgent("claude"), lcm.WithTitle("a title"))
	for _, text := range texts {
		m := llms.User(text)
		m.Time = time.Now().Add(-time.Hour)
		if err := s.Append(l.t.Context(), m); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *laptop) push() teamsync.Report {
	l.t.Helper()
	r, err := l.Push(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if v, err := l.Verify(l.t.Context()); err != nil || len(v.Differ) > 0 {
		l.t.Fatalf("verify: %+v, %v", v, err)
	}
	return r
}

// texts returns the texts on the server by session.
func (f *fixture) texts() map[string]string {
	f.t.Helper()
	list, err := f.db.Conversations(f.t.Context(), store.ConversationQuery{})
	if err != nil {
		f.t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range list {
		var texts []string
		for m, err := range f.db.Messages(f.t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				f.t.Fatal(err)
			}
			texts = append(texts, m.Body.Render())
		}
		all[c.Key] = strings.Join(texts, "|")
	}
	return all
}

func (f *fixture) want(want map[string]string) {
	f.t.Helper()
	if got := f.texts(); fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Errorf("the server has %q, want %q", got, want)
	}
}

// Sessions of two machines with the same key and nothing in common stay apart.
func TestUnrelatedSessionsStayApart(t *testing.T) {
	f := newFixture(t)
	token := f.token(access.Token{Append: true})
	a, b := f.laptop("one", token), f.laptop("two", token)
	a.say("chat:default", acme, "the first says this")
	b.say("chat:default", acme, "the second says that")
	a.push()
	b.push()
	a.say("chat:default", acme, "and more")
	a.push()
	all := f.texts()
	if len(all) != 2 || all["alice/chat:default"] != "the first says this|and more" {
		t.Errorf("the server has %q", all)
	}
	c, err := f.db.Conversations(t.Context(), store.ConversationQuery{Key: "alice/chat:default"})
	if err != nil || c[0].Agent != "claude (alice@one)" || c[0].Project != acme || c[0].Title != "a title" {
		t.Errorf("%+v, %v", c[0], err)
	}
}

// A copy of a database that goes its own way is another machine.
func TestCopiedDatabase(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	a.say("s", acme, "one", "two")
	a.push()
	// The copy has the id of the machine and another third message.
	b := f.laptop("two", a.Token)
	b.say("s", acme, "one", "two", "three on the copy")
	v, err := a.db.Get(t.Context(), "sync", "machine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Put(t.Context(), "sync", "machine", v.Data, 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	a.say("s", acme, "three on the original")
	a.push()
	b.push()
	joined := fmt.Sprint(f.texts())
	if !strings.Contains(joined, "three on the copy") || !strings.Contains(joined, "three on the original") {
		t.Errorf("the server has %s", joined)
	}
}

func TestRightsOfAPush(t *testing.T) {
	f := newFixture(t)
	reader := f.laptop("one", f.token(access.Token{}))
	reader.say("s", acme, "x")
	sent := &recorder{}
	reader.HTTP = &http.Client{Transport: sent}
	if r, err := reader.Push(t.Context()); err == nil || !strings.Contains(err.Error(), "may not push") || r.Messages != 0 || sent.count(teamsync.PushPath) != 0 {
		t.Errorf("a token that may only read: %+v, %v, %d pushes", r, err, sent.count(teamsync.PushPath))
	}
	narrow := f.laptop("two", f.token(access.Token{Append: true, Projects: []string{"github.com/acme/*"}}))
	narrow.HTTP = &http.Client{Transport: sent}
	narrow.say("in", acme, "inside")
	narrow.say("out", store.Project{Origin: "github.com/other/app", Root: "/src/other"}, "outside")
	narrow.say("none", store.Project{}, "without a project")
	if r := narrow.push(); r.Messages != 1 || fmt.Sprint(r.Denied) != "[github.com/other/app (no project)]" {
		t.Errorf("a narrow token: %+v", r)
	}
	f.want(map[string]string{"alice/in": "inside"})
	if n := sent.count(teamsync.PushPath); n != 1 {
		t.Errorf("%d batches were sent, and one may be pushed", n)
	}
	for _, r := range sent.requests {
		if strings.Contains(r, "other") || strings.Contains(r, "none") || strings.Contains(r, "out") {
			t.Errorf("a project that may not be pushed is in a request: %s", r)
		}
	}
	// The user is the token's: nobody pushes in the name of another one.
	bob, _, err := access.Tokens{State: f.db, Clock: time.Now}.Add(t.Context(), access.Token{User: "bob", Append: true, Erase: true}, "test")
	if err != nil {
		t.Fatal(err)
	}
	machine, err := narrow.db.Get(t.Context(), "sync", "machine")
	if err != nil {
		t.Fatal(err)
	}
	other := teamsync.Client{URL: f.url, Token: bob}
	var erased teamsync.EraseAnswer
	var id struct{ ID string }
	if err := json.Unmarshal(machine.Data, &id); err != nil {
		t.Fatal(err)
	}
	src := teamsync.Source{Machine: id.ID, Key: "in", Segment: 1}
	if err := other.Post(t.Context(), teamsync.ErasePath, teamsync.EraseRequest{Source: src, Seqs: []int64{1}}, &erased); err != nil || erased.Messages != 0 {
		t.Errorf("bob erased %d messages of alice, %v", erased.Messages, err)
	}
	f.want(map[string]string{"alice/in": "inside"})
}

// A token that may no longer push to a project is named only if there is something to push.
func TestDeniedProjectsHaveNews(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	a.say("s", acme, "one")
	a.push()
	a.Token = f.token(access.Token{Append: true, Projects: []string{"github.com/other/*"}})
	if r, err := a.Push(t.Context()); err != nil || len(r.Denied) != 0 {
		t.Errorf("everything is there, and %v is denied, %v", r.Denied, err)
	}
	a.say("s", acme, "one", "two")
	if r, err := a.Push(t.Context()); err != nil || len(r.Denied) != 1 {
		t.Errorf("a new message: %v is denied, %v", r.Denied, err)
	}
}

// A session that enters a private or an ignored project is held back, whatever its first
// messages say.
func TestSessionEntersAPrivateProject(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	sent := &recorder{}
	a.HTTP = &http.Client{Transport: sent}
	inner := filepath.Join(t.TempDir(), "inner") // a private directory of a repository that is not
	for _, dir := range []string{inner, filepath.Join(filepath.Dir(inner), ".git")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.Private, a.Privacy.IgnoreProjects = []string{"/src/priv", inner}, []string{"/src/ignored"}
	records := map[string]string{ // by session: number, directory and text
		"claude":   `{"type":"user","uuid":"%d","cwd":"%s","message":{"role":"user","content":"%s"}}`,
		"codex":    `{"type":"turn_context","payload":{"n":%d,"cwd":"%s","say":"%s"}}`,
		"opencode": `{"id":"m%d","data":{"role":"user","path":{"cwd":"%s"},"say":"%s"}}`,
	}
	say := func(key string, i int, dir, text string) {
		t.Helper()
		m := llms.User(text)
		m.ID = fmt.Sprintf("%s-%d", key, i)
		m.Raw = llms.Raw{Format: llms.FormatText, Bytes: fmt.Appendf(nil, records[key], i, dir, text)}
		if err := a.engine.Session(key, lcm.WithProject(acme)).Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for key := range records {
		say(key, 1, "/src/app", key+" outside")
	}
	if r := a.push(); r.Messages != 3 || r.Entered != 0 {
		t.Errorf("before: %+v", r)
	}
	for key, dir := range map[string]string{"claude": "/src/priv/sub", "codex": inner, "opencode": "/src/ignored/x"} {
		say(key, 2, "/src/app", "new text")
		say(key, 3, dir, "hidden text")
		say(key, 4, "/src/app", "later text")
	}
	for range 2 {
		if r := a.push(); r.Messages != 0 || r.Entered != 3 {
			t.Errorf("after: %+v", r)
		}
	}
	for _, r := range sent.requests {
		if strings.Contains(r, "hidden text") || strings.Contains(r, "later text") || strings.Contains(r, "new text") {
			t.Errorf("it was sent: %s", r)
		}
	}
}

// A message that one machine forgot is erased, and refused from the other machine.
func TestForgottenOnOneMachine(t *testing.T) {
	f := newFixture(t)
	token := f.token(access.Token{Append: true, Erase: true})
	a, b := f.laptop("one", token), f.laptop("two", token)
	long := "a long message that must go, and it has more than sixty-four bytes in it, so that its content is known"
	a.say("a", acme, "first", long, "last")
	b.say("b", acme, "before", long, "after")
	a.push()
	order, err := a.engine.Order(t.Context(), lcm.EraseQuery{Pattern: "must go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.engine.Erase(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.Erased != 1 {
		t.Errorf("%+v", r)
	}
	if r := b.push(); r.Forgotten != 1 || r.Messages != 2 {
		t.Errorf("%+v", r)
	}
	f.want(map[string]string{"alice/a": "first|last", "alice/b": "before|after"})
	// All of a conversation: its title goes too.
	list, err := a.db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.engine.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{list[0].ID}}, nil); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.Erased != 2 {
		t.Errorf("%+v", r)
	}
	f.want(map[string]string{"alice/b": "before|after"})
	if r := a.push(); r.Erased+r.Messages != 0 {
		t.Errorf("it is erased again: %+v", r)
	}
}

// What is pushed has large content, calls and bodies that the record does not give.
func TestPushKeepsEverything(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	big := strings.Repeat("a line of a large file\n", 2000)
	messages := []llms.Message{
		{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: "see"}, {Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "cat", Arguments: `{"path":"x"}`}}}},
		llms.Result("c", "cat", big, false),
		{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Name: "p.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")}}}},
		{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: "bytes \xff\x00 that are no text"}}},
	}
	s := a.engine.Session("s", lcm.WithProject(acme))
	if err := s.Append(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	for range 1200 { // several batches
		messages = append(messages, llms.User("short"))
	}
	if err := s.Append(t.Context(), messages[4:]...); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.Messages != int64(len(messages)) {
		t.Errorf("%+v", r)
	}
	for id := store.MessageID(1); id <= 5; id++ {
		here, err := a.db.Record(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		there, err := f.db.Record(t.Context(), id)
		if err != nil || string(here) != string(there) {
			t.Errorf("%s: %.60q, want %.60q, %v", id, there, here, err)
		}
		m, err := store.First(a.db.Messages(t.Context(), store.MessageQuery{IDs: []store.MessageID{id}}))
		if err != nil {
			t.Fatal(err)
		}
		n, err := store.First(f.db.Messages(t.Context(), store.MessageQuery{IDs: []store.MessageID{id}}))
		if err != nil || m.Body.Render() != n.Body.Render() || !m.Body.Time.Equal(n.Body.Time) {
			t.Errorf("%s: %.60q, want %.60q, %v", id, n.Body.Render(), m.Body.Render(), err)
		}
	}
}

// A server that changes a message is found out.
func TestChangedOnArrival(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	a.say("s", acme, "as it was said")
	a.HTTP = &http.Client{Transport: changing{}}
	if _, err := a.Push(t.Context()); err == nil || !strings.Contains(err.Error(), "arrived changed") {
		t.Errorf("it was not noticed: %v", err)
	}
	// The same after the fact.
	if v, err := a.Verify(t.Context()); err != nil || len(v.Differ) != 0 {
		t.Errorf("nothing was noted as pushed, but %+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Push(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a push that was cancelled: %v", err)
	}
}

// recorder keeps the paths and unpacked bodies of requests.
type recorder struct{ requests []string }

func (s *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text := string(body)
	if r.Header.Get("Content-Encoding") == teamsync.Encoding {
		z, err := zstd.NewReader(nil)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		plain, err := z.DecodeAll(body, nil)
		if err != nil {
			return nil, err
		}
		text = string(plain)
	}
	s.requests = append(s.requests, r.URL.Path+" "+text)
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(r)
}

// count counts the requests of a path.
func (s *recorder) count(path string) (n int) {
	for _, r := range s.requests {
		if strings.HasPrefix(r, path+" ") {
			n++
		}
	}
	return n
}

// changing changes the text of pushes on their way.
type changing struct{}

func (changing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == teamsync.PushPath {
		b := `{"machine":"%s","key":"s","segment":1,"machineName":"one","project":{"Origin":"github.com/acme/app"},"after":0,"through":1,
			"messages":[{"seq":1,"role":"user","said":"2026-03-01T00:00:00Z","format":"text","text":"as it was not said"}]}`
		changed, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), strings.NewReader(fmt.Sprintf(b, strings.Repeat("a", 32))))
		if err != nil {
			return nil, err
		}
		changed.Header = r.Header.Clone()
		changed.Header.Del("Content-Encoding")
		r = changed
	}
	return http.DefaultTransport.RoundTrip(r)
}
