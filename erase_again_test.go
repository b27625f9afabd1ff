package lcm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// TestForgottenComesBackNowhere: a message that was forgotten is refused in
// whatever session it is offered again, by its id and time or by its content,
// before anything of it is written; a short text may be said again.
func TestForgottenComesBackNowhere(t *testing.T) {
	said := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	large := strings.Repeat(planted+" and a line of the log that nobody needs any more\n", 4000)
	record := func(id, session, text string) llms.Message {
		m, err := wire.Decode(llms.FormatClaude, "", fmt.Appendf(nil,
			`{"type":"user","uuid":%q,"sessionId":%q,"timestamp":"2026-02-03T04:05:06.000Z","message":{"role":"user","content":%q}}`, id, session, text))
		if err != nil {
			t.Fatal(err)
		}
		m.ID, m.Time = id, said
		return m
	}
	const middle = planted + ", which is long enough to be known again by what it says alone"
	bare := func(text string) llms.Message {
		m, err := wire.Decode(llms.FormatOpenAI, "", fmt.Appendf(nil, `{"role":"user","content":%q}`, text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	later := func(m llms.Message) llms.Message {
		m.ID, m.Time = m.ID+"-new", m.Time.Add(time.Hour)
		return m
	}
	other := func(m llms.Message) llms.Message { m.Time = m.Time.Add(time.Hour); return m }
	for _, c := range []struct {
		name    string
		first   llms.Message
		again   llms.Message
		session string
		refused bool
	}{
		{"large, the same session", record("u1", "a", large), record("u1", "a", large), "a", true},
		{"large, another session", record("u1", "a", large), record("u1", "b", large), "b", true},
		{"another session, the same id and time", record("u1", "a", "yes"), record("u1", "b", "yes"), "b", true},
		{"another session and id", record("u1", "a", middle), later(record("u2", "b", middle)), "b", true},
		{"another shape", record("u1", "a", middle), bare(middle), "b", true},
		{"no id, no time", bare(middle), bare(middle), "b", true},
		{"no id, no time, large", bare(large), bare(large), "b", true},
		{"short, said again", record("u1", "a", "yes"), later(record("u1", "b", "yes")), "b", false},
		{"short, said again in the session", record("u1", "a", "yes"), later(record("u1", "a", "yes")), "a", false},
		{"short, another shape", record("u1", "a", "yes"), bare("yes"), "b", false},
		{"an id that is used again", record("1", "a", "no"), other(record("1", "b", "maybe")), "b", false},
	} {
		for _, way := range []string{"sync", "append"} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprint(c.name, " ", way, " ", whole), func(t *testing.T) {
					path := backendtest.SQLite.Create(t)
					db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: func() time.Time { return said.Add(time.Minute) }})
					if err != nil {
						t.Fatal(err)
					}
					e, err := lcm.New(db)
					if err != nil {
						t.Fatal(err)
					}
					give := func(session string, ms ...llms.Message) (stored int) {
						s := e.Session("claude:" + session)
						if way == "sync" {
							done, err := s.Sync(t.Context(), ms)
							if err != nil {
								t.Fatal(err)
							}
							return len(done.Stored)
						}
						all, err := s.AppendInputs(t.Context(), ingest.Messages(ms...)...)
						if err != nil {
							t.Fatal(err)
						}
						for _, a := range all {
							if !a.Existed {
								stored++
							}
						}
						return stored
					}
					if n := give("a", c.first); n != 1 {
						t.Fatalf("%d messages stored at first", n)
					}
					f := lcm.EraseQuery{Messages: []store.MessageID{1}}
					if whole {
						f = lcm.EraseQuery{Conversations: []store.ConversationID{1}}
					}
					order, err := e.Order(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					done, err := e.Erase(t.Context(), order, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := 0
					if !c.refused {
						want = 1
					}
					if n := give(c.session, c.again); n != want {
						t.Errorf("%d messages are stored again, want %d", n, want)
					}
					db.Close()
					if left := backendtest.SQLite.Traces(t, path, planted, "zanzibar", "quixotic"); left != nil {
						t.Errorf("what was forgotten is in the files: %v", left)
					}
					if db, err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					if err := db.Lift(t.Context(), done.Tombstone); err != nil {
						t.Fatal(err)
					}
					if e, err = lcm.New(db); err != nil {
						t.Fatal(err)
					}
					if n := give(c.session, c.again); c.refused && n != 1 {
						t.Errorf("lifted, %d messages are stored, want 1", n)
					}
				})
			}
		}
	}
}
