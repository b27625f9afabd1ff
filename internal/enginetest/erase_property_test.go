package enginetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// forgetting is a random life of a record: sessions grow, are folded, forked,
// rewound, forgotten in parts and imported again.
type forgetting struct {
	*forgetful
	t        *testing.T
	sessions []*talk
	marks    int
}

// talk is a session with the transcript that its host keeps, in which nothing
// is ever forgotten.
type talk struct {
	*lcm.Session
	transcript []llms.Message
	forgotten  map[string]bool // ids
	fork       bool
}

// pick draws one of several by number, so that a failure is told in few lines.
func pick[T any](rt *rapid.T, label string, all []T) T {
	return all[rapid.IntRange(0, len(all)-1).Draw(rt, label)]
}

// grow says something new in a session. Every message has a mark of its own,
// by which it would be found.
func (f *forgetting) grow(rt *rapid.T) {
	s := pick(rt, "session", f.sessions)
	n := rapid.IntRange(1, 12).Draw(rt, "messages")
	for range n {
		f.marks++
		f.now = f.now.Add(time.Second)
		m := llms.User(fmt.Sprintf("mark%04dx: the module part%d.go of service s%d fails with error %d in step %d", f.marks, f.marks%5, f.marks%3, f.marks*7, f.marks))
		if f.marks%9 == 0 {
			m = llms.Assistant(fmt.Sprintf("mark%04dx\n%s", f.marks, bytes.Repeat([]byte(fmt.Sprintf("line of output %d\n", f.marks)), 300)))
		}
		m.ID, m.Time = fmt.Sprintf("%s-%d", s.Key(), f.marks), f.now
		s.transcript = append(s.transcript, m)
	}
	f.reimport(rt, s)
}

// reimport sends the whole transcript again, as hosts and imports do.
func (f *forgetting) reimport(rt *rapid.T, s *talk) {
	var err error
	if rapid.Bool().Draw(rt, "sync") {
		_, err = s.Sync(f.t.Context(), s.transcript)
	} else {
		_, err = s.AppendInputs(f.t.Context(), ingest.Messages(s.transcript...)...)
	}
	if err != nil {
		rt.Fatalf("import of %s: %v", s.Key(), err)
	}
}

func (f *forgetting) compact(rt *rapid.T) {
	s := pick(rt, "session", f.sessions)
	if _, err := s.Compact(f.t.Context(), lcm.CompactOptions{Budget: 1_000}); err != nil {
		rt.Fatalf("compact: %v", err)
	}
}

func (f *forgetting) fork(rt *rapid.T) {
	s := pick(rt, "session", f.sessions)
	conv, err := s.Conversation(f.t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	own := f.messages(f.t, conv.ID)
	if len(own) == 0 || len(f.sessions) > 5 || s.fork {
		return
	}
	at := pick(rt, "at", own)
	key := fmt.Sprintf("fork%d", len(f.sessions))
	session, err := s.Fork(f.t.Context(), key, at.ID)
	if err != nil {
		rt.Fatalf("fork: %v", err)
	}
	made := &talk{Session: session, forgotten: map[string]bool{}, fork: true}
	for _, m := range s.transcript {
		if !m.Time.After(at.Body.Time) {
			made.transcript = append(made.transcript, m)
			made.forgotten[m.ID] = s.forgotten[m.ID]
		}
	}
	f.sessions = append(f.sessions, made)
}

// forgetSome forgets one message, a span of time or all that matches a mark.
func (f *forgetting) forgetSome(rt *rapid.T) {
	s := pick(rt, "session", f.sessions)
	if len(s.transcript) == 0 {
		return
	}
	m := pick(rt, "message", s.transcript)
	var what lcm.EraseQuery
	goes := func(o llms.Message) bool { return o.ID == m.ID }
	if rapid.Bool().Draw(rt, "by time") {
		what.Since, what.Before = m.Time, m.Time.Add(time.Duration(rapid.IntRange(1, 5).Draw(rt, "seconds"))*time.Second)
		goes = func(o llms.Message) bool { return !o.Time.Before(what.Since) && o.Time.Before(what.Before) }
	} else {
		what.Pattern = "^" + m.Render()[:9]
		if rapid.Bool().Draw(rt, "anywhere") {
			what.Pattern = m.Render()[:9]
		}
	}
	f.forget(f.t, what)
	for _, s := range f.sessions {
		for _, o := range s.transcript {
			if goes(o) {
				s.forgotten[o.ID] = true
			}
		}
	}
}

// forgetAll forgets a whole conversation that has no forks.
func (f *forgetting) forgetAll(rt *rapid.T) {
	s := pick(rt, "session", f.sessions)
	conv, err := s.Conversation(f.t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	if s.fork {
		return
	}
	own := map[string]bool{}
	for _, m := range f.messages(f.t, conv.ID) {
		own[m.Native] = true
	}
	f.forget(f.t, lcm.EraseQuery{Conversations: []store.ConversationID{conv.ID}})
	for _, o := range f.sessions {
		for _, m := range o.transcript {
			if own[m.ID] || o == s {
				o.forgotten[m.ID] = true
			}
		}
	}
}

// check holds the record against the transcripts.
func (f *forgetting) check(rt *rapid.T) {
	for _, s := range f.sessions {
		f.reimport(rt, s)
	}
	f.sound(f.t)
	all, err := f.db.Conversations(f.t.Context(), store.ConversationQuery{Erased: true})
	if err != nil {
		rt.Fatal(err)
	}
	have := map[string]string{} // by id
	for _, c := range all {
		for _, m := range f.messages(f.t, c.ID) {
			record, err := f.db.Record(f.t.Context(), m.ID)
			if err != nil {
				rt.Fatal(err)
			}
			have[m.Native] = string(record)
		}
	}
	var forgotten []string
	for _, s := range f.sessions {
		for _, m := range s.transcript {
			record, there := have[m.ID]
			if s.forgotten[m.ID] {
				forgotten = append(forgotten, m.Render()[:9])
			}
			switch {
			case s.forgotten[m.ID] && there:
				rt.Errorf("%s of %s was forgotten, and is there", m.ID, s.Key())
			case !s.forgotten[m.ID] && record != m.Render():
				rt.Errorf("%s of %s has changed or is gone: %q", m.ID, s.Key(), record)
			}
		}
	}
	for _, where := range f.backend.Traces(f.t, f.address, forgotten...) {
		rt.Errorf("forgotten, and still in %s", where)
	}
}

// TestForgettingProperty: whatever is done to a record, what was forgotten
// never comes back, all else stays byte for byte, and all of it verifies.
func TestForgettingProperty(t *testing.T) {
	backendtest.Cases(t, 40) // each has a database of its own
	backendtest.Each(t, forgettingProperty)
}

func forgettingProperty(t *testing.T, b backendtest.Backend) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &forgetting{forgetful: newForgetful(t, b), t: t}
		for i := range 2 {
			f.sessions = append(f.sessions, &talk{Session: f.Session(fmt.Sprintf("talk%d", i)), forgotten: map[string]bool{}})
		}
		f.grow(rt)
		for range rapid.IntRange(3, 8).Draw(rt, "steps") {
			pick(rt, "step", []func(*rapid.T){f.grow, f.grow, f.compact, f.compact, f.fork, f.forgetSome, f.forgetSome, f.forgetAll})(rt)
		}
		f.check(rt)
		f.db.Close()
	})
}
