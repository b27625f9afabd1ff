package faulttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// worker does everything that agents do to a record, at random, and writes the ids of
// acknowledged messages to Out; see expected.Read.
type worker struct {
	Out      io.Writer
	Seed     uint64
	Sessions []string
	// From is the number of the first message of each session that is not
	// acknowledged. The worker begins a little before it, like a host that sends
	// its last messages again.
	From map[string]int
	Log  *slog.Logger
	// Clock returns the time (time.Now).
	Clock func() time.Time

	db     *sqlite.DB
	engine *lcm.Engine
	rng    *rand.Rand
	next   map[string]int
	forks  int
}

// resend is how many acknowledged messages are sent again.
const resend = 4

// smallBudget keeps compaction busy; larger content than smallPayload becomes a payload.
const (
	smallBudget  = 4_000
	smallPayload = 500
)

// Start begins work on a record, and finishes erasures of earlier processes.
func (w *worker) Start(ctx context.Context, db *sqlite.DB) (err error) {
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	if w.Clock == nil {
		w.Clock = time.Now
	}
	w.db, w.rng, w.next = db, rand.New(rand.NewPCG(w.Seed, 1)), map[string]int{}
	for _, s := range w.Sessions {
		w.next[s] = max(0, w.From[s]-resend)
	}
	w.engine, err = lcm.New(db, lcm.WithBudget(smallBudget), lcm.WithLargeContent(smallPayload), lcm.WithLogger(w.Log), lcm.WithClock(w.Clock))
	if err != nil {
		return err
	}
	return w.engine.FinishErasing(ctx, nil)
}

// Close ends background work.
func (w *worker) Close(ctx context.Context) error { return w.engine.Close(ctx) }

// Step does one thing. It returns the engine's error.
func (w *worker) Step(ctx context.Context) error {
	session := w.Sessions[w.rng.IntN(len(w.Sessions))]
	switch n := w.rng.IntN(100); {
	case n < 62:
		return w.append(ctx, session, 1)
	case n < 80:
		return w.append(ctx, session, 2+w.rng.IntN(20))
	case n < 85:
		_, err := w.engine.Session(session).Context(ctx, smallBudget)
		return tolerate(err)
	case n < 88:
		_, err := w.engine.Session(session).Compact(ctx, lcm.CompactOptions{Budget: smallBudget, Full: w.rng.IntN(3) == 0})
		return err
	case n < 91:
		return w.search(ctx, session)
	case n < 94:
		return w.rewind(ctx, session)
	case n < 95:
		return w.fork(ctx, session)
	case n < 96:
		return w.db.Reindex(ctx)
	case n < 97:
		return w.stub(ctx, session)
	case n < 98:
		return w.forget(ctx, session)
	}
	return w.reword(ctx, session)
}

// tolerate ignores the error that a large message does not fit the small budget.
func tolerate(err error) error {
	if err != nil && strings.Contains(err.Error(), "raise the token budget") {
		return nil
	}
	return err
}

// append stores the next messages of a session in one transaction, and acknowledges
// them.
func (w *worker) append(ctx context.Context, session string, n int) error {
	var ids []string
	var ms []llms.Message
	for i := range n {
		id := messageID(session, w.next[session]+i)
		m, err := message(id)
		if err != nil {
			return err
		}
		ids, ms = append(ids, id), append(ms, m)
	}
	if err := w.engine.Session(session).Append(ctx, ms...); err != nil {
		return err
	}
	w.next[session] += n
	_, err := fmt.Fprintf(w.Out, "ack %s\n", strings.Join(ids, " "))
	return err
}

func (w *worker) search(ctx context.Context, session string) error {
	id := messageID(session, w.rng.IntN(w.next[session]+1))
	_, err := w.db.Search(ctx, store.Search{Mode: store.FullText, Pattern: word(id) + " deploy", Sort: store.ByRelevance, Limit: 5, CountTo: 100})
	return err
}

// conversation returns a session's conversation and its newest messages.
func (w *worker) conversation(ctx context.Context, session string) (store.Conversation, []store.Message, error) {
	c, err := w.engine.Session(session).Conversation(ctx)
	if err != nil {
		return c, nil, err
	}
	var ms []store.Message
	for m, err := range w.db.Messages(ctx, store.MessageQuery{Conversation: c.ID, Newest: true, Limit: 40}) {
		if err != nil {
			return c, nil, err
		}
		ms = append(ms, m)
	}
	return c, ms, nil
}

// rewind rewinds to a message on the active branch or on a kept one.
func (w *worker) rewind(ctx context.Context, session string) error {
	_, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	err = w.engine.Session(session).Rewind(ctx, ms[w.rng.IntN(len(ms))].ID, "faulttest")
	if errors.Is(err, store.ErrOffBranch) {
		return nil // the message is hidden meanwhile
	}
	return err
}

func (w *worker) fork(ctx context.Context, session string) error {
	c, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	w.forks++
	key := fmt.Sprintf("%s/fork-%d-%d", session, w.Seed, w.forks)
	_, err = w.db.Fork(ctx, c.ID, ms[w.rng.IntN(len(ms))].ID, store.NewConversation{Key: key})
	if errors.Is(err, store.ErrOffBranch) {
		return nil // it is on another branch
	}
	return err
}

// forget erases a message. It reports this before, because the message may be gone from
// then on, and after, because it must be.
func (w *worker) forget(ctx context.Context, session string) error {
	_, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	m := ms[w.rng.IntN(len(ms))]
	if _, err := fmt.Fprintf(w.Out, "forget %s\n", m.Native); err != nil {
		return err
	}
	if _, err := w.engine.Erase(ctx, store.Erasure{Messages: []store.MessageID{m.ID}, Cause: "faulttest"}, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "forgot %s\n", m.Native)
	return err
}

func (w *worker) stub(ctx context.Context, session string) error {
	c, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	err = w.db.Update(ctx, c.ID, func(tx store.Writer) error { return tx.Stub(ctx, ms[w.rng.IntN(len(ms))].ID, 1) })
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	return err
}

func (w *worker) reword(ctx context.Context, session string) error {
	c, _, err := w.conversation(ctx, session)
	if err != nil {
		return err
	}
	for s, err := range w.db.Summaries(ctx, store.SummaryQuery{Conversation: c.ID, Limit: 1}) {
		if err != nil {
			return err
		}
		return w.db.Update(ctx, c.ID, func(tx store.Writer) error {
			_, err := tx.Reword(ctx, s.ID, store.Wording{Body: s.Body + ".", Tokens: s.Tokens, Level: s.Level, Method: s.Method})
			return err
		})
	}
	return nil
}
