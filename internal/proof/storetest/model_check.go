package storetest

import (
	"bytes"
	"io"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// check compares the last changed conversation; checkAll compares all of them.
func (m *machine) check(*rapid.T) {
	if c := m.model.conversations[m.last]; c != nil {
		m.checkConversation(c)
	}
}

func (m *machine) checkAll() {
	for _, c := range m.model.active(true) {
		m.checkConversation(c)
		m.checkVerify(c)
		m.checkMessages(c)
		m.checkSummaries(c)
	}
	for id, data := range m.model.payloads {
		p, err := m.f.Payload(m.ctx, id)
		m.must("payload", err)
		got, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
		m.must("payload", err)
		if !bytes.Equal(got, data) {
			m.Fatalf("%s has %d bytes, the model %d", id, len(got), len(data))
		}
	}
	m.checkState()
}

func (m *machine) checkConversation(c *modelConversation) {
	got, err := m.f.Conversation(m.ctx, c.ID)
	m.must("conversation", err)
	want := c.Conversation
	want.ViewItems, want.ViewTokens = c.totals()
	for _, t := range []*time.Time{&got.CreatedAt, &got.UpdatedAt, &got.ArchivedAt, &want.CreatedAt, &want.UpdatedAt, &want.ArchivedAt} {
		*t = t.UTC()
	}
	if got != want {
		m.Fatalf("the store has\n%+v, the model\n%+v", got, want)
	}
	m.checkView(c)
}

func (m *machine) checkVerify(c *modelConversation) {
	v, err := m.f.Verify(m.ctx, c.ID)
	m.must("verify", err)
	if len(v.Faults) > 0 || v.Messages != c.Messages || v.Summaries != c.Summaries || v.Bytes != c.Bytes {
		m.Fatalf("verify: %+v", v)
	}
}

// checkView compares a view with the model's, and with the path that it must lead to.
func (m *machine) checkView(c *modelConversation) {
	v, err := m.f.View(m.ctx, c.ID, store.Window{})
	m.must("view", err)
	same := func(a, b store.Item) bool {
		return a.Pos == b.Pos && a.ID == b.ID && a.Tokens == b.Tokens && a.Role == b.Role && a.Depth == b.Depth && a.Stub == b.Stub
	}
	if !slices.EqualFunc(v.Items, c.view, same) {
		m.Fatalf("view of conversation %d:\n%+v, the model has\n%+v", c.ID, v.Items, c.view)
	}
	var led []store.MessageID
	for i, it := range v.Items {
		if i > 0 && it.Pos <= v.Items[i-1].Pos {
			m.Fatalf("%s stands at %d, after %d", it.ID, it.Pos, v.Items[i-1].Pos)
		}
		led = append(led, m.model.leaves(it.ID)...)
	}
	if path := m.model.path(c.tip); !slices.Equal(led, path) {
		m.Fatalf("the view of conversation %d leads to %v, the active branch is %v", c.ID, led, path)
	}
	if last := m.model.lastUser(c); v.LastUser != last {
		m.Fatalf("the newest user message stands at %d, the model's at %d", v.LastUser, last)
	}
	m.checkWindow(c)
}

// checkWindow compares a window with the same part of the whole view.
func (m *machine) checkWindow(c *modelConversation) {
	w := store.Window{Oldest: m.said % 3, Newest: 1 + m.said%4}
	v, err := m.f.View(m.ctx, c.ID, w)
	m.must("window", err)
	var want []int64
	for i, it := range c.view {
		if i < w.Oldest || i >= len(c.view)-w.Newest {
			want = append(want, it.Pos)
		}
	}
	var got []int64
	for _, it := range v.Items {
		got = append(got, it.Pos)
	}
	if !slices.Equal(got, want) || v.Skipped != len(c.view)-len(want) {
		m.Fatalf("%+v of a view of %d shows %v and skips %d, want %v", w, len(c.view), got, v.Skipped, want)
	}
}

func (m *machine) checkMessages(c *modelConversation) {
	i := 0
	for got, err := range m.f.Messages(m.ctx, store.MessageQuery{Conversation: c.ID}) {
		m.must("messages", err)
		if i >= len(c.own) {
			m.Fatalf("conversation %d has %s too many", c.ID, got.ID)
		}
		want := m.model.messages[c.own[i]]
		i++
		if got.ID != want.id || got.Seq != want.seq || got.Native != want.Native || got.Flags != want.Flags || got.Tokens != want.Tokens ||
			got.SHA256 != want.SHA256 || got.Body.Role != want.Role || !got.Stored.Equal(want.stored) || !got.Body.Time.Equal(want.saidAt()) {
			m.Fatalf("message %+v, the model has %+v", got, want)
		}
		record, err := m.f.Record(m.ctx, got.ID)
		m.must("record", err)
		if !bytes.Equal(record, want.Record) {
			m.Fatalf("%s is %q, the model has %q", got.ID, record, want.Record)
		}
		attached, err := m.f.Attached(m.ctx, got.ID)
		m.must("attached", err)
		if !slices.Equal(attached, want.Payloads) {
			m.Fatalf("%s has %v, the model %v", got.ID, attached, want.Payloads)
		}
	}
	if i != len(c.own) {
		m.Fatalf("conversation %d has %d messages, the model %d", c.ID, i, len(c.own))
	}
}

func (m *machine) checkSummaries(c *modelConversation) {
	reached := map[store.SummaryID]bool{}
	var mark func(store.ID)
	mark = func(n store.ID) {
		if n.IsSummary() {
			reached[n.Summary] = true
			for _, s := range m.model.summaries[n.Summary].sources {
				mark(s)
			}
		}
	}
	for _, it := range c.view {
		mark(it.ID)
	}
	n := int64(0)
	var ids []store.SummaryID
	for got, err := range m.f.Summaries(m.ctx, store.SummaryQuery{Conversation: c.ID}) {
		m.must("summaries", err)
		want := m.model.summaries[got.ID]
		if want == nil {
			m.Fatalf("%s is there, but nobody made it", got.ID)
		}
		if got.Retired && reached[got.ID] {
			m.Fatalf("%s is retired, but the view leads to it", got.ID)
		}
		m.sameSummary(got, want)
		sources, err := m.f.Sources(m.ctx, got.ID)
		m.must("sources", err)
		if !slices.Equal(sources, want.sources) {
			m.Fatalf("%s was made from %v, the model has %v", got.ID, sources, want.sources)
		}
		for _, s := range sources {
			derived, err := m.f.Derived(m.ctx, s)
			m.must("derived", err)
			if !slices.Contains(derived, got.ID) {
				m.Fatalf("%s was made from %s, which does not know it", got.ID, s)
			}
		}
		n++
		ids = append(ids, got.ID)
	}
	m.checkSources(ids)
	if n != c.Summaries {
		m.Fatalf("conversation %d has %d summaries, the model %d", c.ID, n, c.Summaries)
	}
}

func (m *machine) sameSummary(got store.Summary, want *modelSummary) {
	w := want.Summary
	if got.ID != w.ID || got.Conversation != w.Conversation || got.Kind != w.Kind || got.Depth != w.Depth || got.Pos != w.Pos || got.Body != w.Body ||
		got.Tokens != w.Tokens || got.SourceTokens != w.SourceTokens || got.Descendants != w.Descendants || got.Messages != w.Messages ||
		got.MessageTokens != w.MessageTokens || !got.Earliest.Equal(w.Earliest) || !got.Latest.Equal(w.Latest) || got.Revision != w.Revision {
		m.Fatalf("summary\n%+v, the model has\n%+v", got, w)
	}
	files := map[store.PayloadID]bool{}
	for _, leaf := range m.model.leaves(store.ID{Summary: w.ID}) {
		for _, p := range m.model.messages[leaf].Payloads {
			files[p] = true
		}
	}
	if len(got.Files) != len(files) {
		m.Fatalf("%s has files %v, the model %v", w.ID, got.Files, files)
	}
}

// search searches for a message by the word that only it contains, and for a word that no
// message contains.
func (m *machine) search(rt *rapid.T) {
	n := rapid.IntRange(0, m.said+1).Draw(rt, "word")
	word, stored := m.word(n), 0
	for _, msg := range m.model.messages {
		if bytes.Contains(msg.Record, []byte(word)) {
			stored++
		}
	}
	for _, mode := range []store.Mode{store.Regex, store.FullText} {
		found, err := m.f.Search(m.ctx, store.Search{Mode: mode, Pattern: word, Sort: store.ByRecency, Everything: true, Limit: 5, CountTo: 5})
		m.must("search", err)
		if len(found.Hits) != stored {
			rt.Fatalf("%s: %s is found %d times, it was said %d times", mode, word, len(found.Hits), stored)
		}
	}
}

// checkSources reads summaries by their ids, newest first, with their sources.
func (m *machine) checkSources(ids []store.SummaryID) {
	slices.Reverse(ids)
	i := 0
	for got, err := range m.f.Summaries(m.ctx, store.SummaryQuery{IDs: ids, Sources: true}) {
		m.must("summaries by id", err)
		want := m.model.summaries[ids[i]]
		if got.ID != ids[i] || got.Kind == summary.Condensed && !slices.Equal(got.Sources, want.sources) {
			m.Fatalf("%s was made from %v, the model has %s from %v", got.ID, got.Sources, ids[i], want.sources)
		}
		i++
	}
	if i != len(ids) {
		m.Fatalf("%d of %d summaries were found by their ids", i, len(ids))
	}
}
