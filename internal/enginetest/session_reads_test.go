package enginetest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// readSession calls the methods of a session that store no messages.
func readSession(t *testing.T, session *lcm.Session) (shown int, answer recall.Answer, grep string) {
	t.Helper()
	ctx := t.Context()
	preview, err := session.Preview(ctx, 0)
	if err != nil {
		t.Errorf("preview: %v", err)
	}
	if view, err := session.Context(ctx, 0); err != nil || len(view.Messages) != len(preview.Messages) {
		t.Errorf("the context has %d messages, the preview %d: %v", len(view.Messages), len(preview.Messages), err)
	}
	if v, err := session.Verify(ctx); err != nil || len(v.Faults) > 0 || int(v.Messages) != len(preview.Messages) {
		t.Errorf("verified %+v, %v", v, err)
	}
	if r, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil || r.Folds() != 0 {
		t.Errorf("compacted %+v, %v", r, err)
	}
	if answer, err = session.Ask(ctx, recall.Question{Prompt: "Where does the proxy listen?"}); err != nil {
		t.Errorf("ask: %v", err)
	}
	grep = session.Tools()[0].Call(nil, map[string]any{"pattern": "proxy"})
	if strings.Contains(grep, "rror") {
		t.Errorf("grep: %s", grep)
	}
	return len(preview.Messages), answer, grep
}

// Reading a session that has no conversation makes none, and finds nothing of
// other sessions.
func TestReadingASessionMakesNoConversation(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	if err := engine.Session("other").Append(ctx, llms.User("the proxy listens on 8473")); err != nil {
		t.Fatal(err)
	}
	session := engine.Session("new")
	shown, answer, grep := readSession(t, session)
	if shown != 0 || len(answer.Citations) > 0 || strings.Contains(answer.Answer+grep, "8473") {
		t.Errorf("%d messages, %+v, %s", shown, answer, grep)
	}
	if all := session.Tools()[0].Call(nil, map[string]any{"pattern": "proxy", "allConversations": true}); !strings.Contains(all, "8473") {
		t.Errorf("in all conversations: %s", all)
	}
	if err := session.Archive(ctx, "nothing was said"); err != nil {
		t.Errorf("archive: %v", err)
	}
	if err := session.Rewind(ctx, 1, "no"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("rewind: %v", err)
	}
	if _, err := session.Fork(ctx, "fork", 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("fork: %v", err)
	}
	if list, err := engine.Store().Conversations(ctx, store.ConversationQuery{}); err != nil || len(list) != 1 {
		t.Errorf("conversations: %+v, %v", list, err)
	}
	if _, err := engine.Session("").Preview(ctx, 0); err == nil {
		t.Error("an empty key: accepted")
	}
}

// A session whose conversation was archived finds the messages of its older
// segments, and begins no new segment for that.
func TestReadingAnArchivedSessionMakesNoSegment(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	session := engine.Session("daily")
	if err := session.Append(ctx, llms.User("the proxy listens on 8473")); err != nil {
		t.Fatal(err)
	}
	if err := session.Archive(ctx, "day is over"); err != nil {
		t.Fatal(err)
	}
	shown, answer, grep := readSession(t, session)
	if shown != 0 || !strings.Contains(answer.Answer, "8473") || !strings.Contains(grep, "8473") {
		t.Errorf("%d messages, %+v, %s", shown, answer, grep)
	}
	if list, err := engine.Store().Conversations(ctx, store.ConversationQuery{}); err != nil || len(list) != 1 {
		t.Errorf("conversations: %+v, %v", list, err)
	}
}

// Sessions of a store that may only be read can be read.
func TestSessionsOfAReadOnlyStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := lcm.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Session("work").Append(t.Context(), llms.User("the proxy listens on 8473"), llms.Assistant("Noted.")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(t.Context()), db.Close()); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	engine := newEngineOn(t, db)
	if shown, answer, _ := readSession(t, engine.Session("work")); shown != 2 || !strings.Contains(answer.Answer, "8473") {
		t.Errorf("%d messages, %+v", shown, answer)
	}
	if shown, answer, _ := readSession(t, engine.Session("new")); shown != 0 || len(answer.Citations) > 0 {
		t.Errorf("a new session: %d messages, %+v", shown, answer)
	}
	if err := engine.Session("new").Append(t.Context(), llms.User("x")); err == nil {
		t.Error("a message was appended to a store that may only be read")
	}
}

// A call that names no budget has the last one of the session, whichever value of
// Session it was named with. Preview changes nothing, so its budget is not kept.
func TestLastBudget(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t, lcm.WithBudget(64_000))
	for _, test := range []struct {
		what   string
		view   func(*lcm.Session, int) (lcm.Context, error)
		budget int
		want   int
	}{
		{"a first preview", func(s *lcm.Session, n int) (lcm.Context, error) { return s.Preview(ctx, n) }, 0, 64_000},
		{"a context", func(s *lcm.Session, n int) (lcm.Context, error) { return s.Context(ctx, n) }, 8_000, 8_000},
		{"a preview", func(s *lcm.Session, n int) (lcm.Context, error) { return s.Preview(ctx, n) }, 0, 8_000},
		{"a preview with a budget", func(s *lcm.Session, n int) (lcm.Context, error) { return s.Preview(ctx, n) }, 9_000, 9_000},
		{"the next context", func(s *lcm.Session, n int) (lcm.Context, error) { return s.Context(ctx, n) }, 0, 8_000},
	} {
		view, err := test.view(engine.Session("work"), test.budget)
		if err != nil || view.Budget != test.want {
			t.Errorf("%s has a budget of %d, want %d (%v)", test.what, view.Budget, test.want, err)
		}
	}
	if view, err := engine.Session("other").Context(ctx, 0); err != nil || view.Budget != 64_000 {
		t.Errorf("another session has a budget of %d (%v)", view.Budget, err)
	}
}

// A session at an archived segment has the messages up to its end; one at the active
// segment has all.
func TestMessagesOfAnArchivedSegment(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	session := engine.Session("a")
	var archived []int64
	for _, text := range []string{"one", "two", "three"} {
		if err := session.Append(ctx, llms.User(text)); err != nil {
			t.Fatal(err)
		}
		c, err := session.Conversation(ctx)
		if err != nil {
			t.Fatal(err)
		}
		archived = append(archived, int64(c.ID))
		if text != "three" {
			if err := session.Archive(ctx, "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(s *lcm.Session) string {
		var said []string
		for m, err := range s.Messages(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, m.Body.PlainText())
		}
		return strings.Join(said, " ")
	}
	for i, want := range []string{"one", "one two", "one two three"} {
		s, err := engine.Resume(ctx, store.ConversationID(archived[i]))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(s); got != want {
			t.Errorf("segment %d: %q, want %q", i+1, got, want)
		}
	}
	first, err := engine.Resume(ctx, store.ConversationID(archived[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Append(ctx, llms.User("four")); err != nil || read(first) != "one two three four" || read(session) != "one two three four" {
		t.Errorf("after an append: %q and %q, %v", read(first), read(session), err)
	}
}
