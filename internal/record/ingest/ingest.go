// Package ingest stores messages: it decides whether a message is new
// (identity), which content is too large for the conversation (payloads) and
// how many tokens it costs.
//
// Ingest is idempotent. A message with the caller's own id is stored once per
// conversation, however often it is given. A history without ids is matched
// with the stored messages by its longest run of equal messages; see
// [Ingester.Sync]. If two messages may or may not be the same, both are stored
// and the second is flagged: ingest never drops a message to avoid a duplicate.
// This also holds when several processes send the same history at once, and in
// a fork, which knows the messages that it inherited.
//
// Ingest hashes the original record first, and the record can be read back byte
// for byte even if content was moved out of it. The exception is content that
// the user excludes ([Privacy]): ignored sessions fail with [ErrIgnored], and
// private blocks, and secrets if the user wants that, are removed before
// anything is hashed.
//
// Messages are prepared before the transaction and written in one, so that a
// batch costs one sync of the disk and other writers wait little.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// DefaultThreshold is the size in tokens above which content leaves the
// conversation.
const DefaultThreshold = 25_000

// Store is the part of a store that ingest needs.
type Store interface {
	store.Reader
	Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error
	Forgotten(ctx context.Context, key string, p store.Project, ms iter.Seq[store.Fingerprint]) ([]bool, error)
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

// minThreshold ensures that a reference is smaller than the content it replaces.
const minThreshold = 500

// Input is a message to store, with its flags.
type Input = record.Input

// input is an Input without what the user keeps out of the record.
type input struct {
	Input
	// said is the message with its secrets; nil if nothing was masked.
	said *llms.Message
}

// identity is that of the message with its secrets, masked or not.
func (m input) identity() hash {
	if m.said != nil {
		return identity(*m.said)
	}
	return identity(m.Message)
}

// Stored is the result of Append.
type Stored struct {
	Messages []store.Appended
	// Conversation includes the new messages.
	Conversation store.Conversation
}

// Append stores messages at the end of a conversation, in one transaction. It
// skips a message whose id and record are already stored, or inherited by a
// fork. A message whose id is stored with another record is stored too, and
// flagged as a possible duplicate.
func (in *Ingester) Append(ctx context.Context, id store.ConversationID, inputs ...Input) (Stored, error) {
	ms, err := in.clean(inputs)
	if err != nil {
		return Stored{}, err
	}
	return in.append(ctx, id, ms)
}

// append is Append for messages that are cleaned already.
func (in *Ingester) append(ctx context.Context, id store.ConversationID, ms []input) (Stored, error) {
	ready, err := in.prepareAll(ctx, id, ms)
	if err != nil {
		return Stored{}, err
	}
	var done Stored
	inherited, looked := make([]*stored, len(ms)), false
	for {
		err = in.store.Update(ctx, id, func(w store.Writer) (err error) {
			done.Conversation = w.Conversation()
			if err := CheckIgnored(in.privacy, done.Conversation.Key, done.Conversation.Project); err != nil {
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
		// A transaction cannot read. Inherited messages never change, so they can
		// be read before the next one.
		if inherited, err = in.inherited(ctx, done.Conversation, ms); err != nil {
			return Stored{}, err
		}
		looked = true
	}
}

// errFork says that the inherited messages must be read first.
var errFork = errors.New("the conversation is a fork")

// writeNew stores the prepared messages that were not inherited.
func writeNew(ctx context.Context, w store.Writer, ready []prepared, inherited []*stored) ([]store.Appended, error) {
	done := make([]store.Appended, len(ready))
	var natives []string
	for i := range ready {
		if inherited[i] == nil {
			natives = append(natives, ready[i].row.Native)
		}
	}
	if err := w.Expect(ctx, natives); err != nil {
		return nil, err
	}
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
		// Refuse an erased message before anything is written: content that a
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

// put stores one message. If its id is taken by another record, put tries the
// next id until one is free or has the same record.
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
