package compact_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

// unhurried is a database in which a lease is taken only once messages were
// read, or it is clear that they are not, and after something has happened.
type unhurried struct {
	*sqlite.DB
	wait    time.Duration
	happens func()

	mu    sync.Mutex
	once  sync.Once
	read  chan struct{}
	early bool // messages were read before the lease was taken
	loads map[store.MessageID]int
}

func (s *unhurried) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for m, err := range s.DB.Messages(ctx, q) {
			s.mu.Lock()
			s.loads[m.ID]++
			s.mu.Unlock()
			if !yield(m, err) {
				return
			}
		}
		s.once.Do(func() { close(s.read) })
	}
}

func (s *unhurried) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	if space == "lease" && version == 0 {
		select {
		case <-s.read:
			s.early = true
		case <-time.After(s.wait):
		}
		if s.happens != nil {
			s.happens()
		}
	}
	return s.DB.Put(ctx, space, key, data, version, expires)
}

// listener notes what it is shown.
type listener struct {
	mu    sync.Mutex
	heard strings.Builder
}

func (l *listener) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range r.Sources {
		l.heard.WriteString(s.Text)
	}
	return summary.Result{Text: "a summary\n" + summary.Footer + "everything", Method: "listener"}, nil
}

// What is read before a run has its lease is used, unless some of it was erased
// meanwhile: then no model is shown it.
func TestReadingAheadOfTheLease(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for _, c := range []struct {
		name         string
		erase, early bool
		whole, fork  bool
	}{
		{name: "nothing happens", early: true},
		{name: "a message is erased", erase: true, early: true},
		{name: "all of it is erased", erase: true, early: true, whole: true},
		{name: "a fork", fork: true},
		{name: "a message of a fork is erased", erase: true, fork: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			db, id := open(t)
			owner := id
			for i := range 200 {
				said := fmt.Sprintf("message %d: %s", i, text(400))
				if i == 1 {
					said = secret + " " + said
				}
				appendTo(t, db, id, llms.Text([]llms.Role{llms.RoleUser, llms.RoleAssistant}[i%2], said))
			}
			other, err := db.Open(ctx, store.NewConversation{Key: "another"})
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, db, other.ID, llms.Text(llms.RoleUser, "the newest"))
			if c.fork {
				forked, err := db.Fork(ctx, id, 200, store.NewConversation{Key: "fork"})
				if err != nil {
					t.Fatal(err)
				}
				id = forked.ID
			}
			s := &unhurried{DB: db, wait: 5 * time.Second, read: make(chan struct{}), loads: map[store.MessageID]int{}}
			if c.fork {
				s.wait = 50 * time.Millisecond
			}
			if c.erase {
				s.happens = func() {
					s.happens = nil
					order := store.Erasure{Messages: []store.MessageID{2}, Cause: "forget"}
					if c.whole {
						order = store.Erasure{Conversations: []store.ConversationID{owner}, Cause: "forget"}
					}
					if _, err := db.Erase(ctx, order); err != nil {
						t.Error(err)
					}
				}
			}
			l := &listener{}
			r := newRunner(t, compact.Config{Store: s, State: s, Summariser: l, Policy: compact.Policy{LeafChunkTokens: 2000}})
			rep, err := r.Run(ctx, id, compact.Limits{Budget: 20_000}, compact.Full)
			if err != nil || (rep.Leaves == 0) != c.whole {
				t.Fatalf("%v, %v", rep, err)
			}
			if s.early != c.early {
				t.Errorf("messages were read before the lease was taken: %v, want %v", s.early, c.early)
			}
			if heard := strings.Contains(l.heard.String(), secret); heard == c.erase {
				t.Errorf("the model was shown what was erased: %v", heard)
			}
			if c.whole && l.heard.Len() > 0 {
				t.Errorf("the model was shown %d bytes", l.heard.Len())
			}
			if twice := s.loads[1] > 1; twice != (c.erase && c.early && !c.whole) {
				t.Errorf("the first fold's messages were read %d times", s.loads[1])
			}
			for _, of := range []store.ConversationID{owner, id} {
				if c.whole {
					continue
				}
				if v, err := db.Verify(ctx, of); err != nil || len(v.Faults) > 0 {
					t.Errorf("conversation %d: %v, %v", of, v.Faults, err)
				}
			}
		})
	}
}
