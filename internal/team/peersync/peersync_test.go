package peersync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/peersync"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

var app = store.Project{Origin: "github.com/acme/app", Root: "/src/app"}

// secret is masked when it leaves a machine.
const secret = "AKIAQ3EGRZ7XKLMWN2PT"

// machine is a record that is exchanged with others.
type machine struct {
	peersync.Side
	t      *testing.T
	db     *sqlite.DB
	engine *lcm.Engine
	pusher teamsync.Pusher
}

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	newEngine := func(s store.Store) (*lcm.Engine, error) { return lcm.New(s, lcm.WithoutBackground()) }
	engine, err := newEngine(db)
	if err != nil {
		t.Fatal(err)
	}
	server, err := teamserver.New(t.Context(), teamserver.Config{Store: db, Engine: engine, NewEngine: newEngine})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	m := &machine{t: t, db: db, engine: engine, pusher: teamsync.Pusher{Store: db, Privacy: ingest.Privacy{Redact: privacy.Search}, MachineName: name}}
	id, err := m.pusher.Machine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Side = peersync.Side{Hello: peersync.Hello{Machine: id, Name: name}, Push: m.push}
	m.Take = func(other peersync.Hello) http.Handler {
		return server.Peer(m.Machine, teamserver.Peer{Machine: other.Machine, Name: other.Name, Stays: m.pusher.Stays})
	}
	return m
}

// push is what the command does, without leases.
func (m *machine) push(ctx context.Context, to teamsync.Client, other peersync.Hello, verify bool) (o peersync.Outcome) {
	p := m.pusher
	p.Client, p.Peer = to, other.Machine
	p.Forget = func(ctx context.Context, order store.Erasure) error {
		_, err := m.engine.Erase(ctx, order, nil)
		return err
	}
	var err error
	if p.Received, err = teamserver.Received(ctx, m.db, other.Machine); err == nil && verify {
		var v teamsync.Verified
		v, err = p.Verify(ctx)
		o.Verified = &v
	} else if err == nil {
		var r teamsync.Report
		r, err = p.Push(ctx)
		o.Pushed = &r
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

// say appends a message with an id, or without one.
func (m *machine) say(key, native, text string) {
	m.t.Helper()
	said := llms.User(text)
	said.ID, said.Time = native, time.Now()
	if strings.Contains(text, "on both") { // read from the same file
		said.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	if _, err := m.engine.Session(key, lcm.WithProject(app), lcm.WithAgent("claude"), lcm.WithTitle("about "+key)).AppendInputs(m.t.Context(), ingest.Input{Message: said}); err != nil {
		m.t.Fatal(err)
	}
}

// forget erases the messages that contain a text.
func (m *machine) forget(text string) {
	m.t.Helper()
	order := store.Erasure{Cause: "test"}
	m.each(func(_ store.Conversation, msg store.Message) {
		if strings.Contains(msg.Body.Render(), text) {
			order.Messages = append(order.Messages, msg.ID)
		}
	})
	if len(order.Messages) == 0 {
		return
	}
	if _, err := m.engine.Erase(m.t.Context(), order, nil); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) each(fn func(store.Conversation, store.Message)) {
	m.t.Helper()
	list, err := m.db.Conversations(m.t.Context(), store.ConversationQuery{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, c := range list {
		for msg, err := range m.db.Messages(m.t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				m.t.Fatal(err)
			}
			fn(c, msg)
		}
	}
}

// texts returns the first word of every message, by session.
func (m *machine) texts() string {
	var all []string
	m.each(func(c store.Conversation, msg store.Message) {
		word, _, _ := strings.Cut(msg.Body.Render(), " ")
		all = append(all, c.Key+":"+word)
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// cut is a stream that fails after a number of bytes, which both directions share.
type cut struct {
	io.Reader
	*io.PipeWriter
	left *atomic.Int64
}

var errCut = errors.New("cut")

func (c cut) Write(p []byte) (int, error) {
	left := c.left.Add(-int64(len(p)))
	if left < 0 {
		c.CloseWithError(errCut)
		return 0, errCut
	}
	return c.PipeWriter.Write(p)
}

// exchange exchanges messages with another machine, over a connection that is cut after some
// bytes. It reports whether that did not happen.
func (m *machine) exchange(other *machine, bytes int64, verify bool) (mine, theirs peersync.Outcome, done bool) {
	m.t.Helper()
	var left atomic.Int64
	left.Store(bytes)
	fromOther, toMe := io.Pipe()
	fromMe, toOther := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := other.Answer(m.t.Context(), fromMe, cut{nil, toMe, &left})
		toMe.Close()
		fromMe.Close()
		ended <- err
	}()
	_, mine, theirs, err := m.Start(m.t.Context(), fromOther, cut{nil, toOther, &left}, "ssh://"+other.Name, verify)
	fromOther.Close()
	answered := <-ended
	if left.Load() > 0 && (err != nil || answered != nil || mine.Error+theirs.Error != "") {
		m.t.Fatalf("%s with %s: %v, %v, %q, %q", m.Name, other.Name, err, answered, mine.Error, theirs.Error)
	}
	return mine, theirs, left.Load() > 0
}

const whole = 1 << 40

func (m *machine) sync(other *machine) (mine, theirs peersync.Outcome) {
	m.t.Helper()
	mine, theirs, _ = m.exchange(other, whole, false)
	return mine, theirs
}

// agree checks that two machines have the same messages, and prove it to each other.
func agree(t *testing.T, a, b *machine) {
	t.Helper()
	if x, y := a.texts(), b.texts(); x != y {
		t.Fatalf("%s has\n%s\nand %s\n%s", a.Name, x, b.Name, y)
	}
	mine, theirs, _ := a.exchange(b, whole, true)
	if len(mine.Verified.Differ)+len(theirs.Verified.Differ) > 0 {
		t.Errorf("%s and %s differ: %+v, %+v", a.Name, b.Name, mine.Verified, theirs.Verified)
	}
	for _, m := range []*machine{a, b} {
		list, err := m.db.Conversations(t.Context(), store.ConversationQuery{Erased: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if v, err := m.db.Verify(t.Context(), c.ID); err != nil || len(v.Faults) > 0 {
				t.Errorf("%s: conversation %d: %v, %v", m.Name, c.ID, v.Faults, err)
			}
		}
	}
}

// Both machines get what the other has, once, whichever of them calls, and a session that is
// on both is one.
func TestBothDirections(t *testing.T) {
	a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
	a.say("claude:1", "n1", "a1 with "+secret)
	a.say("claude:1", "", "a2 without an id")
	b.say("claude:2", "n2", "b1 <private>never</private>")
	for _, m := range []*machine{a, b} { // a home that was copied
		m.say("claude:both", "n3", "c1 on both")
		m.say("claude:both", "n4", "c2 on both, with "+secret)
		m.say("claude:same-name", "own-"+m.Name, "d-"+m.Name)
	}
	mine, theirs := a.sync(b)
	if mine.Pushed.Messages != 3 || theirs.Pushed.Messages != 3 { // what is on both counts once
		t.Errorf("sent %+v, received %+v", mine.Pushed, theirs.Pushed)
	}
	if mine, theirs := b.sync(a); mine.Pushed.Messages+theirs.Pushed.Messages != 0 {
		t.Errorf("again: sent %+v, received %+v", mine.Pushed, theirs.Pushed)
	}
	b.say("claude:1", "n5", "b2 goes on with a session of the other machine")
	b.sync(a)
	want := []string{"claude:1:a1", "claude:1:a2", "claude:1:b2", "claude:2:b1", "claude:both:c1", "claude:both:c2"}
	for _, m := range []*machine{a, b} {
		got := strings.Split(m.texts(), "\n")
		if len(got) != 8 || fmt.Sprint(got[:6]) != fmt.Sprint(want) {
			t.Errorf("%s has %q", m.Name, got)
		}
	}
	mine, theirs, _ = a.exchange(b, whole, true)
	if len(mine.Verified.Differ)+len(theirs.Verified.Differ) > 0 || mine.Verified.Messages+theirs.Verified.Messages != 7 {
		t.Errorf("verify: %+v, %+v", mine.Verified, theirs.Verified)
	}
	var agents []string
	b.each(func(c store.Conversation, m store.Message) {
		record, err := b.db.Record(t.Context(), m.ID)
		if held := bytes.Contains(record, []byte(secret)); err != nil || held != (c.Key == "claude:both" && m.Native == "n4") {
			t.Errorf("%s has the secret: %v, %v", m.Body.Render(), held, err)
		}
		agents = append(agents, c.Key+" "+c.Agent)
	})
	if slices.Sort(agents); agents[0] != "claude:1 claude (@laptop)" {
		t.Errorf("the agents are %q", agents)
	}
}

// What is forgotten on one machine is forgotten on the other, whoever said it and whoever calls.
func TestForgottenOnBoth(t *testing.T) {
	a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
	for _, m := range []*machine{a, b} {
		for i := range 6 {
			m.say("claude:"+m.Name, fmt.Sprint("n", i), fmt.Sprintf("%s-%d says something", m.Name, i))
		}
		m.say("claude:both", "n", "both-1 is on both")
		m.say("claude:whole-"+m.Name, "n", "whole-"+m.Name+" goes away")
	}
	a.sync(b)
	for i, m := range []*machine{a, b} {
		for _, from := range []*machine{a, b} {
			m.forget(fmt.Sprintf("%s-%d ", from.Name, i))
		}
	}
	b.forget("both-1")
	a.forget("whole-desktop")
	b.forget("whole-laptop")
	mine, theirs := b.sync(a)
	if n := mine.Pushed.Erased + mine.Pushed.Forgot + theirs.Pushed.Erased + theirs.Pushed.Forgot; n != 7 {
		t.Errorf("%d messages were erased: %+v, %+v", n, mine.Pushed, theirs.Pushed)
	}
	agree(t, a, b)
	if text := a.texts(); strings.Count(text, "\n") != 7 || strings.Contains(text, "whole") || strings.Contains(text, "both") {
		t.Errorf("both have\n%s", text)
	}
	for range 2 {
		if mine, theirs := a.sync(b); mine.Pushed.Messages+theirs.Pushed.Messages+mine.Pushed.Forgot+theirs.Pushed.Forgot != 0 {
			t.Errorf("again: %+v, %+v", mine.Pushed, theirs.Pushed)
		}
	}
}

// Three machines that all exchange with each other have everything once.
func TestThreeMachines(t *testing.T) {
	all := []*machine{newMachine(t, "laptop"), newMachine(t, "desktop"), newMachine(t, "tower")}
	for _, m := range all {
		m.say("claude:"+m.Name, "n1", m.Name+"-1 has "+secret)
		m.say("claude:"+m.Name, "", m.Name+"-2 without an id")
	}
	for range 2 {
		all[0].sync(all[1])
		all[1].sync(all[2])
		all[2].sync(all[0])
	}
	all[2].forget("laptop-2")
	all[1].sync(all[2])
	all[0].sync(all[1])
	agree(t, all[0], all[1])
	agree(t, all[1], all[2])
	if text := all[0].texts(); strings.Count(text, "\n") != 4 || strings.Contains(text, "laptop-2") {
		t.Errorf("they have\n%s", text)
	}
}

// An exchange may be cut off anywhere: what is said and forgotten meanwhile arrives once.
func TestCutAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 4))
	a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
	said, cuts := 0, 0
	var gone []string
	for range 60 {
		for _, m := range []*machine{a, b} {
			for range 1 + random.IntN(5) {
				said++
				native := fmt.Sprint("n", said)
				if random.IntN(4) == 0 {
					native = ""
				}
				text := fmt.Sprintf("m%d.", said)
				if random.IntN(4) == 0 {
					text += " " + secret
				}
				m.say(fmt.Sprint("claude:", random.IntN(6)), native, text)
			}
			if random.IntN(3) == 0 {
				text := fmt.Sprintf("m%d.", 1+random.IntN(said))
				m.forget(text)
				gone = append(gone, text)
			}
		}
		x, y := a, b
		if random.IntN(2) == 0 {
			x, y = b, a
		}
		if _, _, done := x.exchange(y, random.Int64N(9000), false); !done {
			cuts++
		}
	}
	a.sync(b)
	b.sync(a)
	for _, m := range []*machine{a, b} {
		seen := map[string]int{}
		m.each(func(_ store.Conversation, msg store.Message) {
			word, _, _ := strings.Cut(msg.Body.Render(), " ")
			seen[word]++
		})
		for i := range said {
			text := fmt.Sprintf("m%d.", i+1)
			if n := seen[text]; n > 1 || n == 0 && !slices.Contains(gone, text) {
				t.Errorf("%s has %s %d times", m.Name, text, n)
			}
		}
	}
	t.Logf("%d messages, %d of 60 exchanges were cut off", said, cuts)
	if cuts < 40 {
		t.Errorf("only %d exchanges were cut off", cuts)
	}
	mine, theirs, _ := a.exchange(b, whole, true)
	if len(mine.Verified.Differ)+len(theirs.Verified.Differ) > 0 {
		t.Errorf("verify: %+v, %+v", mine.Verified, theirs.Verified)
	}
}
