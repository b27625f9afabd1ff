package lookup

import (
	"context"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// step is a node on the way down from a summary to its messages.
type step struct {
	store.Node
	level  int           // 1 for a source of a summary that was asked for
	holder store.Message // of a message or file that was asked for
	// damaged says that it may be no source of the summary that led to it.
	damaged bool
}

// descend yields first, and then the nodes beneath summaries, breadth first and in the order
// of their sources, each node once however many ways lead to it. A depth of 0
// goes all the way. The order depends on the edges alone, which never change,
// so that a place in it is good for a cursor.
func (s *Service) descend(ctx context.Context, first []step, roots []store.SummaryID, depth int, messages bool) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for _, st := range first {
			if !yield(st, nil) {
				return
			}
		}
		var queue []step
		for _, id := range roots {
			queue = append(queue, step{Node: store.Node{Summary: id}})
		}
		seen := map[store.Node]bool{}
		opened := map[store.SummaryID]bool{}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if opened[at.Summary] {
				continue
			}
			opened[at.Summary] = true
			sources, err := s.store.Sources(ctx, at.Summary)
			if err != nil {
				yield(step{}, err)
				return
			}
			above, err := s.summary(ctx, at.Summary)
			if err != nil {
				yield(step{}, err)
				return
			}
			for _, n := range sources {
				next := step{Node: n, level: at.level + 1, damaged: above.Damaged}
				if seen[n] || !messages && !n.IsSummary() {
					continue
				}
				seen[n] = true
				if !yield(next, nil) {
					return
				}
				if n.IsSummary() && (depth == 0 || next.level < depth) {
					queue = append(queue, next)
				}
			}
		}
	}
}

// messagesBeneath returns the messages that a summary covers, in order.
func (s *Service) messagesBeneath(ctx context.Context, id store.SummaryID) ([]store.MessageID, error) {
	ids := []store.MessageID{}
	for st, err := range s.descend(ctx, nil, []store.SummaryID{id}, 0, true) {
		if err != nil {
			return nil, err
		}
		if !st.IsSummary() {
			ids = append(ids, st.Message)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// reachable returns the conversation of a summary, and refuses one outside the scope.
func (s *Service) reachable(ctx context.Context, id store.SummaryID, w recall.Where) (store.ConversationID, error) {
	scope, err := s.scopes.reach(ctx, w)
	if err != nil {
		return 0, err
	}
	sum, err := s.summary(ctx, id)
	if err != nil {
		return 0, err
	}
	return sum.Conversation, within(scope, string(id), sum.Conversation)
}

func (s *Service) summary(ctx context.Context, id store.SummaryID) (store.Summary, error) {
	sum, err := store.First(s.store.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}))
	return sum, lookup(string(id), err)
}

func (s *Service) message(ctx context.Context, id store.MessageID) (store.Message, error) {
	m, err := store.First(s.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{id}}))
	return m, lookup(id.String(), err)
}
