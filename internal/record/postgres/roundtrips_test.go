//go:build unix

package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// An append of any number of messages takes the same number of round trips, with and
// without ids of their own, and new and known ones. A context and a search do not read
// row by row either.
func TestRoundTripsAreFew(t *testing.T) {
	var trips postgres.RoundTrips
	db := open(t, pgtest.URL(t), trips.Count(postgres.Options{DeferIndex: true}))
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	n, inA := 0, 0
	session, running := "a", engine.Session("c")
	add := func(count int, native bool) func() {
		return func() {
			var ms []llms.Message
			for range count {
				n++
				m := llms.Text(llms.RoleUser, fmt.Sprintf("message %d says word%d and more", n, n))
				if native {
					m.ID = fmt.Sprint("id", n)
				}
				ms = append(ms, m)
			}
			if err := engine.Session(session).Append(t.Context(), ms...); err != nil {
				t.Fatal(err)
			}
		}
	}
	view := func() {
		if _, err := engine.Session("b").Context(t.Context(), 50_000); err != nil {
			t.Fatal(err)
		}
	}
	search := func(mode store.Mode, pattern string) func() {
		return func() {
			if _, err := db.Search(t.Context(), store.Search{Mode: mode, Pattern: pattern, Limit: 50}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		most int64
		run  func()
	}{
		{"append 1", 5, add(1, false)},
		{"append 1 with an id", 5, add(1, true)},
		{"append 1 by a running session", 3, func() {
			if err := running.Append(t.Context(), llms.Text(llms.RoleUser, "more")); err != nil {
				t.Fatal(err)
			}
		}},
		{"append 10", 5, add(10, false)},
		{"append 10 with ids", 6, add(10, true)},
		{"append 1000", 5, add(1000, false)},
		{"append 1000 with ids", 6, add(1000, true)},
		{"append 1000 again", 6, func() { n -= 1000; add(1000, true)() }},
		{"another session", 5, func() {
			if session == "a" {
				session, inA = "b", n
			}
			add(60, false)()
		}},
		{"append 180 to it", 5, add(180, false)},
		{"context of 240 messages", 10, view},
		// A search reads on several connections.
		{"word", 30, search(store.FullText, "word77")},
		{"question, 400 candidates", 50, search(store.FullText, "what does message say of word77 and more?")},
		{"regex, 200 candidates", 50, search(store.Regex, "says word7[0-9]* and")},
	} {
		got := trips.Of(c.most, c.run)
		if t.Logf("%s: %d round trips", c.name, got); got > c.most {
			t.Errorf("that is more than %d", c.most)
		}
		if err := db.Reindex(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := conversation(t, db, "a")
	if v, err := db.Verify(t.Context(), c); err != nil || len(v.Faults) > 0 || v.Messages != int64(inA) {
		t.Errorf("%d messages, %v, %v", v.Messages, v.Faults, err)
	}
}

// Connections that were cut while they were idle, or between the statements of a read,
// cost time only.
func TestReadsAreRepeated(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	db := open(t, through, postgres.Options{})
	id := conversation(t, db, "cut")
	say(t, db, id, "one", "two")
	var together [3]chan struct{} // several idle connections
	for i := range together {
		together[i] = make(chan struct{})
		go func() {
			defer close(together[i])
			_, _ = db.Conversation(t.Context(), id)
		}()
	}
	for _, done := range together {
		<-done
	}
	proxy.Cut()
	if _, err := db.Conversation(t.Context(), id); err != nil {
		t.Error(err)
	}
	proxy.Cut()
	if got := texts(t, db, id); len(got) != 2 {
		t.Errorf("%q", got)
	}
	runs := 0
	count, err := sqldb.Read(t.Context(), db.SQL(), func(c sqldb.Conn) (int, error) {
		runs++
		if _, err := sqldb.Value[int](c, `SELECT count(*) FROM messages`); err != nil {
			return 0, err
		}
		if runs == 1 {
			proxy.Cut()
		}
		return sqldb.Value[int](c, `SELECT count(*) FROM messages`)
	})
	if err != nil || count != 2 || runs != 2 {
		t.Errorf("%d messages in %d runs, %v", count, runs, err)
	}
	// What a caller has got is not repeated.
	seen := 0
	err = db.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
		return c.Query(`SELECT id FROM messages`, func(sqldb.Row) error {
			if seen++; seen == 2 {
				proxy.Cut()
				return c.Exec(`SELECT 1`)
			}
			return nil
		})
	})
	if err == nil || seen != 2 {
		t.Errorf("%d rows, %v", seen, err)
	}
}

// A read waits for a server that restarts. A database that is being opened does not: its
// address may be wrong.
func TestReadsWaitForARestart(t *testing.T) {
	var refused atomic.Int64
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	db := open(t, through, postgres.Refusing(&refused))
	id := conversation(t, db, "restart")
	say(t, db, id, "one")
	proxy.Cut()
	refused.Store(6)
	if _, err := db.Conversation(t.Context(), id); err != nil || refused.Load() > 0 {
		t.Errorf("%v, with %d refusals left", err, refused.Load())
	}
	refused.Store(100)
	if _, err := postgres.Open(t.Context(), through, postgres.Refusing(&refused)); err == nil || refused.Load() < 90 {
		t.Errorf("%v, with %d refusals left", err, refused.Load())
	}
}
