package engine_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/engine"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// adapter speaks with an engine.
type adapter struct {
	t    testing.TB
	db   *sqlite.DB
	in   io.WriteCloser
	mu   sync.Mutex
	next int
	wait map[int]chan reply
	odd  chan reply // answers without an id
	done chan error

	ended sync.Once
}

type reply struct {
	ID    *int            `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error *struct{ Code, Message string }
}

// open opens a record for an engine.
func open(t testing.TB, home string) (engine.Record, *sqlite.DB, error) {
	log := slog.New(slog.DiscardHandler)
	db, err := sqlite.Open(context.WithoutCancel(t.Context()), filepath.Join(home, "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		return engine.Record{}, nil, err
	}
	r := engine.Record{Close: func(context.Context) error { return db.Close() }}
	for to, options := range map[**lcm.Engine][]lcm.Option{&r.Engine: nil, &r.Folds: proxy.EngineOptions()} {
		if *to, err = lcm.New(db, append(options, lcm.WithoutBackground(), lcm.WithLogger(log), lcm.WithPrivacy(record.Privacy{IgnoreSessions: []string{"loop:private-*"}}))...); err != nil {
			t.Fatal(err)
		}
	}
	tools, err := mcpserver.New(t.Context(), mcpserver.Config{Engine: r.Engine, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	r.Tools = tools.Tools()
	r.Feed, err = hosts.New(r.Engine, all.Hosts(), hosts.Machine{Home: home, Getenv: func(string) string { return "" }}, hosts.Options{Log: log})
	return r, db, err
}

// start starts an engine for a host with a home of its own.
func start(t testing.TB, home, host string, fails ...error) *adapter {
	a := &adapter{t: t, wait: map[int]chan reply{}, odd: make(chan reply, 16), done: make(chan error, 1)}
	in, w := io.Pipe()
	r, out := io.Pipe()
	a.in = w
	go func() {
		err := engine.Serve(context.WithoutCancel(t.Context()), in, out, engine.Config{
			Open: func(context.Context) (engine.Record, error) {
				if len(fails) > 0 {
					err := fails[0]
					fails = fails[1:]
					return engine.Record{}, err
				}
				rec, db, err := open(t, home)
				a.db = db
				return rec, err
			},
			Run: proxy.Run{ID: "run_1"}, Version: "1.2.3", ShortenAbove: 1000, Log: slog.New(slog.DiscardHandler),
		})
		_ = out.Close()
		a.done <- err
	}()
	go a.read(r)
	t.Cleanup(a.end)
	if host != "" {
		a.ask("hello", map[string]any{"protocols": []int{1, 2}, "host": host, "dir": home})
	}
	return a
}

// end ends the engine.
func (a *adapter) end() {
	a.ended.Do(func() {
		_ = a.in.Close()
		if err := <-a.done; err != nil {
			a.t.Error(err)
		}
	})
}

func (a *adapter) read(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var got reply
		if err := json.Unmarshal(text, &got); err != nil {
			a.t.Errorf("%s: %v", text, err)
			return
		}
		if got.ID == nil {
			a.odd <- got
			continue
		}
		a.mu.Lock()
		to := a.wait[*got.ID]
		a.mu.Unlock()
		to <- got
	}
}

// send sends a request and returns where its answer comes.
func (a *adapter) send(verb string, members map[string]any) <-chan reply {
	a.mu.Lock()
	a.next++
	id := a.next
	to := make(chan reply, 1)
	a.wait[id] = to
	a.mu.Unlock()
	messages, has := members["messages"]
	head := map[string]any{"id": id, "verb": verb, "a member of a later version": []int{1}}
	for k, v := range members {
		if k != "messages" {
			head[k] = v
		}
	}
	text, err := json.Marshal(head)
	if err != nil {
		a.t.Fatal(err)
	}
	if has {
		list, err := json.Marshal(messages)
		if err != nil {
			a.t.Fatal(err)
		}
		text = append(append(append(text[:len(text)-1], `,"messages":`...), list...), '}')
	}
	if _, err := a.in.Write(append(text, '\n')); err != nil {
		a.t.Fatal(err)
	}
	return to
}

// ask sends a request and returns its answer, which must be one.
func (a *adapter) ask(verb string, members map[string]any) json.RawMessage {
	a.t.Helper()
	got := a.get(verb, members)
	if got.Error != nil {
		a.t.Fatalf("%s: %+v", verb, got.Error)
	}
	return got.OK
}

func (a *adapter) get(verb string, members map[string]any) reply {
	a.t.Helper()
	select {
	case got := <-a.send(verb, members):
		return got
	case <-time.After(time.Minute):
		a.t.Fatalf("%s: no answer", verb)
		return reply{}
	}
}

// loop is a small agent: its history, in OpenAI's shape, and the messages as it ingests them.
type loop struct {
	*adapter
	session string
	key     string // of the session for lcm, if it is another one
	prefix  string // of the ids of its messages
	history []any
	stored  int
}

// id is the session as the engine gets it.
func (l *loop) id() string { return cmp.Or(l.key, l.session) }

// step adds a call with its result, and from time to time a prompt.
func (l *loop) step(i, size int) {
	if i%20 == 0 {
		l.history = append(l.history, map[string]any{"role": "user", "content": fmt.Sprintf("Please do part %d of %s", i/20, l.session)})
	}
	id := fmt.Sprint("call_", l.session, i)
	call := map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "sh", "arguments": fmt.Sprintf(`{"command":"make part%d"}`, i)}}
	l.history = append(l.history,
		map[string]any{"role": "assistant", "content": fmt.Sprint("step ", i), "tool_calls": []any{call}},
		map[string]any{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("line %d of the output. ", i), size)})
}

// ingest stores the new messages.
func (l *loop) ingest() {
	l.t.Helper()
	l.ask("ingest", map[string]any{"session": l.id(), "form": "openai", "messages": l.fresh()})
	l.stored = len(l.history)
}

func (l *loop) fresh() (list []any) {
	for i, m := range l.history[l.stored:] {
		list = append(list, map[string]any{"id": fmt.Sprint(l.prefix, "m", l.stored+i), "message": m})
	}
	return list
}

// assembled is the answer to assemble, as an adapter uses it.
type assembled struct {
	Parts []struct {
		Keep []int
		Say  []string
	}
	Tokens int
	Folded bool
	Over   string
}

// assemble returns the messages to send.
func (l *loop) assemble(budget int) ([]any, assembled) {
	l.t.Helper()
	return l.assembleFrom(0, budget)
}

// assembleFrom is assemble where the host hands on the messages from one on.
func (l *loop) assembleFrom(first, budget int) ([]any, assembled) {
	l.t.Helper()
	var got assembled
	handed := l.history[first:]
	ok := l.ask("assemble", map[string]any{"session": l.id(), "form": "openai", "budget": budget, "wait": 20_000, "tools": true, "cut": first > 0, "messages": handed})
	if err := json.Unmarshal(ok, &got); err != nil {
		l.t.Fatal(err)
	}
	var sent []any
	for _, p := range got.Parts {
		if p.Keep != nil {
			sent = append(sent, handed[p.Keep[0]:p.Keep[1]]...)
		} else {
			sent = append(sent, map[string]any{"role": "user", "content": strings.Join(p.Say, "\n\n")})
		}
	}
	return sent, got
}

// valid checks what a strict API checks.
func valid(t testing.TB, sent []any) {
	t.Helper()
	open := map[string]bool{}
	for i, one := range sent {
		m := one.(map[string]any)
		if m["role"] == "tool" {
			id := m["tool_call_id"].(string)
			if !open[id] {
				t.Fatalf("message %d answers no call", i)
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d comes before the results of %v", i, open)
		}
		if m["content"] == "" {
			t.Fatalf("message %d is empty", i)
		}
		for _, c := range asList(m["tool_calls"]) {
			open[c.(map[string]any)["id"].(string)] = true
		}
	}
}

func asList(v any) []any { list, _ := v.([]any); return list }

// TestLongSession: a session of ten budgets stays below its budget in every request, is always
// valid, and begins with the same bytes until other summaries are shown.
func TestLongSession(t *testing.T) {
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	const budget = 12_000
	var before []byte
	folds, kept := 0, 0
	for i := range 300 {
		l.step(i, 60)
		l.ingest()
		sent, got := l.assemble(budget)
		valid(t, sent)
		if got.Tokens > budget || got.Over != "" {
			t.Fatalf("step %d: %d tokens: %s", i, got.Tokens, got.Over)
		}
		text := make([]byte, 0, len(before))
		for _, m := range sent {
			one, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, one...)
		}
		switch {
		case got.Folded:
			folds++
		case !bytes.HasPrefix(text, before):
			t.Fatalf("step %d: the beginning was changed without a fold", i)
		default:
			kept++
		}
		before = text
	}
	if folds < 5 || kept < 10*folds {
		t.Errorf("%d folds, %d prefixes kept", folds, kept)
	}
	if !regexp.MustCompile(`Please do part 1?\d of s`).Match(before) {
		t.Error("no early prompt is in a summary")
	}
	var found struct{ Text string }
	if err := json.Unmarshal(l.ask("grep", map[string]any{"session": "s", "arguments": map[string]any{"pattern": "make part7"}}), &found); err != nil || !strings.Contains(found.Text, "msg_") {
		t.Errorf("%s, %v", found.Text, err)
	}
	if got := l.ask("expand", map[string]any{"arguments": map[string]any{"subject_type": "tool", "subject_name": "lcm_grep"}}); !strings.Contains(string(got), "full_text") {
		t.Errorf("%s", got)
	}
	var c struct{ Summary string }
	if err := json.Unmarshal(l.ask("compact", map[string]any{"session": "s", "budget": 4000, "keep": "m600"}), &c); err != nil || !strings.Contains(c.Summary, "<lcm-summary") || !strings.Contains(c.Summary, "[lcm checkpoint: everything up to msg_600]") {
		t.Errorf("%s, %v", c.Summary, err)
	}
}

// TestTwoSessions: a session whose verb is slow does not hold up another one.
func TestTwoSessions(t *testing.T) {
	a := start(t, t.TempDir(), "loop")
	one, two := &loop{adapter: a, session: "one"}, &loop{adapter: a, session: "two"}
	var work sync.WaitGroup
	for _, l := range []*loop{one, two} {
		work.Go(func() {
			for i := range 60 {
				l.step(i, 60)
				l.ingest()
				sent, got := l.assemble(12_000)
				valid(t, sent)
				for _, m := range sent {
					if text, _ := m.(map[string]any)["content"].(string); strings.Contains(text, "of "+map[string]string{"one": "two", "two": "one"}[l.session]) {
						t.Error("a message of the other session")
					}
				}
				if got.Tokens > 12_000 {
					t.Errorf("%d tokens", got.Tokens)
				}
			}
		})
	}
	work.Wait()
}

// TestRubbish: whatever comes is answered, and the next request as if nothing had happened.
func TestRubbish(t *testing.T) {
	a := start(t, t.TempDir(), "")
	if got := a.get("assemble", map[string]any{"session": "s"}); got.Error == nil {
		t.Errorf("%s", got.OK)
	}
	if got := a.get("ingest", map[string]any{"session": "s"}); got.Error.Code != "hello_first" {
		t.Errorf("%+v", got.Error)
	}
	if got := a.get("hello", map[string]any{"protocols": []int{99}, "host": "loop"}); got.Error.Code != "version" {
		t.Errorf("%+v", got.Error)
	}
	a.ask("hello", map[string]any{"protocols": []int{1}, "host": "loop"})
	for _, text := range []string{"{", "[1]", `"x"`, "null", "\x00\xff", `{"messages":[`, `{"verb":"assemble","session":"s","form":"pi","budget":9,"messages":[}]}`, `{"verb":"ingest","session":"s","form":"pi","messages":[{"id":"1","message":7}]}`, `{"verb":7}`, strings.Repeat("[", 10_000)} {
		if _, err := io.WriteString(a.in, text+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-a.odd; got.Error == nil {
			t.Errorf("%.40q: %s", text, got.OK)
		}
	}
	for verb, members := range map[string]map[string]any{
		"sing": {"session": "s"}, "assemble": {"session": "s", "form": "morse", "budget": 5, "messages": []any{}}, "ingest": {"form": "openai", "messages": []any{}},
		"subagent": {"session": "s"}, "compact": {"session": "never seen"},
	} {
		if got := a.get(verb, members); got.Error == nil {
			t.Errorf("%s: %s", verb, got.OK)
		}
	}
	l := &loop{adapter: a, session: "s"}
	l.step(0, 1)
	l.ingest()
}

// TestNoDatabase: a database that cannot be opened is said, and opened with a later request.
func TestNoDatabase(t *testing.T) {
	a := start(t, t.TempDir(), "", errors.New("locked"))
	got := a.ask("hello", map[string]any{"protocols": []int{1}, "host": "loop"})
	if !strings.Contains(string(got), "locked") {
		t.Errorf("%s", got)
	}
	l := &loop{adapter: a, session: "s"}
	l.step(0, 1)
	if got := a.get("assemble", map[string]any{"session": "s", "form": "openai", "budget": 1000, "messages": l.history}); got.Error == nil || got.Error.Code != "unavailable" {
		t.Errorf("%+v", got)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if got := a.get("ingest", map[string]any{"session": "s", "form": "openai", "messages": l.fresh()}); got.Error == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%+v", got.Error)
		}
	}
}

// TestSubagent: the conversation of a sub-agent belongs to that of its parent.
func TestSubagent(t *testing.T) {
	a := start(t, t.TempDir(), "loop")
	parent, child := &loop{adapter: a, session: "parent"}, &loop{adapter: a, session: "child"}
	parent.step(0, 1)
	parent.ingest()
	a.ask("subagent", map[string]any{"session": "parent", "child": "child", "event": "started"})
	child.step(0, 1)
	child.ingest()
	a.ask("subagent", map[string]any{"session": "parent", "child": "child", "event": "ended"})
	c, err := a.db.Conversations(t.Context(), store.ConversationQuery{Key: "loop:child"})
	if err != nil || len(c) != 1 || c[0].Parent == 0 || c[0].Agent != "loop" {
		t.Fatalf("%+v, %v", c, err)
	}
	m, err := store.First(a.db.Messages(t.Context(), store.MessageQuery{Conversation: c[0].ID}))
	if err != nil || m.Native != "m0" || m.Body.Role != llms.RoleUser {
		t.Fatalf("%+v, %v", m, err)
	}
}
