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
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Worker does what agents do to a record, all of it, at random, and says on
// Out what it was told is safe: see [Ledger.Read].
type Worker struct {
	Out      io.Writer
	Seed     uint64
	Sessions []string
	// From is the number of the first message of each session that was not
	// acknowledged. The worker begins a little before it, as a host does that
	// does not know what arrived.
	From map[string]int
	Log  *slog.Logger
	// Clock is what time it is (time.Now).
	Clock func() time.Time

	db     *sqlite.DB
	engine *lcm.Engine
	rng    *rand.Rand
	next   map[string]int
	forks  int
}

// resend is how many messages that are known to be safe are sent again.
const resend = 4

// smallBudget keeps compaction busy; a payload is what is larger than
// smallPayload.
const (
	smallBudget  = 4_000
	smallPayload = 500
)

// Start begins work on a record, with what an earlier process may have left of
// an erasure.
func (w *Worker) Start(ctx context.Context, db *sqlite.DB) (err error) {
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
func (w *Worker) Close(ctx context.Context) error { return w.engine.Close(ctx) }

// Step does one thing. An error is one that the caller of the engine saw.
func (w *Worker) Step(ctx context.Context) error {
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

// tolerate lets pass that a budget as small as the worker's cannot show a
// message as large as some of the worker's.
func tolerate(err error) error {
	if err != nil && strings.Contains(err.Error(), "raise the token budget") {
		return nil
	}
	return err
}

// append stores the next messages of a session in one transaction, and
// acknowledges them when that is done.
func (w *Worker) append(ctx context.Context, session string, n int) error {
	var ids []string
	var ms []llms.Message
	for i := range n {
		id := ID(session, w.next[session]+i)
		m, err := Message(id)
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

func (w *Worker) search(ctx context.Context, session string) error {
	id := ID(session, w.rng.IntN(w.next[session]+1))
	_, err := w.db.Search(ctx, store.Search{Mode: store.FullText, Pattern: Word(id) + " deploy", Sort: store.ByRelevance, Limit: 5, CountTo: 100})
	return err
}

// conversation returns the number of a session's conversation and the numbers
// of its first and last message.
func (w *Worker) conversation(ctx context.Context, session string) (store.Conversation, []store.Message, error) {
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

// rewind goes back to a message, on the active branch or on a kept one.
func (w *Worker) rewind(ctx context.Context, session string) error {
	_, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	err = w.engine.Session(session).Rewind(ctx, ms[w.rng.IntN(len(ms))].ID, "faulttest")
	if errors.Is(err, store.ErrOffBranch) {
		return nil // of a message that is hidden in the meantime
	}
	return err
}

func (w *Worker) fork(ctx context.Context, session string) error {
	c, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	w.forks++
	key := fmt.Sprintf("%s/fork-%d-%d", session, w.Seed, w.forks)
	_, err = w.db.Fork(ctx, c.ID, ms[w.rng.IntN(len(ms))].ID, store.NewConversation{Key: key})
	if errors.Is(err, store.ErrOffBranch) {
		return nil // it is on a branch that was left
	}
	return err
}

// forget erases a message for good. It says so before, since the message may
// be gone from then on, and after, since it must be.
func (w *Worker) forget(ctx context.Context, session string) error {
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

func (w *Worker) stub(ctx context.Context, session string) error {
	c, ms, err := w.conversation(ctx, session)
	if err != nil || len(ms) == 0 {
		return err
	}
	err = w.db.Update(ctx, c.ID, func(tx store.Writer) error { return tx.Stub(ctx, ms[w.rng.IntN(len(ms))].ID, 5) })
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	return err
}

func (w *Worker) reword(ctx context.Context, session string) error {
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
