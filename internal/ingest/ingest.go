// Package ingest turns messages into rows: it settles what each message is
// (identity), what of it is too large for a conversation (payloads) and what
// it costs (tokens), and stores it.
//
// Ingest is idempotent. A message that carries the caller's own id is stored
// once per conversation however often it is given. A history without ids is
// matched against what is stored by its longest run of equal messages; see
// [Ingester.Sync]. Where two messages may or may not be the same, both are
// kept and the second is flagged: nothing is dropped to be tidy. That holds
// when several processes send the same history at once, and in a fork, which
// knows what it inherited.
//
// The original record is hashed before anything else happens to it, and can
// be had back byte for byte whatever was moved out of it. The one exception is
// what a user wants kept out ([Privacy]): sessions that are ignored fail with
// [ErrIgnored], private blocks are removed before anything is hashed, and so
// are secrets if that was asked for.
//
// Messages are prepared before the transaction begins and written in one, so
// that a batch costs one sync of the disk and other writers wait little.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// DefaultThreshold is the size in tokens above which content leaves the
// conversation.
const DefaultThreshold = 25_000

// Store is what ingest needs of a store.
type Store interface {
	store.Reader
	Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error
	Forgotten(ctx context.Context, key string, ms iter.Seq[store.Fingerprint]) ([]bool, error)
}

// Ingester stores messages.
type Ingester struct {
	store     Store
	counter   llms.Counter
	threshold int
	privacy   Privacy
}

// New returns an Ingester that counts with counter and moves content of more
// than threshold tokens into payloads. A nil counter estimates; a threshold of
// 0 is DefaultThreshold.
func New(s Store, counter llms.Counter, threshold int, options ...Option) (*Ingester, error) {
	if s == nil {
		return nil, errors.New("ingest: no store was given")
	}
	if counter == nil {
		counter = llms.Estimate
	}
	if threshold == 0 {
		threshold = DefaultThreshold
	}
	if threshold < minThreshold {
		return nil, fmt.Errorf("ingest: a threshold of %d tokens would externalise ordinary messages: use at least %d", threshold, minThreshold)
	}
	in := &Ingester{store: s, counter: counter, threshold: threshold}
	for _, o := range options {
		o(in)
	}
	return in, nil
}

// minThreshold keeps a reference from being larger than what it stands for.
const minThreshold = 500

// Input is a message with what only its source knows about it.
type Input struct {
	llms.Message
	Flags store.Flag
	// said is the message with the secrets that are not shown of it; nil where
	// nothing was masked.
	said *llms.Message
}

// identity is that of what was said, whether it is shown or not.
func (m Input) identity() hash {
	if m.said != nil {
		return identity(*m.said)
	}
	return identity(m.Message)
}

// Stored says what became of appended messages.
type Stored struct {
	Messages []store.Appended
	// Conversation is the conversation with the messages in it.
	Conversation store.Conversation
}

// Append stores messages at the end of a conversation, in one transaction. A
// message whose id is there already with the same record is not stored again;
// one whose id is there with another record is stored as well, flagged as a
// possible duplicate. What a fork inherited is there.
func (in *Ingester) Append(ctx context.Context, id store.ConversationID, ms ...Input) (Stored, error) {
	ms, err := in.clean(ms)
	if err != nil {
		return Stored{}, err
	}
	ready, err := in.prepareAll(ctx, ms)
	if err != nil {
		return Stored{}, err
	}
	var done Stored
	inherited, looked := make([]*stored, len(ms)), false
	for {
		err = in.store.Update(ctx, id, func(w store.Writer) (err error) {
			done.Conversation = w.Conversation()
			if err := in.privacy.Ignored(done.Conversation.Key, done.Conversation.Project); err != nil {
				return err
			}
			if done.Conversation.ForkedFrom != 0 && !looked {
				return errFork
			}
			done.Messages, err = writeNew(ctx, w, ready, inherited)
			done.Conversation = w.Conversation()
			return err
		})
		if !errors.Is(err, errFork) {
			return done, err
		}
		// Nothing can be read in a transaction. What was inherited does not
		// change any more, so that it can be read before the next.
		if inherited, err = in.inherited(ctx, done.Conversation, ms); err != nil {
			return Stored{}, err
		}
		looked = true
	}
}

// errFork says that what a fork inherited must be looked up first.
var errFork = errors.New("the conversation is a fork")

// writeNew stores the prepared messages that were not inherited.
func writeNew(ctx context.Context, w store.Writer, ready []prepared, inherited []*stored) ([]store.Appended, error) {
	done := make([]store.Appended, len(ready))
	for i := range ready {
		if s := inherited[i]; s != nil {
			done[i] = store.Appended{ID: s.id, Seq: s.seq, Existed: true, SHA256: s.record}
			continue
		}
		one, err := write(ctx, w, ready[i:i+1])
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(ready), err)
		}
		done[i] = one[0]
	}
	return done, nil
}

// Messages wraps plain messages as inputs.
func Messages(ms ...llms.Message) []Input {
	all := make([]Input, len(ms))
	for i, m := range ms {
		all[i] = Input{Message: m}
	}
	return all
}

// write stores prepared messages in the transaction of w, in order.
func write(ctx context.Context, w store.Writer, ready []prepared) ([]store.Appended, error) {
	done := make([]store.Appended, len(ready))
	for i := range ready {
		p := &ready[i]
		// What was erased is refused before anything of it is written: what a
		// transaction writes and removes again stays in free space of the file.
		gone, err := w.Forgotten(ctx, p.print)
		if err != nil {
			return nil, err
		}
		if gone {
			done[i] = store.Appended{Existed: true, Forgotten: true, SHA256: p.row.SHA256}
			continue
		}
		for n, payload := range p.payloads {
			id, err := w.PutPayload(ctx, payload)
			if err != nil {
				return nil, err
			}
			if expected := p.row.Payloads[n]; id != expected {
				p.rename(expected, id)
			}
		}
		a, err := put(ctx, w, p.row)
		if err != nil {
			return nil, err
		}
		done[i] = a
	}
	return done, nil
}

// put stores one message. If its id is there with another record it is given
// the next id, until one is free or has the very record.
func put(ctx context.Context, w store.Writer, row store.NewMessage) (store.Appended, error) {
	for {
		done, err := w.Append(ctx, row)
		if err != nil {
			return store.Appended{}, err
		}
		if a := done[0]; !a.Existed || a.SHA256 == row.SHA256 {
			return a, nil
		}
		row.Native = secondID(row.Native, row.SHA256)
		row.Flags |= store.FlagDuplicate
	}
}
