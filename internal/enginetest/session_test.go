package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"go.uber.org/goleak"
)

// counting is a summariser that counts its calls.
type counting struct {
	summary.Summariser
	calls atomic.Int64
}

func (c *counting) Summarise(ctx context.Context, r summary.Request) (summary.Result, error) {
	c.calls.Add(1)
	return c.Summariser.Summarise(ctx, r)
}

func prose(i int) string {
	return fmt.Sprintf("Deployment %d of the parcel service went to eu-west-%d. Request r-%05d took %d ms, twice the limit, "+
		"because the cache in internal/cache/lru.go evicts before it writes back.", i, i%3, i*37, 100+i)
}

func TestBelowTheSoftThresholdTheContextIsTheHistory(t *testing.T) {
	spy := &counting{Summariser: summary.NewExtractive()}
	engine := newEngine(t, lcm.WithSummariser(spy))
	session := engine.Session("short")
	var history []llms.Message
	for i := range 100 {
		m := llms.User(prose(i))
		if i%2 == 1 {
			raw := fmt.Sprintf(`{ "role": "assistant",  "content": [{"type":"text","text":%q}], "odd": [1, 2] }`, prose(i))
			var err error
			if m, err = wire.Decode(llms.FormatAnthropic, "", []byte(raw)); err != nil {
				t.Fatal(err)
			}
		}
		history = append(history, m)
	}
	if err := session.Append(t.Context(), history...); err != nil {
		t.Fatal(err)
	}
	if err := engine.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	view, err := session.Context(t.Context(), 128_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Messages) != len(history) {
		t.Fatalf("the context has %d messages, the history %d", len(view.Messages), len(history))
	}
	for i, m := range view.Messages {
		if i%2 == 1 && string(m.Raw.Bytes) != string(history[i].Raw.Bytes) {
			t.Errorf("message %d lost its record", i)
		}
		if m.PlainText() != history[i].PlainText() || m.Role != history[i].Role {
			t.Errorf("message %d is %q", i, m.PlainText())
		}
	}
	if n := spy.calls.Load(); n != 0 {
		t.Errorf("the summariser was called %d times for nothing", n)
	}
}

func TestBackgroundFoldingKeepsTheViewBelowTheSoftThreshold(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	engine := newEngine(t, lcm.WithBudget(8_000))
	session := engine.Session("busy")
	for i := range 400 {
		if err := session.Append(t.Context(), llms.User(prose(i)), llms.Assistant("Noted, "+prose(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if err := engine.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := session.Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.ViewTokens >= 7_600 || c.Summaries == 0 {
		t.Errorf("the view has %d tokens and %d summaries", c.ViewTokens, c.Summaries)
	}
	view, err := session.Context(t.Context(), 8_000)
	if err != nil {
		t.Fatal(err)
	}
	if view.Tokens > 8_000 {
		t.Errorf("the context has %d tokens", view.Tokens)
	}
	if err := engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// contextSpy is a summariser that records the value of a key in its contexts.
type contextSpy struct {
	summary.Summariser
	calls, found atomic.Int64
}

type contextSpyKey struct{}

func (s *contextSpy) Summarise(ctx context.Context, r summary.Request) (summary.Result, error) {
	s.calls.Add(1)
	if ctx.Value(contextSpyKey{}) != nil {
		s.found.Add(1)
	}
	return s.Summariser.Summarise(ctx, r)
}

// Folding in the background serves all callers, so it has none of the values, such
// as spans and models, of the context that started it.
func TestBackgroundFoldingHasNoValuesOfItsFirstCaller(t *testing.T) {
	spy := &contextSpy{Summariser: summary.NewExtractive()}
	engine := newEngine(t, lcm.WithBudget(8_000), lcm.WithSummariser(spy))
	ctx := context.WithValue(t.Context(), contextSpyKey{}, "of the first caller")
	for i := range 100 {
		if err := engine.Session("busy").Append(ctx, llms.User(prose(i)), llms.Assistant("Noted, "+prose(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if err := engine.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spy.calls.Load() == 0 || spy.found.Load() > 0 {
		t.Errorf("%d of %d calls have the value of the first caller", spy.found.Load(), spy.calls.Load())
	}
}

func TestContextWaitsForFoldingAtTheHardThreshold(t *testing.T) {
	engine := newEngine(t, lcm.WithoutBackground())
	session := engine.Session("full")
	for i := range 200 {
		if err := session.Append(t.Context(), llms.User(prose(i)), llms.Assistant("yes")); err != nil {
			t.Fatal(err)
		}
	}
	view, err := session.Context(t.Context(), 4_000)
	if err != nil {
		t.Fatal(err)
	}
	if view.Tokens > 4_000 || view.Compaction == nil || !view.Items[0].IsSummary() {
		t.Errorf("%d tokens, compaction %v, first item %s", view.Tokens, view.Compaction, view.Items[0].ID)
	}
	if !strings.Contains(view.Messages[0].PlainText(), summary.Footer) {
		t.Errorf("the first message is %.200q", view.Messages[0].PlainText())
	}
	last := view.Messages[len(view.Messages)-1]
	if last.PlainText() != "yes" {
		t.Errorf("the newest message is %q", last.PlainText())
	}
}

func TestInstructionsAreNotFolded(t *testing.T) {
	engine := newEngine(t, lcm.WithoutBackground())
	session := engine.Session("instructed")
	if err := session.Append(t.Context(), llms.System("Answer in French.")); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := session.Append(t.Context(), llms.User(prose(i)), llms.Assistant("oui")); err != nil {
			t.Fatal(err)
		}
	}
	view, err := session.Context(t.Context(), 4_000)
	if err != nil {
		t.Fatal(err)
	}
	if first := view.Messages[0]; first.Role != llms.RoleSystem || first.PlainText() != "Answer in French." {
		t.Errorf("the context begins with %s: %.60q", first.Role, first.PlainText())
	}
	if view.Compaction == nil {
		t.Error("nothing was folded: the test proves nothing")
	}
}

func TestPrefixDoesNotChangeWhileTheTailGrows(t *testing.T) {
	engine := newEngine(t, lcm.WithoutBackground())
	session := engine.Session("cached")
	for i := range 200 {
		if err := session.Append(t.Context(), llms.User(prose(i)), llms.Assistant("yes")); err != nil {
			t.Fatal(err)
		}
	}
	before, err := session.Context(t.Context(), 8_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Append(t.Context(), llms.User("one more")); err != nil {
		t.Fatal(err)
	}
	after, err := engine.Session("cached").Context(t.Context(), 8_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range before.Messages {
		if after.Messages[i].Render() != m.Render() {
			t.Fatalf("message %d of the prefix changed", i)
		}
	}
	if len(after.Messages) != len(before.Messages)+1 {
		t.Errorf("%d messages became %d", len(before.Messages), len(after.Messages))
	}
}

func TestPreviewChangesNothing(t *testing.T) {
	engine := newEngine(t, lcm.WithoutBackground())
	session := engine.Session("looked at")
	for i := range 200 {
		if err := session.Append(t.Context(), llms.User(prose(i)), llms.Assistant("yes")); err != nil {
			t.Fatal(err)
		}
	}
	view, err := session.Preview(t.Context(), 2_000)
	if err != nil {
		t.Fatal(err)
	}
	if view.Tokens > 2_000 || len(view.Dropped)+view.Skipped == 0 {
		t.Errorf("%d tokens, %d dropped, %d skipped", view.Tokens, len(view.Dropped), view.Skipped)
	}
	c, err := session.Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Summaries != 0 || c.ViewItems != 400 {
		t.Errorf("looking folded the view: %d summaries, %d items", c.Summaries, c.ViewItems)
	}
}

func TestBudgetTooSmall(t *testing.T) {
	engine := newEngine(t)
	session := engine.Session("tiny")
	if _, err := session.Context(t.Context(), 10); err == nil || !strings.Contains(err.Error(), "at least 1000") {
		t.Errorf("a budget of 10: %v", err)
	}
	if err := session.Append(t.Context(), llms.User(strings.Repeat(prose(1), 40))); err != nil {
		t.Fatal(err)
	}
	var tooSmall *assemble.BudgetError
	view, err := session.Context(t.Context(), 1_000)
	if err != nil && !errors.As(err, &tooSmall) {
		t.Errorf("got %v", err)
	}
	if err == nil && view.Tokens > 1_000 {
		t.Errorf("%d tokens", view.Tokens)
	}
}

func TestArchiveBeginsANewSegment(t *testing.T) {
	engine := newEngine(t)
	session := engine.Session("daily", lcm.WithAgent("bot"), lcm.WithProject(store.Project{Root: "/work"}))
	if err := session.Append(t.Context(), llms.User("monday")); err != nil {
		t.Fatal(err)
	}
	other := engine.Session("daily")
	if _, err := other.Conversation(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := session.Archive(t.Context(), "day is over"); err != nil {
		t.Fatal(err)
	}
	// A session that did not hear of it goes on in the new segment as well.
	if err := other.Append(t.Context(), llms.User("tuesday")); err != nil {
		t.Fatal(err)
	}
	c, err := session.Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Segment != 2 || c.Messages != 1 {
		t.Errorf("segment %d with %d messages", c.Segment, c.Messages)
	}
	v, err := engine.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !v.Sound() || v.Messages != 2 || len(v.Conversations) != 2 {
		t.Errorf("verification: %+v", v)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	engine := newEngine(t)
	for name, o := range map[string]lcm.Option{
		"thresholds out of order": lcm.WithThresholds(0.9, 0.5),
		"a budget of nothing":     lcm.WithBudget(0),
		"no counter":              lcm.WithCounter(nil),
		"tiny payloads":           lcm.WithLargeContent(3),
	} {
		if _, err := lcm.New(engine.Store(), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := lcm.New(nil); err == nil {
		t.Error("no store: accepted")
	}
	if err := engine.Session("").Append(t.Context(), llms.User("x")); err == nil {
		t.Error("an empty key: accepted")
	}
}

func TestFreshImagesAreShownAgain(t *testing.T) {
	engine := newEngine(t)
	session := engine.Session("pictures")
	png := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("pixel", 2000))
	if err := session.Append(t.Context(), llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartText, Text: "what is this?"},
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: png}},
	}}); err != nil {
		t.Fatal(err)
	}
	view, err := session.Context(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := view.Messages[0].Parts[1].Blob; got == nil || string(got.Data) != string(png) {
		t.Errorf("the image came back as %+v", view.Messages[0].Parts[1])
	}
}

// With ProjectScope the tools look in the other sessions of the project, and
// further where those have little.
func TestProjectScope(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	here, there := lcm.WithProject(store.Project{Root: "/src/here"}), lcm.WithProject(store.Project{Root: "/src/there"})
	for key, say := range map[string]string{"codex:1": "the proxy listens on 8473", "claude:2": "the gateway is called walrus"} {
		in := here
		if key == "claude:2" {
			in = there
		}
		if err := engine.Session(key, in).Append(ctx, llms.User("What is it?"), llms.Assistant(say)); err != nil {
			t.Fatal(err)
		}
	}
	session := engine.Session("claude:3", here)
	if err := session.Append(ctx, llms.User("where does the proxy listen, and what is the walrus?")); err != nil {
		t.Fatal(err)
	}
	grep := func(args map[string]any, options ...lcm.ToolOption) string {
		return session.Tools(options...)[0].Call(nil, args)
	}
	for _, c := range []struct {
		what    string
		text    string
		finds   string
		widened bool
	}{
		{"the current conversation", grep(map[string]any{"pattern": "proxy"}), "", false},
		{"the project", grep(map[string]any{"pattern": "proxy"}, lcm.WithProjectScope()), "8473", false},
		{"further", grep(map[string]any{"pattern": "walrus"}, lcm.WithProjectScope()), "gateway", true},
		{"false", grep(map[string]any{"pattern": "walrus", "allConversations": false}, lcm.WithProjectScope()), "", false},
	} {
		var got struct {
			Matches []struct{ Snippet string }
			Widened *struct{ InScope, Elsewhere int }
		}
		if err := json.Unmarshal([]byte(c.text), &got); err != nil {
			t.Fatalf("%s: %v in %s", c.what, err, c.text)
		}
		if (got.Widened != nil) != c.widened {
			t.Errorf("%s: widened %v", c.what, got.Widened)
		}
		if c.finds == "" && len(got.Matches) > 0 || c.finds != "" && (len(got.Matches) != 1 || !strings.Contains(got.Matches[0].Snippet, c.finds)) {
			t.Errorf("%s: %s", c.what, c.text)
		}
	}
}

// A session whose title quotes an erased message loses the title while other
// goroutines open, fork and read the session. The race detector checks it.
func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	erased := llms.User("the password of the gateway is walrus, and it must not be kept anywhere")
	erased.ID, erased.Time = "m1", time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := engine.Session("host:1").Append(ctx, erased); err != nil {
		t.Fatal(err)
	}
	order, err := engine.Order(ctx, lcm.EraseQuery{Conversations: []store.ConversationID{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Erase(ctx, order, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 { // each with a title to lose
		session := engine.Session("host:1", lcm.WithTitle("The password of the gateway is…"))
		var all sync.WaitGroup
		for _, call := range []func() error{
			func() error { return session.DropForgottenTitle(ctx, ingest.Messages(erased)...) },
			func() error { return session.Append(ctx, erased) },
			func() error { _, err := session.Conversation(ctx); return err },
			func() error { _, err := session.Preview(ctx, 0); return err },
			func() error { _, _ = session.Fork(ctx, "fork", 1); return nil }, // message 1 is erased
		} {
			all.Go(func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := session.Archive(ctx, "next"); err != nil {
			t.Fatal(err)
		}
		// The title is lost for good.
		if c, err := session.Conversation(ctx); err != nil || c.Title != "" {
			t.Errorf("the title is %q, %v", c.Title, err)
		}
		if err := session.Archive(ctx, "next"); err != nil {
			t.Fatal(err)
		}
	}
}
