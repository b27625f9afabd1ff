package teamserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// forget erases messages on a laptop.
func (l *laptop) forget(pattern string) {
	l.t.Helper()
	order, err := l.engine.Order(l.t.Context(), lcm.EraseQuery{Pattern: pattern})
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
