package enginetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// planted is what must be gone, in every way a file could hold it.
const planted = "zanzibar-4711-quixotic"

// forgetful is an engine on a database of its own.
type forgetful struct {
	*lcm.Engine
	backend backendtest.Backend
	db      backendtest.DB
	address string
	now     time.Time
}

func newForgetful(t *testing.T, b backendtest.Backend) *forgetful {
	t.Helper()
	f := &forgetful{backend: b, now: time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return f.now }
	f.db, f.address = b.New(t, clock)
	var err error
	f.Engine, err = lcm.New(f.db, lcm.WithoutBackground(), lcm.WithBudget(4_000), lcm.WithLargeContent(600), lcm.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// traces names the files or tables that contain the planted text.
func (f *forgetful) traces(t *testing.T) []string {
	t.Helper()
	return f.backend.Traces(t, f.address, planted, "zanzibar", "quixotic")
}

func (f *forgetful) messages(t *testing.T, id store.ConversationID) []store.Message {
	t.Helper()
	var all []store.Message
	for m, err := range f.db.Messages(t.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// sound fails the test unless every conversation verifies. Faults that are due are left out.
func (f *forgetful) sound(t *testing.T, due ...string) {
	t.Helper()
	all, err := f.db.Conversations(t.Context(), store.ConversationQuery{Erased: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		v, err := f.db.Verify(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range v.Faults {
			t.Errorf("conversation %d: %s: %s: %s", c.ID, fault.Code, fault.Node, fault.Detail)
		}
	}
	faults, err := f.db.Orphans(t.Context())
	if file, ok := f.db.(*sqlite.DB); ok {
		faults, err = file.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		// Of few messages that are left nothing shorter may be said.
		if fault.Code != "summary-fallback" && !slices.Contains(due, fault.Code) {
			t.Errorf("%s: %s: %s", fault.Code, fault.Node, fault.Detail)
		}
	}
}

func (f *forgetful) forget(t *testing.T, what lcm.EraseQuery) store.Erased {
	t.Helper()
	order, err := f.Order(t.Context(), what)
	if err != nil {
		t.Fatal(err)
	}
	done, err := f.Erase(t.Context(), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// plantedHistory has the planted text in a message, a tool call and a result
// that becomes a payload.
func plantedHistory(now time.Time) []llms.Message {
	var history []llms.Message
	for i := range 120 {
		m := llms.User(fmt.Sprintf("Step %d: the build of module %d fails with error E%04d in file src/part%d.go.", i, i%7, i, i))
		switch i {
		case 10:
			m = llms.User("The password of the server is " + planted + ", tell nobody.")
		case 11:
			m = llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{
				Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c1", Name: "login", Arguments: `{"password":"` + planted + `"}`},
			}}}
		case 12:
			long := strings.Repeat("a long log line about nothing\n", 400) + planted + strings.Repeat("\nand more of it", 300)
			m = llms.Message{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{
				CallID: "c1", Name: "login", Output: []llms.Part{{Kind: llms.PartText, Text: long}},
			}}}}
		}
		m.ID, m.Time = fmt.Sprintf("m%d", i), now.Add(time.Duration(i)*time.Second)
		history = append(history, m)
	}
	return history
}

// TestForgottenIsGoneFromTheFile plants a text everywhere the record can have
// it: messages, tool calls, a payload, summaries and their revisions, a title,
// a fork, the index and State. After it was forgotten, no byte of the files
// has it, and nothing brings it back.
func TestForgottenIsGoneFromTheFile(t *testing.T) {
	backendtest.Each(t, forgottenIsGone)
}

func forgottenIsGone(t *testing.T, b backendtest.Backend) {
	ctx := t.Context()
	f := newForgetful(t, b)
	history := plantedHistory(f.now)
	session := f.Session("work", lcm.WithTitle("How "+planted+" came about"))
	if err := session.Append(ctx, history[:60]...); err != nil {
		t.Fatal(err)
	}
	conv, err := session.Conversation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := session.Fork(ctx, "fork", f.messages(t, conv.ID)[40].ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Append(ctx, history[60:]...); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Context(ctx, 1_000); err != nil {
		t.Fatal(err)
	}
	f.reword(t, conv.ID)
	if _, err := f.db.Put(ctx, store.HookShownSpace, "work", []byte(`{"shown":"The password of the server is `+planted+`"}`), 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := f.db.Reindex(ctx); err != nil {
		t.Fatal(err)
	}
	if len(f.traces(t)) == 0 {
		t.Fatal("nothing was planted")
	}
	kept := map[store.MessageID][]byte{}
	for _, m := range f.messages(t, conv.ID) {
		if kept[m.ID], err = f.db.Record(ctx, m.ID); err != nil {
			t.Fatal(err)
		}
	}

	done := f.forget(t, lcm.EraseQuery{Pattern: "(?i)zanzibar"})
	if done.Messages != 3 || done.Payloads != 1 || done.Titles != 2 || done.Values != 1 || done.Unworded == 0 {
		t.Errorf("erased %+v", done)
	}
	for _, where := range f.traces(t) {
		t.Errorf("still in %s", where)
	}
	left := f.messages(t, conv.ID)
	if len(left) != 117 {
		t.Errorf("%d messages are left, want 117", len(left))
	}
	for _, m := range left {
		record, err := f.db.Record(ctx, m.ID)
		if err != nil || !bytes.Equal(record, kept[m.ID]) {
			t.Errorf("%s has changed: %v", m.ID, err)
		}
	}
	f.sound(t)

	// The host still has it, and sends it again.
	if _, err := session.Sync(ctx, history); err != nil {
		t.Fatal(err)
	}
	if _, err := session.AppendInputs(ctx, ingest.Messages(history...)...); err != nil {
		t.Fatal(err)
	}
	if again := f.messages(t, conv.ID); len(again) != 117 {
		t.Errorf("%d messages after a second import, want 117", len(again))
	}
	if _, err := fork.Sync(ctx, history[:41]); err != nil {
		t.Fatal(err)
	}
	for _, where := range f.traces(t) {
		t.Errorf("back in %s", where)
	}
	f.sound(t)
}

// reword rewords every summary of a conversation, so that there are revisions.
func (f *forgetful) reword(t *testing.T, id store.ConversationID) {
	t.Helper()
	var all []store.Summary
	for s, err := range f.db.Summaries(t.Context(), store.SummaryQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatal("there are no summaries")
	}
	for _, s := range all {
		err := f.db.Update(t.Context(), id, func(w store.Writer) error {
			_, err := w.Reword(t.Context(), s.ID, store.Wording{Body: s.Body + "\nIn other words: " + planted, Tokens: s.Tokens + 9, Level: s.Level, Method: s.Method})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgetAConversation: a whole session goes with those of its sub-agents,
// comes back by no import, and goes on with what is said later.
func TestForgetAConversation(t *testing.T) {
	backendtest.Each(t, forgetAConversation)
}

func forgetAConversation(t *testing.T, b backendtest.Backend) {
	ctx := t.Context()
	f := newForgetful(t, b)
	history := plantedHistory(f.now)
	f.now = f.now.Add(time.Hour)
	session := f.Session("work", lcm.WithProject(store.Project{Root: "/home/ada/" + planted}))
	if err := session.Append(ctx, history...); err != nil {
		t.Fatal(err)
	}
	conv, err := session.Conversation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Session("work/sub", lcm.WithParent(conv.ID)).Append(ctx, llms.User("go and look at "+planted)); err != nil {
		t.Fatal(err)
	}
	if err := f.Session("else").Append(ctx, llms.User("something else")); err != nil {
		t.Fatal(err)
	}
	done := f.forget(t, lcm.EraseQuery{Conversations: []store.ConversationID{conv.ID}})
	if done.Conversations != 2 || done.Messages != 121 {
		t.Errorf("erased %+v", done)
	}
	for _, where := range f.traces(t) {
		t.Errorf("still in %s", where)
	}
	f.sound(t)

	// The program starts again, and finds the transcript on the disk.
	again := f.Session("work")
	all, err := again.AppendInputs(ctx, ingest.Messages(history...)...)
	if err != nil || len(all) != len(history) || !all[0].Forgotten {
		t.Errorf("append: %v, %v", len(all), err)
	}
	if synced, err := again.Sync(ctx, history); err != nil || synced.Existing != len(history) {
		t.Errorf("sync: %+v, %v", synced, err)
	}
	if list, err := f.db.Conversations(ctx, store.ConversationQuery{}); err != nil || len(list) != 1 {
		t.Errorf("conversations: %v, %v", list, err)
	}
	later := llms.User("and now something new")
	later.ID, later.Time = "m120", f.now.Add(time.Minute)
	if _, err := again.Sync(ctx, append(history, later)); err != nil {
		t.Fatal(err)
	}
	conv, err = again.Conversation(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if left := f.messages(t, conv.ID); len(left) != 1 || left[0].Body.Render() != "and now something new" {
		t.Errorf("%d messages", len(left))
	}

	// A fork of what the session went on with has the same transcript.
	fork, err := again.Fork(ctx, "fork", f.messages(t, conv.ID)[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Sync(ctx, append(history, later)); err != nil {
		t.Fatal(err)
	}
	for _, where := range f.traces(t) {
		t.Errorf("back in %s", where)
	}
	f.sound(t)
}

// TestForgettingGoesOn: an erasure that was cut off is completed by the next
// that comes along.
func TestForgettingGoesOn(t *testing.T) {
	backendtest.Each(t, forgettingGoesOn)
}

func forgettingGoesOn(t *testing.T, b backendtest.Backend) {
	ctx := t.Context()
	f := newForgetful(t, b)
	session := f.Session("work")
	if err := session.Append(ctx, plantedHistory(f.now)...); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	order, err := f.Order(ctx, lcm.EraseQuery{Pattern: "zanzibar"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.db.Erase(ctx, order); err != nil { // and here the power fails
		t.Fatal(err)
	}
	f.sound(t, "erasure-unfinished")
	if err := f.FinishErasing(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := f.db.Unworded(ctx); err != nil || len(left) > 0 {
		t.Errorf("%d summaries have no text: %v", len(left), err)
	}
	for _, where := range f.traces(t) {
		t.Errorf("still in %s", where)
	}
	f.sound(t)
	if all, err := f.db.Tombstones(ctx); err != nil || len(all) != 1 || !all[0].Finished {
		t.Errorf("tombstones: %+v, %v", all, err)
	}
}

// An error of Order names nothing that only the command has.
func TestOrderRefusesPatternsInTermsOfTheAPI(t *testing.T) {
	_, err := newEngine(t).Order(t.Context(), lcm.EraseQuery{Pattern: "("})
	if err == nil || strings.Contains(err.Error(), "--") {
		t.Errorf("got %v", err)
	}
}

// TestForgottenComesBackNowhere: a message that was forgotten is refused in
// whatever session it is offered again, by its id and time or by its content,
// before anything of it is written; a short text may be said again.
func TestForgottenComesBackNowhere(t *testing.T) {
	said := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	large := strings.Repeat(planted+" and a line of the log that nobody needs any more\n", 4000)
	record := func(id, session, text string) llms.Message {
		m, err := wire.Decode(llms.FormatClaude, "", fmt.Appendf(nil,
			`{"type":"user","uuid":%q,"sessionId":%q,"timestamp":"2026-02-03T04:05:06.000Z","message":{"role":"user","content":%q}}`, id, session, text))
		if err != nil {
			t.Fatal(err)
		}
		m.ID, m.Time = id, said
		return m
	}
	const middle = planted + ", which is long enough to be known again by what it says alone"
	bare := func(text string) llms.Message {
		m, err := wire.Decode(llms.FormatOpenAI, "", fmt.Appendf(nil, `{"role":"user","content":%q}`, text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	later := func(m llms.Message) llms.Message {
		m.ID, m.Time = m.ID+"-new", m.Time.Add(time.Hour)
		return m
	}
	other := func(m llms.Message) llms.Message { m.Time = m.Time.Add(time.Hour); return m }
	for _, c := range []struct {
		name    string
		first   llms.Message
		again   llms.Message
		session string
		refused bool
	}{
		{"large, the same session", record("u1", "a", large), record("u1", "a", large), "a", true},
		{"large, another session", record("u1", "a", large), record("u1", "b", large), "b", true},
		{"another session, the same id and time", record("u1", "a", "yes"), record("u1", "b", "yes"), "b", true},
		{"another session and id", record("u1", "a", middle), later(record("u2", "b", middle)), "b", true},
		{"another shape", record("u1", "a", middle), bare(middle), "b", true},
		{"no id, no time", bare(middle), bare(middle), "b", true},
		{"no id, no time, large", bare(large), bare(large), "b", true},
		{"short, said again", record("u1", "a", "yes"), later(record("u1", "b", "yes")), "b", false},
		{"short, said again in the session", record("u1", "a", "yes"), later(record("u1", "a", "yes")), "a", false},
		{"short, another shape", record("u1", "a", "yes"), bare("yes"), "b", false},
		{"an id that is used again", record("1", "a", "no"), other(record("1", "b", "maybe")), "b", false},
	} {
		for _, way := range []string{"sync", "append"} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprint(c.name, " ", way, " ", whole), func(t *testing.T) {
					path := backendtest.SQLite.Create(t)
					db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: func() time.Time { return said.Add(time.Minute) }})
					if err != nil {
						t.Fatal(err)
					}
					e, err := lcm.New(db)
					if err != nil {
						t.Fatal(err)
					}
					give := func(session string, ms ...llms.Message) (stored int) {
						s := e.Session("claude:" + session)
						if way == "sync" {
							done, err := s.Sync(t.Context(), ms)
							if err != nil {
								t.Fatal(err)
							}
							return len(done.Stored)
						}
						all, err := s.AppendInputs(t.Context(), ingest.Messages(ms...)...)
						if err != nil {
							t.Fatal(err)
						}
						for _, a := range all {
							if !a.Existed {
								stored++
							}
						}
						return stored
					}
					if n := give("a", c.first); n != 1 {
						t.Fatalf("%d messages stored at first", n)
					}
					f := lcm.EraseQuery{Messages: []store.MessageID{1}}
					if whole {
						f = lcm.EraseQuery{Conversations: []store.ConversationID{1}}
					}
					order, err := e.Order(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					done, err := e.Erase(t.Context(), order, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := 0
					if !c.refused {
						want = 1
					}
					if n := give(c.session, c.again); n != want {
						t.Errorf("%d messages are stored again, want %d", n, want)
					}
					db.Close()
					if left := backendtest.SQLite.Traces(t, path, planted, "zanzibar", "quixotic"); left != nil {
						t.Errorf("what was forgotten is in the files: %v", left)
					}
					if db, err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					if err := db.Lift(t.Context(), done.Tombstone); err != nil {
						t.Fatal(err)
					}
					if e, err = lcm.New(db); err != nil {
						t.Fatal(err)
					}
					if n := give(c.session, c.again); c.refused && n != 1 {
						t.Errorf("lifted, %d messages are stored, want 1", n)
					}
				})
			}
		}
	}
}
