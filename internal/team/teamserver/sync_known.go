package teamserver

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

// known finds the messages of a batch that another machine has pushed with the same id and
// the same content, but with another record: the copy of a session on two machines differs
// in directories, for example. The first one stays. It returns their ids by the index in
// the batch. Messages with the same id and other content are stored beside the first.
func (c *client) known(ctx context.Context, p progress, b teamsync.Batch, inputs []ingest.Input) (map[int]store.MessageID, error) {
	conversation := p.Conversation
	if conversation == 0 {
		all, err := c.store.Conversations(ctx, store.ConversationQuery{Key: p.Key, Limit: 1})
		if err != nil || len(all) == 0 {
			return nil, err
		}
		conversation = all[0].ID
	}
	at := map[string]int{}
	var natives []string
	for i, m := range b.Messages {
		if m.Native != "" {
			at[m.Native] = i
			natives = append(natives, m.Native)
		}
	}
	if len(natives) == 0 {
		return nil, nil
	}
	found := map[int]store.MessageID{}
	for m, err := range c.store.Messages(ctx, store.MessageQuery{Conversation: conversation, Natives: natives}) {
		if err != nil {
			return nil, err
		}
		i := at[m.Native]
		if m.SHA256 == b.Messages[i].SHA256 || m.Body.Role != b.Messages[i].Body.Role {
			continue
		}
		record, err := c.store.Record(ctx, m.ID)
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if was, err := wire.Decode(m.Body.Raw.Format, m.Body.Role, record); err == nil && len(was.Parts) > 0 && wire.Equal(content(was), content(inputs[i].Message)) {
			found[i] = m.ID
		}
	}
	return found, nil
}

// content returns the role and the parts of a message.
func content(m llms.Message) llms.Message { return llms.Message{Role: m.Role, Parts: m.Parts} }

// appendNew appends the messages that are not known. The results are in the order of all.
func appendNew(ctx context.Context, s *lcm.Session, all []ingest.Input, known map[int]store.MessageID) ([]store.Appended, error) {
	done := make([]store.Appended, len(all))
	var fresh []ingest.Input
	var at []int
	for i, in := range all {
		if id, ok := known[i]; ok {
			done[i] = store.Appended{ID: id, Existed: true}
			continue
		}
		fresh, at = append(fresh, in), append(at, i)
	}
	if len(fresh) == 0 {
		return done, nil
	}
	some, err := s.AppendInputs(ctx, fresh...)
	for i, a := range some {
		done[at[i]] = a
	}
	return done, err
}
