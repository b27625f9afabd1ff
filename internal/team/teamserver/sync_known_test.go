package teamserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

// line appends a record of Claude Code.
func (l *laptop) line(id, dir, text string) {
	l.t.Helper()
	m := llms.User(text)
	m.ID, m.Time = id, time.Now().Add(-time.Hour)
	m.Raw = llms.Raw{Format: llms.FormatClaude, Bytes: fmt.Appendf(nil, `{"type":"user","uuid":"%s","cwd":"%s","message":{"role":"user","content":"%s"}}`, id, dir, text)}
	if err := l.engine.Session("claude:s", lcm.InProject(acme)).Append(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
}

// The records of one session differ between two machines. Messages with the same id and
// content are stored once, those with other content both, and each machine can prove and
// erase its messages.
func TestSameSessionWithOtherRecords(t *testing.T) {
	f := newFixture(t)
	token := f.token(access.Token{Append: true, Erase: true})
	a, b := f.laptop("one", token), f.laptop("two", token)
	for i := range 4 {
		a.line(fmt.Sprint("m", i), "/home/a/app", fmt.Sprint("number ", i))
		b.line(fmt.Sprint("m", i), "/home/b/app", fmt.Sprint("number ", i))
	}
	b.line("m4", "/home/b/app", "only on the second")
	a.line("m5", "/home/a/app", "as it began")
	b.line("m5", "/home/b/app", "as it ended")
	if r := a.push(); r.Messages != 5 || r.Other != 0 {
		t.Errorf("the first: %+v", r)
	}
	if r := b.push(); r.Messages != 2 || r.Other != 4 {
		t.Errorf("the second: %+v", r)
	}
	f.want(map[string]string{"alice/claude:s": "number 0|number 1|number 2|number 3|as it began|only on the second|as it ended"})
	b.forget("number 2")
	if r := b.push(); r.Erased != 1 {
		t.Errorf("the erasure: %+v", r)
	}
	if got := f.texts()["alice/claude:s"]; strings.Contains(got, "number 2") {
		t.Errorf("it is still there: %s", got)
	}
	a.push()
}

// forget erases messages on a laptop.
func (l *laptop) forget(pattern string) {
	l.t.Helper()
	order, err := l.engine.Order(l.t.Context(), lcm.Forget{Pattern: pattern})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.engine.Erase(l.t.Context(), order, nil); err != nil {
		l.t.Fatal(err)
	}
}

// The audit counts the messages that an erasure erases, and not those before.
func TestAuditCountsNewErasures(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true, Erase: true}))
	a.say("s", acme, "the first goes", "the second goes", "the third goes", "stays")
	a.push()
	for _, n := range []string{"first", "second", "third"} {
		a.forget(n + " goes")
		a.push()
	}
	rows, err := access.Audit{State: f.db}.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows[:3] {
		if e.Action != "erase" || e.Detail != "sync: 1 message" {
			t.Errorf("%+v", e)
		}
	}
}

// A laptop whose token may not erase counts the messages that are still on the server.
func TestErasedByAnother(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	a.say("s", acme, "the first goes", "the second goes", "the third goes", "stays")
	a.push()
	a.forget("goes")
	if r := a.push(); r.EraseDenied != 3 {
		t.Errorf("before: %+v", r)
	}
	m, err := store.First(f.db.Messages(t.Context(), store.MessageQuery{Limit: 1, NoRaw: true, Conversation: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.engine.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{m.ID}}, nil); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.EraseDenied != 2 {
		t.Errorf("after: %+v", r)
	}
}

// A push that is cut off counts the conversation of the messages that arrived.
func TestReportOfAPushThatIsCutOff(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true}))
	var texts []string
	for i := range teamsync.BatchMessages + 1 {
		texts = append(texts, fmt.Sprint("message ", i))
	}
	a.say("s", acme, texts...)
	a.HTTP = &http.Client{Transport: &oneBatch{}}
	if r, err := a.Push(t.Context()); err == nil || r.Messages != teamsync.BatchMessages || r.Conversations != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// oneBatch lets one batch through.
type oneBatch struct{ sent int }

func (o *oneBatch) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == teamsync.PushPath {
		if o.sent++; o.sent > 1 {
			return nil, errors.New("the network is away")
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}
