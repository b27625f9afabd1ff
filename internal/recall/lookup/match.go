package lookup

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// matches makes the answer's matches of hits, and reads only those. A compact answer does
// not show a message that says nothing.
func (s *Service) matches(ctx context.Context, q *query, hits []store.Hit) ([]recall.Match, error) {
	messages, summaries, err := s.load(ctx, hits)
	if err != nil {
		return nil, err
	}
	hosts := sessions{s, map[store.ConversationID]store.Conversation{}}
	out := make([]recall.Match, 0, len(hits))
	for place, h := range hits {
		if q.fill > 0 {
			q.runes = pageRunes[min(place, len(pageRunes)-1)]
		}
		m := recall.Match{ID: h.ID, ConversationID: h.Conversation, CreatedAt: h.Time, Role: h.Role, Beside: h.Beside, Earlier: h.Earlier, Score: h.Score}
		if h.IsSummary() {
			q.matchSummary(&m, summaries[h.Summary])
		} else if err := s.matchMessage(ctx, q, &m, messages[h.Message]); err != nil {
			return nil, err
		}
		if err := hosts.describe(ctx, q, &m); err != nil {
			return nil, err
		}
		if !q.compact || !blank(m.Snippet) {
			out = append(out, m)
		}
	}
	if q.fill > 0 {
		return s.byExchange(ctx, q, out, messages)
	}
	return out, nil
}

// pageRunes is how many characters are shown of the matches of a filled page: the first is
// read, the others are glanced at.
var pageRunes = []int{900, 360, 360, 180}

// sessions tells the session of a match, its host and its title.
type sessions struct {
	*Service
	known map[store.ConversationID]store.Conversation
}

func (s sessions) describe(ctx context.Context, q *query, m *recall.Match) error {
	c, ok := s.known[m.ConversationID]
	if !ok {
		var err error
		if c, err = s.scopes.conversation(ctx, m.ConversationID); err != nil {
			return err
		}
		s.known[m.ConversationID] = c
	}
	m.Host, m.Title, m.Damaged = c.Agent, c.Title, m.Damaged || c.Damaged
	if q.scope.Kind == recall.ScopeAll && (q.home == nil || !q.home.Contains(c.ID)) {
		m.Project = c.Project.Name()
	}
	return nil
}

func (s *Service) load(ctx context.Context, hits []store.Hit) (map[store.MessageID]store.Message, map[store.SummaryID]store.Summary, error) {
	var mq store.MessageQuery
	var sq store.SummaryQuery
	for _, h := range hits {
		if h.IsSummary() {
			sq.IDs = append(sq.IDs, h.Summary)
		} else {
			mq.IDs = append(mq.IDs, h.Message)
		}
	}
	messages := make(map[store.MessageID]store.Message, len(mq.IDs))
	summaries := make(map[store.SummaryID]store.Summary, len(sq.IDs))
	if len(mq.IDs) > 0 {
		for m, err := range s.store.Messages(ctx, mq) {
			if err != nil {
				return nil, nil, err
			}
			messages[m.ID] = m
		}
	}
	if len(sq.IDs) > 0 {
		for sum, err := range s.store.Summaries(ctx, sq) {
			if err != nil {
				return nil, nil, err
			}
			summaries[sum.ID] = sum
		}
	}
	return messages, summaries, nil
}

func (q *query) matchSummary(m *recall.Match, sum store.Summary) {
	m.Type, m.SummaryID, m.Kind, m.Retired = "summary", sum.ID, sum.Kind, sum.Retired
	m.Depth, m.Damaged = &sum.Depth, sum.Damaged
	m.CreatedAt, m.EarliestAt, m.LatestAt = sum.CreatedAt, sum.Earliest, sum.Latest
	text := []byte(sum.Body)
	e, _ := q.excerpt(text)
	show(m, text, e)
}

// matchMessage fills in a message.
func (s *Service) matchMessage(ctx context.Context, q *query, m *recall.Match, msg store.Message) error {
	m.Type = "message"
	over, ok, err := s.covering(ctx, store.ID{Message: msg.ID})
	if err != nil {
		return err
	}
	if ok {
		m.CoveredBy = over.ID
	}
	if q.context > 0 {
		if m.Context, err = s.around(ctx, msg, q.context); err != nil {
			return err
		}
	}
	attached, err := s.store.Attached(ctx, msg.ID)
	if err != nil {
		return err
	}
	text, err := s.store.Text(ctx, store.ID{Message: msg.ID})
	if m.Damaged, err = harmless(err); err != nil {
		return err
	}
	e, found := q.excerpt(text)
	show(m, text, e)
	if found && len(attached) > 0 && e.ranges[len(e.ranges)-1][1] > len(msg.Body.SearchText()) {
		m.FileIDs = attached // their texts follow the message's own words
	}
	return nil
}

// covering returns the summary that was made of a node and is not retired.
func (s *Service) covering(ctx context.Context, n store.ID) (store.Summary, bool, error) {
	ids, err := s.store.Derived(ctx, n)
	if err != nil || len(ids) == 0 {
		return store.Summary{}, false, err
	}
	var over store.Summary
	found := false
	for sum, err := range s.store.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return over, false, err
		}
		// The first that is not retired is the message's own conversation's; a fork
		// may have folded it again.
		if !sum.Retired && !found {
			over, found = sum, true
		}
	}
	return over, found, nil
}

// aroundReach is how many records on either side are looked through for
// messages to show: hosts write records of their own in between.
const aroundReach = 16

// around returns the messages before and after one, n of each at most, without
// those that searches leave out or that have no text.
func (s *Service) around(ctx context.Context, msg store.Message, n int) (*recall.Context, error) {
	c := &recall.Context{Before: []recall.Neighbour{}, After: []recall.Neighbour{}}
	reach := int64(aroundReach + 2*n)
	q := store.MessageQuery{Conversation: msg.Conversation, After: max(0, msg.Seq-1-reach), Before: msg.Seq + reach + 1, NoRaw: true}
	for m, err := range s.store.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		if m.Seq == msg.Seq || m.Flags.Bookkeeping(m.Body.Role) {
			continue
		}
		switch nb := neighbour(m); {
		case blank(nb.Snippet):
		case m.Seq < msg.Seq:
			c.Before = append(c.Before, nb)
		case len(c.After) < n:
			c.After = append(c.After, nb)
		}
	}
	c.Before = c.Before[max(0, len(c.Before)-n):]
	return c, nil
}

func neighbour(m store.Message) recall.Neighbour {
	n := recall.Neighbour{ID: m.ID, Role: m.Body.Role, CreatedAt: m.Body.Time, Damaged: m.Damaged}
	n.Snippet, n.Truncated = opening(m.Body.Render())
	return n
}
