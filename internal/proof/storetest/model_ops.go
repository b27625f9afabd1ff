package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// testModel applies random operations to the store and to a model of it, and compares the
// two after each. All sequences share one store, with conversations of their own: one must
// not affect another.
func testModel(t *testing.T, f *fixture) {
	sequence := 0
	rapid.Check(t, func(rt *rapid.T) {
		sequence++
		m := &machine{T: rt, f: f, ctx: t.Context(), model: newModel(), name: fmt.Sprintf("model/%d", sequence)}
		rt.Repeat(map[string]func(*rapid.T){
			"open":     m.open,
			"append":   m.appends,
			"appends":  m.appends,
			"fold":     m.fold,
			"rewind":   m.rewind,
			"fork":     m.fork,
			"archive":  m.archive,
			"reword":   m.reword,
			"stub":     m.stub,
			"payload":  m.payload,
			"state":    m.putState,
			"rollback": m.rollBack,
			"clock":    m.moveClock,
			"search":   m.search,
			"":         m.check,
		})
		m.checkAll()
	})
}

// machine is a store and its model.
type machine struct {
	*rapid.T
	f     *fixture
	ctx   context.Context
	model *model
	name  string
	said  int // messages made so far
	last  store.ConversationID
}

func (m *machine) must(what string, err error) {
	m.Helper()
	if err != nil {
		m.Fatalf("%s: %v", what, err)
	}
}

// now is the store's time, in milliseconds.
func (m *machine) now() time.Time { return m.f.now.UTC().Truncate(time.Millisecond) }

// pick draws a conversation; nil if there is none.
func (m *machine) pick(archived bool) *modelConversation {
	all := m.model.active(archived)
	if len(all) == 0 {
		m.Skip("no conversation")
	}
	c := rapid.SampledFrom(all).Draw(m.T, "conversation")
	m.last = c.ID
	return c
}

// add adds a conversation that the store made to the model.
func (m *machine) add(c store.Conversation) *modelConversation {
	mc := &modelConversation{Conversation: c}
	m.model.conversations[c.ID], m.last = mc, c.ID
	return mc
}

func (m *machine) open(rt *rapid.T) {
	key := m.name + rapid.SampledFrom([]string{"/a", "/b"}).Draw(rt, "key")
	c, err := m.f.Open(m.ctx, store.NewConversation{Key: key, Agent: "model"})
	m.must("open", err)
	if known := m.model.conversations[c.ID]; known != nil {
		if !known.Active() {
			rt.Fatalf("%s opened conversation %d, which is archived", key, c.ID)
		}
		m.last = c.ID
		return
	}
	segment := 1
	for _, other := range m.model.active(true) {
		if other.Key == key {
			segment++
			if other.Active() {
				rt.Fatalf("%s has two active conversations, %d and %d", key, other.ID, c.ID)
			}
		}
	}
	if c.Segment != segment || c.Messages != 0 || c.Head != store.Genesis || !c.CreatedAt.Equal(m.now()) {
		rt.Fatalf("a new conversation is %+v", c)
	}
	m.add(c)
}

// draw makes a random message, with few native ids, so that some repeat.
func (m *machine) draw(rt *rapid.T) store.NewMessage {
	m.said++
	n := row(rapid.SampledFrom([]llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleSystem, llms.RoleTool}).Draw(rt, "role"), m.word(m.said)+" was said")
	if rapid.Bool().Draw(rt, "has id") {
		n.Native = fmt.Sprintf("n%d", rapid.IntRange(0, 12).Draw(rt, "id"))
	}
	if rapid.Bool().Draw(rt, "has time") {
		n.Said = m.now().Add(time.Duration(rapid.IntRange(-100, 100).Draw(rt, "minutes")) * time.Minute)
	}
	n.Flags = rapid.SampledFrom([]store.Flag{0, 0, 0, store.FlagHidden, store.FlagSynthetic, store.FlagEcho}).Draw(rt, "flags")
	n.Tokens = rapid.IntRange(0, 50).Draw(rt, "tokens")
	return n
}

// word is a word that only the n-th message contains.
func (m *machine) word(n int) string {
	return fmt.Sprintf("w%sq%dq", strings.ReplaceAll(m.name, "/", "x"), n)
}

func (m *machine) appends(rt *rapid.T) {
	c := m.pick(false)
	var ms []store.NewMessage
	for range rapid.IntRange(1, 4).Draw(rt, "messages") {
		ms = append(ms, m.draw(rt))
	}
	var done []store.Appended
	m.must("append", m.f.Update(m.ctx, c.ID, func(w store.Writer) (err error) {
		done, err = w.Append(m.ctx, ms...)
		return err
	}))
	for i, n := range ms {
		existed := m.model.append(c, n, done[i].ID, m.now())
		if done[i].Existed != (existed != 0) || existed != 0 && done[i].ID != existed {
			rt.Fatalf("append %q: store says %+v, the model has %s", n.Native, done[i], existed)
		}
		if msg := m.model.messages[done[i].ID]; msg.SHA256 != done[i].SHA256 || msg.seq != done[i].Seq {
			rt.Fatalf("append: store says %+v, the model has place %d", done[i], msg.seq)
		}
	}
}

func (m *machine) payload(rt *rapid.T) {
	c := m.pick(false)
	data := bytes.Repeat([]byte(rapid.SampledFrom([]string{"a", "b", "long "}).Draw(rt, "content")), rapid.IntRange(1, 70_000).Draw(rt, "size"))
	n := m.draw(rt)
	n.Native = ""
	var id store.PayloadID
	var done []store.Appended
	m.must("payload", m.f.Update(m.ctx, c.ID, func(w store.Writer) (err error) {
		if id, err = w.PutPayload(m.ctx, store.NewPayload{Data: data, Name: "p"}); err != nil {
			return err
		}
		n.Payloads = []store.PayloadID{id}
		done, err = w.Append(m.ctx, n)
		return err
	}))
	if old, known := m.model.payloads[id]; known && !bytes.Equal(old, data) {
		rt.Fatalf("%s names two contents", id)
	}
	m.model.payloads[id] = data
	m.model.append(c, n, done[0].ID, m.now())
}

func (m *machine) fold(rt *rapid.T) {
	c := m.pick(true)
	if len(c.view) == 0 {
		rt.Skip("nothing to fold")
	}
	from := rapid.IntRange(0, len(c.view)-1).Draw(rt, "from")
	to := rapid.IntRange(from, min(from+5, len(c.view)-1)).Draw(rt, "to")
	over := slices.Clone(c.view[from : to+1])
	stale := len(over) > 2 && rapid.IntRange(0, 5).Draw(rt, "stale") == 0
	if stale {
		over = slices.Delete(over, 1, 2) // as if it were folded meanwhile
	}
	w := wording(fmt.Sprintf("summary %d", rapid.IntRange(0, 3).Draw(rt, "body")))
	var s store.Summary
	err := m.f.Update(m.ctx, c.ID, func(tx store.Writer) (err error) {
		s, err = tx.Fold(m.ctx, store.NewSummary{Over: over, Wording: w})
		return err
	})
	if stale {
		if !errors.Is(err, store.ErrStale) {
			rt.Fatalf("a stale fold: %v", err)
		}
		return
	}
	m.must("fold", err)
	if m.model.summaries[s.ID] != nil {
		rt.Fatalf("%s names two summaries", s.ID)
	}
	m.sameSummary(s, m.model.fold(c, from, to, w, s.ID, m.now()))
}

func (m *machine) reword(rt *rapid.T) {
	c := m.pick(true)
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(m.model.summaries)), func(id store.SummaryID) bool { return m.model.summaries[id].Conversation != c.ID })
	if len(ids) == 0 {
		rt.Skip("no summary")
	}
	s := m.model.summaries[rapid.SampledFrom(ids).Draw(rt, "summary")]
	w := wording(fmt.Sprintf("reworded %d", s.Revision))
	w.Tokens = rapid.IntRange(1, 9).Draw(rt, "tokens")
	m.must("reword", m.f.Update(m.ctx, c.ID, func(tx store.Writer) error {
		_, err := tx.Reword(m.ctx, s.ID, w)
		return err
	}))
	s.Body, s.Tokens = w.Body, w.Tokens
	s.Revision++
	for i, it := range c.view {
		if it.Summary == s.ID {
			c.view[i].Tokens = w.Tokens
		}
	}
}

func (m *machine) stub(rt *rapid.T) {
	c := m.pick(true)
	if len(c.view) == 0 {
		rt.Skip("an empty view")
	}
	i := rapid.IntRange(0, len(c.view)-1).Draw(rt, "item")
	if c.view[i].IsSummary() || c.view[i].Tokens == 0 {
		rt.Skip("a summary, or nothing smaller")
	}
	tokens := rapid.IntRange(0, c.view[i].Tokens-1).Draw(rt, "tokens")
	m.must("stub", m.f.Update(m.ctx, c.ID, func(w store.Writer) error { return w.Stub(m.ctx, c.view[i].Message, tokens) }))
	c.view[i].Stub, c.view[i].Tokens = true, tokens
}
