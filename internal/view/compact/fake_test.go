package compact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// memory is a model of the store: one conversation, as simple as its contract
// allows.
type memory struct {
	mu        sync.Mutex
	messages  []store.Message
	summaries map[store.SummaryID]store.Summary
	sources   map[store.SummaryID][]store.ID
	items     []store.Item
	state     map[string]store.Value
	versions  int64
	clock     func() time.Time
	// onFold is called before each write, to move the view under a run.
	onFold   func()
	writes   int
	reworded []store.Summary // in order
}

func newMemory() *memory {
	return &memory{
		summaries: map[store.SummaryID]store.Summary{}, sources: map[store.SummaryID][]store.ID{},
		state: map[string]store.Value{}, clock: time.Now,
	}
}

func (s *memory) append(ms ...llms.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range ms {
		s.add(m, 0)
	}
}

func (s *memory) add(m llms.Message, flags store.Flag) {
	id := store.MessageID(len(s.messages) + 1)
	tokens := llms.CountMessage(llms.Estimate, m)
	s.messages = append(s.messages, store.Message{
		ID: id, Conversation: 1, Seq: int64(id), Tokens: tokens, Flags: flags, Body: m,
		Stored: time.Date(2026, 1, 1, 0, 0, int(id), 0, time.UTC),
	})
	it := store.Item{Pos: int64(id), ID: store.ID{Message: id}, Tokens: tokens, Role: m.Role}
	for _, c := range m.ToolCalls() {
		it.Calls = append(it.Calls, c.ID)
	}
	for _, r := range m.ToolResults() {
		it.Results = append(it.Results, r.CallID)
	}
	s.items = append(s.items, it)
}

func (s *memory) Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	v, err := s.View(ctx, id, store.Window{})
	return store.Conversation{ID: id, ViewTokens: v.Tokens, ViewItems: v.Count}, err
}

func (s *memory) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := store.View{Conversation: id, Items: slices.Clone(s.items), Count: len(s.items), Gap: len(s.items)}
	for _, it := range s.items {
		v.Tokens += it.Tokens
		if it.Role == llms.RoleUser {
			v.LastUser = it.Pos
		}
	}
	if n := w.Oldest + w.Newest; n > 0 && n < len(v.Items) {
		v.Skipped, v.Gap = v.Count-n, w.Oldest
		v.Items = slices.Delete(v.Items, w.Oldest, len(v.Items)-w.Newest)
	}
	return v, ctx.Err()
}

func (s *memory) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range q.IDs {
			if !yield(s.messages[id-1], nil) {
				return
			}
		}
	}
}

func (s *memory) Summaries(_ context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range q.IDs {
			if !yield(s.summaries[id], nil) {
				return
			}
		}
	}
}

func (s *memory) Sources(_ context.Context, id store.SummaryID) ([]store.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[id], nil
}

func (s *memory) Update(_ context.Context, _ store.ConversationID, fn func(store.Writer) error) error {
	if s.onFold != nil {
		s.onFold()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	items, summaries := slices.Clone(s.items), maps.Clone(s.summaries)
	err := fn(memoryWriter{s: s})
	if err != nil {
		s.items, s.summaries = items, summaries
	}
	return err
}

type memoryWriter struct {
	store.Writer // what compaction does not call
	s            *memory
}

func (w memoryWriter) Fold(_ context.Context, n store.NewSummary) (store.Summary, error) {
	at := slices.IndexFunc(w.s.items, func(it store.Item) bool { return it.Pos == n.Over[0].Pos })
	if at < 0 || at+len(n.Over) > len(w.s.items) {
		return store.Summary{}, store.ErrStale
	}
	made := store.Summary{Kind: summary.Leaf, Body: n.Body, Tokens: n.Tokens, Level: n.Level, Method: n.Method}
	h := sha256.New()
	var nodes []store.ID
	for i, it := range n.Over {
		if w.s.items[at+i].ID != it.ID {
			return store.Summary{}, store.ErrStale
		}
		nodes = append(nodes, it.ID)
		fmt.Fprint(h, it.ID)
		if !it.IsSummary() {
			made.Messages++
			continue
		}
		from := w.s.summaries[it.Summary]
		made.Kind = summary.Condensed
		made.Depth = max(made.Depth, from.Depth+1)
		made.Messages += from.Messages
		made.Descendants += 1 + from.Descendants
	}
	if cost := sumTokens(n.Over); n.Tokens >= cost {
		return store.Summary{}, fmt.Errorf("a summary of %d tokens replaces items of %d", n.Tokens, cost)
	}
	made.ID = store.SummaryID("sum_" + hex.EncodeToString(h.Sum(nil))[:16])
	w.s.summaries[made.ID], w.s.sources[made.ID] = made, nodes
	item := store.Item{Pos: n.Over[0].Pos, ID: store.ID{Summary: made.ID}, Tokens: n.Tokens, Depth: made.Depth}
	w.s.items = slices.Replace(w.s.items, at, at+len(n.Over), item)
	return made, nil
}

func sumTokens(items []store.Item) (tokens int) {
	for _, it := range items {
		tokens += it.Tokens
	}
	return tokens
}

func (w memoryWriter) Stub(_ context.Context, id store.MessageID, tokens int) error {
	for i, it := range w.s.items {
		if it.Message == id {
			w.s.items[i].Tokens, w.s.items[i].Stub = tokens, true
			return nil
		}
	}
	return store.ErrStale
}

// covered lists the messages that the view leads to, in order.
func (s *memory) covered() []store.MessageID {
	var ids []store.MessageID
	var walk func(n store.ID)
	walk = func(n store.ID) {
		if !n.IsSummary() {
			ids = append(ids, n.Message)
			return
		}
		for _, src := range s.sources[n.Summary] {
			walk(src)
		}
	}
	for _, it := range s.items {
		walk(it.ID)
	}
	return ids
}

// The State of the store.

func (s *memory) Get(_ context.Context, space, key string) (store.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.live(space, key)
	if v.Version == 0 {
		return v, store.ErrNotFound
	}
	return v, nil
}

func (s *memory) live(space, key string) store.Value {
	v := s.state[space+"/"+key]
	if !v.Expires.IsZero() && !v.Expires.After(s.clock()) {
		return store.Value{}
	}
	return v
}

func (s *memory) Put(_ context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live(space, key).Version != version {
		return 0, store.ErrConflict
	}
	s.versions++
	s.state[space+"/"+key] = store.Value{Key: key, Data: data, Version: s.versions, Expires: expires}
	return s.versions, nil
}

func (s *memory) Delete(_ context.Context, space, key string, version int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live(space, key).Version != version {
		return store.ErrConflict
	}
	delete(s.state, space+"/"+key)
	return nil
}

func (s *memory) List(context.Context, string) ([]store.Value, error) { return nil, nil }
