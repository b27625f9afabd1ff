package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Assembly is a request of a host that asks lcm for the messages to send, and sends them
// itself. It is treated as one that passes through the proxy.
type Assembly struct {
	Host, Session string
	Form          apiform.Form
	Body          []byte // an object with the messages
	Model         string
	Budget        int           // tokens of the messages
	Tools         bool          // the model has lcm's tools
	Cut           bool          // the host may leave out the beginning of the messages
	Wait          time.Duration // for a fold that is late
}

// Assembled says which messages give way to which texts, and what was decided.
type Assembled struct {
	Edits []apiform.Edit
	Composition
}

// Assemble decides which messages of a host's request give way to summaries.
func (s *Server) Assemble(a Assembly) Assembled {
	c := &call{
		server: s, session: s.session(a.Host, a.Session), model: a.Model, budget: a.Budget, patience: max(a.Wait, 1), tools: a.Tools, cut: a.Cut,
		made: Composition{Run: s.Run.ID, At: s.Clock(), Status: http.StatusOK},
	}
	var edits []apiform.Edit
	err := guard.Run(func() error {
		_, edits = c.decide(nil, a.Form, a.Body)
		return nil
	})
	if err != nil {
		s.Log.Error("the engine failed and left a request unchanged", "error", err)
		c.fail(failedInside)
		edits = nil
	}
	c.done(apiUsage{})
	return Assembled{Edits: edits, Composition: c.made}
}

// Ready has the session's transcript read and its summaries made in the background.
func (s *Server) Ready(host, id string) { s.session(host, id).kick() }

// Compacted is the answer to a compaction of the host.
type Compacted struct {
	// Text stands for the messages before the one that is kept, and has the mark of a
	// checkpoint, by which later requests are recognised.
	Text string
	// Last is the last message that it stands for.
	Last   store.MessageID
	Tokens int // of Text, estimated
}

// Compact folds a session and returns its view as the summary of a compaction: up to the message
// with the host's id keep, or all of it.
func (s *Server) Compact(ctx context.Context, host, id, keep string, budget int) (Compacted, error) {
	one := s.session(host, id)
	if err := one.catchUp(ctx); err != nil {
		return Compacted{}, err
	}
	conv := one.conversation()
	if conv == 0 {
		return Compacted{}, errBehind
	}
	last, err := lastBefore(ctx, s.store, conv, keep)
	if err != nil {
		return Compacted{}, err
	}
	text, err := one.viewText(ctx, budget, last)
	if err != nil {
		return Compacted{}, err
	}
	one.kick()
	text += "\n\n" + apiform.CheckpointMark(int64(last))
	return Compacted{text, last, llms.Estimate.Count(text)}, nil
}

// lastBefore returns the last message before the one with a native id, or of all. Both may be messages
// that the conversation shares with the one it was forked from.
func lastBefore(ctx context.Context, r store.Reader, conv store.ConversationID, native string) (store.MessageID, error) {
	c, err := r.Conversation(ctx, conv)
	if err != nil {
		return 0, err
	}
	origins, err := store.Origins(ctx, r, c)
	if err != nil {
		return 0, err
	}
	found := native == ""
	for _, o := range origins {
		before := o.UpTo
		if before < math.MaxInt64 {
			before++
		}
		if !found {
			kept, err := store.First(r.Messages(ctx, store.MessageQuery{Conversation: o.Conversation, Natives: []string{native}, NoRaw: true}))
			if errors.Is(err, store.ErrNotFound) || err == nil && kept.Seq >= before {
				continue
			}
			if err != nil {
				return 0, err
			}
			found, before = true, kept.Seq
		}
		m, err := store.First(r.Messages(ctx, store.MessageQuery{Conversation: o.Conversation, Before: before, Newest: true, NoRaw: true, Limit: 1}))
		if !errors.Is(err, store.ErrNotFound) {
			return m.ID, err
		}
	}
	if !found {
		return 0, fmt.Errorf("keep: the record has no message %q of this session; ingest it first, or leave keep out to have all messages replaced", native)
	}
	return 0, errors.New("there is no message that a summary could stand for: nothing is recorded before the message to keep")
}
