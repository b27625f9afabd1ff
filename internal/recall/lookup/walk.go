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
	store.ID
	level  int           // 1 for a source of a summary that was asked for
	holder store.Message // of a message or file that was asked for
	// damaged says that it may be no source of the summary that led to it.
	damaged bool
}

// descend yields first, and then the nodes beneath summaries: each source in order, followed
// by what lies beneath it. So a page soon has messages, also beneath a deep summary. It
// yields each node once however many ways lead to it. A depth of 0 goes all the way. The
// order depends on the edges alone, which never change, so that a place in it is good for a
// cursor.
func (s *Service) descend(ctx context.Context, first []step, roots []store.SummaryID, depth int, messages bool) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for _, st := range first {
			if !yield(st, nil) {
				return
			}
		}
		w := walk{s, depth, messages, yield, map[store.ID]bool{}, map[store.SummaryID]int{}}
		for _, id := range roots {
			if !w.open(ctx, id, 0) {
				return
			}
		}
	}
}

// walk is a descent under way.
type walk struct {
	*Service
	depth    int
	messages bool
	yield    func(step, error) bool
	seen     map[store.ID]bool
	opened   map[store.SummaryID]int // the level of each summary that was opened
}

// open yields what lies beneath a summary, and reports whether to go on. A summary that a
// shorter way leads to is opened again: from there more of it is within the depth.
func (w walk) open(ctx context.Context, id store.SummaryID, level int) bool {
	if before, ok := w.opened[id]; ok && (w.depth == 0 || before <= level) {
		return true
	}
	w.opened[id] = level
	sources, err := w.store.Sources(ctx, id)
	if err != nil {
		return w.yield(step{}, err)
	}
	above, err := w.summary(ctx, id)
	if err != nil {
		return w.yield(step{}, err)
	}
	for _, n := range sources {
		if !w.messages && !n.IsSummary() {
			continue
		}
		if !w.seen[n] && !w.yield(step{ID: n, level: level + 1, damaged: above.Damaged}, nil) {
			return false
		}
		w.seen[n] = true
		if n.IsSummary() && (w.depth == 0 || level+1 < w.depth) && !w.open(ctx, n.Summary, level+1) {
			return false
		}
	}
	return true
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
