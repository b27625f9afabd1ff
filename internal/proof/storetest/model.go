package storetest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// model is a store in memory, as simple as the contract allows: a conversation is a tree
// of messages and an active tip. The view must lead to the path from the root to the tip.
// Where the backend chooses an id, the model uses the same.
type model struct {
	conversations map[store.ConversationID]*modelConversation
	messages      map[store.MessageID]*modelMessage
	summaries     map[store.SummaryID]*modelSummary
	payloads      map[store.PayloadID][]byte
	state         map[string]*modelValue
}

func newModel() *model {
	return &model{
		conversations: map[store.ConversationID]*modelConversation{}, messages: map[store.MessageID]*modelMessage{},
		summaries: map[store.SummaryID]*modelSummary{}, payloads: map[store.PayloadID][]byte{}, state: map[string]*modelValue{},
	}
}

// modelConversation is a conversation with its own messages in order, and its view.
type modelConversation struct {
	store.Conversation
	base int64 // position of the item before its first message
	own  []store.MessageID
	tip  store.MessageID // the newest message of the active branch, 0 if none
	view []store.Item
}

// modelMessage is a message and the one before it on its branch. An inherited message has
// the same predecessors as in the original.
type modelMessage struct {
	store.NewMessage
	id           store.MessageID
	conversation store.ConversationID
	seq, pos     int64
	before       store.MessageID
	stored       time.Time
}

// saidAt is when the message was said.
func (m *modelMessage) saidAt() time.Time { return cmp.Or(m.Said, m.stored) }

// item is the message as an unfolded view item.
func (m *modelMessage) item() store.Item {
	return store.Item{
		Pos: m.pos, ID: store.ID{Message: m.id}, Tokens: m.Tokens, Role: m.Role, Calls: m.Calls, Results: m.Results,
	}
}

// modelSummary is a summary and its sources.
type modelSummary struct {
	store.Summary
	sources []store.ID
}

func (s *modelSummary) item() store.Item {
	return store.Item{Pos: s.Pos, ID: store.ID{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth}
}

// modelValue is an entry of the state. The version outlives the value.
type modelValue struct {
	data    []byte
	version int64
	expires time.Time
}

func (v *modelValue) live(now time.Time) bool {
	return v != nil && v.version > 0 && (v.expires.IsZero() || v.expires.After(now))
}

// path returns the messages from the root to the tip.
func (m *model) path(tip store.MessageID) []store.MessageID {
	var ids []store.MessageID
	for id := tip; id != 0; id = m.messages[id].before {
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids
}

// leaves returns the messages below a node.
func (m *model) leaves(n store.ID) []store.MessageID {
	if !n.IsSummary() {
		return []store.MessageID{n.Message}
	}
	var ids []store.MessageID
	for _, s := range m.summaries[n.Summary].sources {
		ids = append(ids, m.leaves(s)...)
	}
	return ids
}

func (m *model) item(n store.ID) store.Item {
	if n.IsSummary() {
		return m.summaries[n.Summary].item()
	}
	return m.messages[n.Message].item()
}

// cut returns the part of a view that leads to the first n of its messages. It splits the
// item that leads to the last of them, so that the message itself is in the view.
func (m *model) cut(view []store.Item, n int) []store.Item {
	var kept []store.Item
	for _, it := range view {
		size := len(m.leaves(it.ID))
		switch {
		case n == 0:
			return kept
		case size < n, !it.IsSummary():
			kept, n = append(kept, it), n-size
		default:
			var sources []store.Item
			for _, s := range m.summaries[it.Summary].sources {
				sources = append(sources, m.item(s))
			}
			return append(kept, m.cut(sources, n)...)
		}
	}
	return kept
}

// reachable reports whether a message is on a branch of a conversation: one of its own
// that is not hidden, or an inherited one.
func (m *model) reachable(c *modelConversation, id store.MessageID) bool {
	msg := m.messages[id]
	if msg == nil || msg.Flags&store.FlagHidden != 0 {
		return false
	}
	return msg.conversation == c.ID || c.ForkedFrom != 0 && slices.Contains(m.path(c.ForkedAt), id)
}

// append adds a message, or finds the one with its native id.
func (m *model) append(c *modelConversation, n store.NewMessage, id store.MessageID, now time.Time) (existed store.MessageID) {
	for _, own := range c.own {
		if n.Native != "" && m.messages[own].Native == n.Native {
			return own
		}
	}
	c.Messages++
	msg := &modelMessage{NewMessage: n, id: id, conversation: c.ID, seq: c.Messages, pos: c.base + c.Messages, stored: now}
	m.messages[id] = msg
	said := msg.saidAt()
	if c.Messages == 1 {
		c.UpdatedAt = said
	}
	c.CreatedAt, c.UpdatedAt = earlier(c.CreatedAt, said), later(c.UpdatedAt, said)
	c.Tokens += int64(n.Tokens)
	c.Bytes += n.Size
	c.Head = store.Link(c.Head, n, nil)
	c.own = append(c.own, id)
	if n.Flags&store.FlagHidden == 0 {
		msg.before, c.tip = c.tip, id
		c.view = append(c.view, msg.item())
	}
	return 0
}

// fold replaces view items from and to, both included.
func (m *model) fold(c *modelConversation, from, to int, w store.Wording, id store.SummaryID, now time.Time) *modelSummary {
	s := &modelSummary{Summary: store.Summary{
		ID: id, Conversation: c.ID, Kind: "leaf", Pos: c.view[from].Pos, Body: w.Body, Tokens: w.Tokens, Level: w.Level, Method: w.Method, CreatedAt: now,
	}}
	for _, it := range c.view[from : to+1] {
		s.sources = append(s.sources, it.ID)
		s.SourceTokens += it.Tokens
		if it.IsSummary() {
			below := m.summaries[it.Summary]
			s.Kind, s.Depth = "condensed", max(s.Depth, below.Depth+1)
			s.Descendants += 1 + below.Descendants
		}
		for _, leaf := range m.leaves(it.ID) {
			msg := m.messages[leaf]
			s.Messages++
			s.MessageTokens += int64(msg.Tokens)
			if s.Earliest.IsZero() {
				s.Earliest = msg.saidAt()
			}
			s.Earliest, s.Latest = earlier(s.Earliest, msg.saidAt()), later(s.Latest, msg.saidAt())
		}
	}
	m.summaries[id] = s
	c.Summaries++
	c.view = slices.Replace(c.view, from, to+1, s.item())
	return s
}

// lastUser returns the newest message in the view that the user said.
func (m *model) lastUser(c *modelConversation) int64 {
	for _, it := range slices.Backward(c.view) {
		if it.IsSummary() || it.Role != llms.RoleUser || len(it.Results) > 0 {
			continue
		}
		if m.messages[it.Message].Flags&(store.FlagEcho|store.FlagSynthetic|store.FlagHostSummary) == 0 {
			return it.Pos
		}
	}
	return 0
}

// totals returns the totals of a conversation's view.
func (c *modelConversation) totals() (items, tokens int) {
	for _, it := range c.view {
		tokens += it.Tokens
	}
	return len(c.view), tokens
}

// active returns the conversations that take messages, in order, or all of them if
// archived is true.
func (m *model) active(archived bool) []*modelConversation {
	all := slices.SortedFunc(maps.Values(m.conversations), func(a, b *modelConversation) int { return cmp.Compare(a.ID, b.ID) })
	return slices.DeleteFunc(all, func(c *modelConversation) bool { return !archived && !c.Active() })
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
