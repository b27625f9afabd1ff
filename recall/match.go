package recall

import (
	"context"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/lossless-context/lcm/store"
)

// matches makes the answer's matches of hits: only what is returned is read.
func (s *Service) matches(ctx context.Context, q *query, hits []store.Hit) ([]Match, error) {
	messages, summaries, err := s.load(ctx, hits)
	if err != nil {
		return nil, err
	}
	out := make([]Match, 0, len(hits))
	for _, h := range hits {
		m := Match{ID: h.Node.String(), ConversationID: h.Conversation, CreatedAt: h.Time, Role: h.Role, Beside: h.Beside, Score: h.Score}
		ok := true
		if h.IsSummary() {
			q.matchSummary(&m, summaries[h.Summary])
		} else {
			ok, err = s.matchMessage(ctx, q, &m, messages[h.Message])
		}
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
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

func (q *query) matchSummary(m *Match, sum store.Summary) {
	m.Type, m.SummaryID, m.Kind, m.Retired = "summary", string(sum.ID), sum.Kind, sum.Retired
	m.Depth = &sum.Depth
	m.CreatedAt, m.EarliestAt, m.LatestAt = sum.CreatedAt, sum.Earliest, sum.Latest
	text := []byte(sum.Body)
	e, _ := q.excerpt(text)
	m.show(text, e)
}

// matchMessage fills in a message, or the file of it that matched. It reports
// false for a message that was found for words outside its files when only
// files were asked for.
func (s *Service) matchMessage(ctx context.Context, q *query, m *Match, msg store.Message) (bool, error) {
	m.Type = "message"
	over, ok, err := s.covering(ctx, store.Node{Message: msg.ID})
	if err != nil {
		return false, err
	}
	if ok {
		m.CoveredBy = string(over.ID)
	}
	if q.context > 0 {
		if m.Context, err = s.around(ctx, msg, q.context); err != nil {
			return false, err
		}
	}
	attached, err := s.store.Attached(ctx, msg.ID)
	if err != nil {
		return false, err
	}
	if q.kinds == InFiles {
		return s.matchFiles(ctx, q, m, attached)
	}
	text, err := s.store.Text(ctx, store.Node{Message: msg.ID})
	if m.Damaged, err = harmless(err); err != nil {
		return false, err
	}
	e, found := q.excerpt(text)
	m.show(text, e)
	if found && len(attached) > 0 && len(e.ranges) > 0 && !m.Damaged { // else the places in the text prove nothing
		m.FileIDs, err = s.holding(ctx, msg, attached, int64(len(text)), e.ranges)
	}
	return true, err
}

// matchFiles shows the first of a message's payloads that matches, and names
// them all.
func (s *Service) matchFiles(ctx context.Context, q *query, m *Match, attached []store.PayloadID) (bool, error) {
	m.MessageID = m.ID
	for _, id := range attached {
		if len(q.search.Payloads) > 0 && !slices.Contains(q.search.Payloads, id) {
			continue
		}
		text, damaged, err := s.whole(ctx, id)
		if err != nil {
			return false, err
		}
		if !utf8.Valid(text) {
			continue
		}
		e, found := q.excerpt(text)
		if !found {
			continue
		}
		if len(m.FileIDs) == 0 {
			m.Type, m.ID, m.Beside, m.Damaged = "file", string(id), false, damaged
			m.show(text, e)
		}
		m.FileIDs = append(m.FileIDs, string(id))
	}
	return len(m.FileIDs) > 0, nil
}

// whole reads all of a payload, and tells whether it is damaged.
func (s *Service) whole(ctx context.Context, id store.PayloadID) (text []byte, damaged bool, err error) {
	p, err := s.store.Payload(ctx, id)
	if err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
	if unread, other := harmless(err); unread || other != nil {
		return text, unread, other
	}
	return text, p.Damaged, nil
}

// holding lists the payloads in which ranges of a message's text lie: the text
// is the message's own words and then, a line break before each, its payloads
// that are text.
func (s *Service) holding(ctx context.Context, msg store.Message, attached []store.PayloadID, size int64, ranges [][2]int) ([]string, error) {
	at := int64(len(msg.Body.SearchText()))
	if int64(ranges[len(ranges)-1][1]) <= at {
		return nil, nil
	}
	payloads := make([]store.Payload, len(attached))
	rest := size - at
	for i, id := range attached {
		p, err := s.store.Payload(ctx, id)
		if err != nil {
			return nil, err
		}
		payloads[i] = p
		rest -= p.Size + 1
	}
	var ids []string
	for _, p := range payloads {
		if rest != 0 { // some payload is not text, and has no place in it
			text, _, err := s.whole(ctx, p.ID)
			if err != nil {
				return nil, err
			}
			if !utf8.Valid(text) {
				continue
			}
		}
		from, to := at+1, at+1+p.Size
		at = to
		if slices.ContainsFunc(ranges, func(r [2]int) bool { return int64(r[0]) < to && int64(r[1]) > from }) {
			ids = append(ids, string(p.ID))
		}
	}
	return ids, nil
}

// covering returns the summary that was made of a node and still stands.
func (s *Service) covering(ctx context.Context, n store.Node) (store.Summary, bool, error) {
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
		// The first that stands is the message's own conversation's; a fork
		// may have folded it again.
		if !sum.Retired && !found {
			over, found = sum, true
		}
	}
	return over, found, nil
}

// around returns the messages before and after one.
func (s *Service) around(ctx context.Context, msg store.Message, n int) (*Context, error) {
	c := &Context{Before: []Neighbour{}, After: []Neighbour{}}
	q := store.MessageQuery{Conversation: msg.Conversation, After: max(0, msg.Seq-1-int64(n)), Before: msg.Seq + int64(n) + 1}
	for m, err := range s.store.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		switch {
		case m.Seq < msg.Seq:
			c.Before = append(c.Before, neighbour(m))
		case m.Seq > msg.Seq:
			c.After = append(c.After, neighbour(m))
		}
	}
	return c, nil
}

func neighbour(m store.Message) Neighbour {
	n := Neighbour{ID: m.ID.String(), Role: m.Body.Role, CreatedAt: m.Body.Time}
	n.Snippet, n.Truncated = opening(m.Body.Render())
	return n
}
