package teamsync_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

// keeper is a server that keeps what it is sent, and notes the requests.
type keeper struct {
	t      testing.TB
	rights teamsync.StatusAnswer
	has    map[string]*kept // by session
	asked  []string
	// answer, if it is set, answers a request instead, with a status code and a body.
	answer func(request string) (int, any)
}

type kept struct {
	teamsync.Status
	messages teamsync.Messages
	erased   []int64
}

func (k *keeper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if got := r.Header.Get("Authorization"); got != "Bearer lcm_x" {
		k.t.Errorf("the token is %q", got)
	}
	if r.Header.Get("Content-Encoding") == teamsync.Encoding {
		body = unpack(k.t, body)
	}
	var q struct {
		teamsync.Batch
		Sources      []teamsync.Source
		Seqs, Except []int64
		All          bool
	}
	if err := json.Unmarshal(body, &q); err != nil {
		k.t.Errorf("the client sent %.200q: %v", body, err)
	}
	if k.has[q.Key] == nil {
		k.has[q.Key] = &kept{}
	}
	at := k.has[q.Key]
	var request string
	var answer any
	switch r.URL.Path {
	case teamsync.StatusPath:
		a := k.rights
		request = "status"
		for _, s := range q.Sources {
			request += " " + s.Key
			if k.has[s.Key] == nil {
				k.has[s.Key] = &kept{}
			}
			a.Statuses = append(a.Statuses, k.has[s.Key].Status)
		}
		answer = a
	case teamsync.PushPath:
		request = fmt.Sprintf("push %s %d-%d:", q.Key, q.After, q.Through)
		d := teamsync.NewDigest()
		for _, m := range q.Messages {
			request += " " + string(m.Body.Raw.Bytes)
			d.Add(m.Seq, m.Body.Time, m.Body.Role, m.SHA256)
		}
		if q.Joined {
			request += " joined"
		}
		at.Through, at.Mark, at.messages = q.Through, q.Mark, append(at.messages, q.Messages...)
		answer = teamsync.Receipt{Through: q.Through, Digest: d.String()}
	case teamsync.ErasePath:
		request = fmt.Sprintf("erase %s %v %v", q.Key, q.Seqs, q.All)
		answer = teamsync.EraseAnswer{Messages: int64(len(q.Seqs))}
	case teamsync.VerifyPath:
		request = fmt.Sprintf("verify %s %v", q.Key, q.Except)
		a := teamsync.VerifyAnswer{Erased: at.erased}
		d := teamsync.NewDigest()
		for _, m := range at.messages {
			if !slices.Contains(q.Except, m.Seq) && !slices.Contains(at.erased, m.Seq) {
				d.Add(m.Seq, m.Body.Time, m.Body.Role, m.SHA256)
			}
		}
		a.Messages, a.Digest = d.Count(), d.String()
		answer = a
	}
	k.asked = append(k.asked, request)
	code := http.StatusOK
	if k.answer != nil {
		if c, a := k.answer(request); c != 0 {
			code, answer = c, a
		}
	}
	text, err := json.Marshal(answer)
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: io.NopCloser(bytes.NewReader(text)), Request: r}, err
}

// machine is a record and the server that it is pushed to.
type machine struct {
	*teamsync.Pusher
	t      *testing.T
	db     *sqlite.DB
	engine *lcm.Engine
	keeper *keeper
}

func newMachine(t *testing.T) *machine {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{t: t, rights: teamsync.StatusAnswer{User: "alice", Append: true, Erase: true}, has: map[string]*kept{}}
	return &machine{&teamsync.Pusher{
		Client: teamsync.Client{URL: "http://lcm.example", Token: "lcm_x", HTTP: &http.Client{Transport: k}}, Store: db, MachineName: "one",
	}, t, db, e, k}
}

// say appends messages, each of one word, to a session of a project.
func (m *machine) say(key, words string) {
	m.t.Helper()
	s := m.engine.Session(key, lcm.WithProject(store.Project{Root: "/src/" + key}))
	for word := range strings.FieldsSeq(words) {
		if err := s.Append(m.t.Context(), llms.User(word)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// find returns the conversation of a session, and the ids of its messages.
func (m *machine) find(key string) (id store.ConversationID, ids []store.MessageID) {
	m.t.Helper()
	list, err := m.db.Conversations(m.t.Context(), store.ConversationQuery{Erased: true})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, c := range list {
		if c.Key != key {
			continue
		}
		id = c.ID
		for one, err := range m.db.Messages(m.t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				m.t.Fatal(err)
			}
			ids = append(ids, one.ID)
		}
	}
	return id, ids
}

// forget erases messages of a session, or all of it.
func (m *machine) forget(key string, which ...int) {
	m.t.Helper()
	c, ids := m.find(key)
	var order store.Erasure
	for _, i := range which {
		order.Messages = append(order.Messages, ids[i])
	}
	if len(which) == 0 {
		order.Conversations = []store.ConversationID{c}
	}
	if _, err := m.engine.Erase(m.t.Context(), order, nil); err != nil {
		m.t.Fatal(err)
	}
}

// push pushes, and checks the requests, except those for the rights and the status, and the report.
func (m *machine) push(report teamsync.Report, asked ...string) {
	m.t.Helper()
	m.keeper.asked = nil
	r, err := m.Push(m.t.Context())
	if err != nil {
		m.t.Error(err)
	}
	m.want(r, report, asked...)
}

func (m *machine) want(r, report teamsync.Report, asked ...string) {
	m.t.Helper()
	report.User, report.Machine, r.Bytes = "alice", "one", 0
	if diff := cmp.Diff(report, r); diff != "" {
		m.t.Error(diff)
	}
	got := slices.DeleteFunc(m.keeper.asked, func(a string) bool { return strings.HasPrefix(a, "status") })
	if diff := cmp.Diff(asked, got, cmp.Transformer("", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
		m.t.Error(diff)
	}
}
