package compact_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// beforeLease is a database in which something happens just before a run takes
// its lease.
type beforeLease struct {
	*sqlite.DB
	happens func()
}

func (s *beforeLease) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	if space == "lease" && version == 0 && s.happens != nil {
		s.happens()
	}
	return s.DB.Put(ctx, space, key, data, version, expires)
}

// listener keeps the requests that it gets.
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

// A run plans before it takes its lease. No model is shown a message that was
// erased in between.
func TestAnErasureBeforeTheLease(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for _, c := range []struct {
		name               string
		erase, whole, fork bool
	}{
		{name: "nothing happens"},
		{name: "a message is erased", erase: true},
		{name: "all of it is erased", erase: true, whole: true},
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
			s := &beforeLease{DB: db}
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
			if heard := strings.Contains(l.heard.String(), secret); heard == c.erase {
				t.Errorf("the model was shown what was erased: %v", heard)
			}
			if c.whole && l.heard.Len() > 0 {
				t.Errorf("the model was shown %d bytes", l.heard.Len())
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
