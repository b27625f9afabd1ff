package lookup

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Bounds of what was said later.
const (
	laterReach  = 160 // messages after a match in which the next prompts are looked for
	laterNext   = 2   // the next prompts
	laterOthers = 3   // prompts of the rest of the session that have words of the question
)

// Later returns what the user said after a message in its session: the next prompts, and
// those of the rest of the session that are most about the question, in order. A reader who
// sees them with their dates need not be told which statement still holds.
func Later(ctx context.Context, from Store, of store.Message, question string) ([]store.Message, error) {
	var out []store.Message
	for m, err := range from.Messages(ctx, store.MessageQuery{Conversation: of.Conversation, After: of.Seq, NoRaw: true, Limit: laterReach}) {
		if err != nil {
			return nil, err
		}
		if isPrompt(m) {
			if out = append(out, m); len(out) == laterNext {
				break
			}
		}
	}
	found, err := from.Search(ctx, store.Search{
		Mode: store.FullText, Pattern: question, Sort: store.ByRelevance, Limit: 4 * laterOthers,
		Conversations: []store.ConversationID{of.Conversation}, Roles: []llms.Role{llms.RoleUser},
	})
	if err != nil && !errors.Is(err, search.ErrNoWords) {
		return nil, err
	}
	var ids []store.MessageID
	for _, h := range found.Hits {
		if !h.Beside && h.Message > of.ID && !slices.ContainsFunc(out, func(m store.Message) bool { return m.ID == h.Message }) {
			ids = append(ids, h.Message)
		}
	}
	if ids = ids[:min(laterOthers, len(ids))]; len(ids) > 0 {
		for m, err := range from.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			if isPrompt(m) && m.Seq > of.Seq {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b store.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, nil
}
