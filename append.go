package lcm

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Append stores messages at the end of the session, in one transaction: when
// it returns nil they are safe. A message with an ID that the session has
// already is stored once.
func (s *Session) Append(ctx context.Context, ms ...llms.Message) error {
	_, err := s.AppendInputs(ctx, ingest.Messages(ms...)...)
	return err
}

// AppendInputs is Append for messages with flags. It returns the numbers of the
// messages.
func (s *Session) AppendInputs(ctx context.Context, ms ...record.Input) ([]record.AppendResult, error) {
	if all, err := s.forgotten(ctx, ms); err != nil || all != nil {
		return all, err
	}
	var done ingest.Stored
	err := s.onActive(ctx, s.active, func(id record.ConversationID) (err error) {
		done, err = s.engine.ingest.Append(ctx, id, ms...)
		return err
	})
	if err == nil {
		maintain(ctx, s.engine, done.Conversation)
	}
	return done.Messages, err
}

// Sync stores the new messages of a whole history. It is for agents that have the
// full history in each turn.
func (s *Session) Sync(ctx context.Context, history []llms.Message) (record.SyncResult, error) {
	var done record.SyncResult
	ms := ingest.Messages(history...)
	if all, err := s.forgotten(ctx, ms); err != nil || all != nil {
		return record.SyncResult{Existing: len(all)}, err
	}
	err := s.onActive(ctx, s.active, func(id record.ConversationID) (err error) {
		done, err = s.engine.ingest.Sync(ctx, id, ms)
		return err
	})
	if err == nil {
		maintain(ctx, s.engine, done.Conversation)
	}
	return done, err
}

// forgotten returns the results for messages that were all erased before, if the session
// has no active conversation: none is made for them. Else it returns nil.
func (s *Session) forgotten(ctx context.Context, ms []record.Input) ([]record.AppendResult, error) {
	if s.current() != 0 || len(ms) == 0 {
		return nil, nil
	}
	gone, err := s.dropTitle(ctx, ms)
	if err != nil || gone == nil || slices.Contains(gone, false) {
		return nil, err
	}
	if id, err := s.known(ctx); err != nil || id != 0 {
		return nil, err
	}
	all := make([]record.AppendResult, len(ms))
	for i := range all {
		all[i] = record.AppendResult{Existed: true, Forgotten: true}
	}
	return all, nil
}

// DropForgottenTitle clears the title of the session if it quotes one of the messages
// and that message was erased before: hosts name a session by its first prompt. Call it
// before the session's conversation is made.
func (s *Session) DropForgottenTitle(ctx context.Context, ms ...record.Input) error {
	_, err := s.dropTitle(ctx, ms)
	return err
}

// dropTitle is DropForgottenTitle, and says which messages were erased.
func (s *Session) dropTitle(ctx context.Context, ms []record.Input) ([]bool, error) {
	gone, err := s.engine.ingest.Forgotten(ctx, s.open.Key, s.open.Project, ms)
	var title store.TitleQuotes
	title.Add(s.open.Title, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.untitled = true
	})
	for i := range gone {
		if gone[i] {
			title.Look(ms[i].SearchText())
		}
	}
	return gone, err
}
