package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

var here = store.Project{Root: "/work/here"}

// feed records its calls.
type feed struct {
	caught []string
	report hosts.Report
	err    error
}

func (f *feed) Locate(_ context.Context, host, path, session string) (hosts.Transcript, error) {
	if path == "" && session == "" {
		return hosts.Transcript{}, hosts.ErrNoTranscript
	}
	return hosts.Transcript{Host: host, Path: path, Session: session}, nil
}

func (f *feed) CatchUp(_ context.Context, t hosts.Transcript, _ hosts.Limits) (hosts.Report, error) {
	f.caught = append(f.caught, t.Path)
	return f.report, f.err
}

type world struct {
	hook.Handler
	feed   *feed
	engine *lcm.Engine
	db     *sqlite.DB
	now    time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{feed: &feed{report: hosts.Report{Complete: true}}, engine: e, db: db, now: time.Now()}
	w.Handler = hook.Handler{Feed: w.feed, Record: db, Clock: func() time.Time { return w.now },
		Project: func(string) (store.Project, error) { return here, nil }}
	return w
}

func (w *world) said(t *testing.T, key string, ms ...llms.Message) {
	t.Helper()
	if err := w.engine.Session(key, lcm.WithProject(here)).Append(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) handle(t *testing.T, e hook.Event) hook.Answer {
	t.Helper()
	if e.Host == "" {
		e.Host = "claude"
	}
	a, err := w.Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestShownOnceAndAgainAfterCompaction is the life of a session: it is told of
// earlier work when it starts, not again when it is resumed, and of itself
// once it was compacted.
func TestShownOnceAndAgainAfterCompaction(t *testing.T) {
	w := newWorld(t)
	w.said(t, "claude:before", llms.User("mend the flaky test"), llms.Assistant("mended"))
	start := hook.Event{Name: hook.SessionStart, Session: "now", Source: "startup"}
	if a := w.handle(t, start); !strings.Contains(a.Context, "mend the flaky test") || !a.Rest.All {
		t.Errorf("at its start: %+v", a)
	}
	if a := w.handle(t, hook.Event{Name: hook.SessionStart, Session: "soon", Source: "startup"}); a.Rest.All {
		t.Error("a moment later, all sessions are looked through again")
	}
	w.said(t, "claude:now", llms.User("write the release notes"), llms.Assistant("here they are"))
	resume := hook.Event{Name: hook.SessionStart, Session: "now", Source: "resume"}
	if a := w.handle(t, resume); a.Context != "" {
		t.Errorf("resumed, it is told again: %s", a.Context)
	}
	w.handle(t, hook.Event{Name: hook.PreCompact, Session: "now"})
	compact := hook.Event{Name: hook.SessionStart, Session: "now", Source: "compact"}
	a := w.handle(t, compact)
	if !strings.Contains(a.Context, "write the release notes") {
		t.Errorf("after a compaction: %s", a.Context)
	}
	// A host that forgets to say that it was compaction is not at a loss.
	w.handle(t, hook.Event{Name: hook.PostCompact, Session: "now"})
	if a := w.handle(t, resume); !strings.Contains(a.Context, "write the release notes") {
		t.Errorf("resumed after a compaction: %s", a.Context)
	}
	if a := w.handle(t, resume); a.Context != "" {
		t.Error("and once more")
	}
	if a := w.handle(t, hook.Event{Name: hook.SessionStart, Session: "other", InAgent: true}); a.Context != "" {
		t.Error("a sub-agent is told")
	}
}

// TestSubagentStart: each sub-agent is told of the session that started it, in a short
// block, and the session itself is told as if there were none.
func TestSubagentStart(t *testing.T) {
	w := newWorld(t)
	w.said(t, "claude:before", sample.Messages()...)
	w.said(t, "claude:now", llms.User("write the release notes, and never mention the incident"), llms.Assistant("I ask two agents."))
	for range 2 {
		a := w.handle(t, hook.Event{Name: hook.SubagentStart, Session: "now", InAgent: true})
		if n := llms.Estimate.Count(a.Context); n > 250 || !strings.Contains(a.Context, "write the release notes") || !strings.Contains(a.Context, "lcm_grep") || a.Message != "" {
			t.Errorf("%d tokens, %q: %s", n, a.Message, a.Context)
		}
		out, err := a.JSON()
		if err != nil || !strings.Contains(string(out), `"hookEventName":"SubagentStart"`) {
			t.Errorf("%s, %v", out, err)
		}
	}
	if a := w.handle(t, hook.Event{Name: hook.SessionStart, Session: "now", Source: "startup"}); a.Context == "" {
		t.Error("the session is told nothing")
	}
}

// TestReceipt: a session whose host wrote a summary is told what that summary does not say,
// once, and nothing if it says everything.
func TestReceipt(t *testing.T) {
	const rule, kept = "please never amend commits that were pushed to the release branch", "always run the linter before a commit"
	for summary, want := range map[string]bool{
		"The user wants the linter to run always before each commit. It stands at the importer.":                                true,
		"The linter runs always before a commit; commits pushed to the release branch are never amended. The importer is next.": false,
	} {
		w := newWorld(t)
		w.said(t, "copilot:now", llms.User(rule), llms.Assistant("ok"), llms.User(kept), llms.Assistant("ok"))
		event := func(name string) string {
			return w.handle(t, hook.Event{Host: "copilot", Name: name, Session: "now", Prompt: "go on"}).Context
		}
		event(hook.PreCompact)
		host := llms.User(summary)
		host.Time = w.now.Add(time.Second)
		if _, err := w.engine.Session("copilot:now").AppendInputs(t.Context(), ingest.Input{Message: host, Flags: store.FlagHostSummary}); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
		text := event(hook.PostToolUse)
		if strings.Contains(text, rule) != want || strings.Contains(text, kept) || llms.Estimate.Count(text) > 400 || (text == "") == want {
			t.Errorf("after %q: %s", summary, text)
		}
		if text := event(hook.PostToolUse); text != "" {
			t.Errorf("told again: %s", text)
		}
		// The summary of an earlier compaction does not say what was forgotten now.
		event(hook.PreCompact)
		if text := event(hook.PostToolUse); !strings.Contains(text, "# Last worked on") {
			t.Errorf("after a compaction without a summary: %s", text)
		}
	}
}

// TestCompactedUnseen: a session whose host tells of no start after a compaction is told of
// itself with its next prompt or after its next tool call, in the host's own form.
func TestCompactedUnseen(t *testing.T) {
	w := newWorld(t)
	w.said(t, "copilot:now", llms.User("write the release notes"), llms.Assistant("here they are"))
	event := func(name string) hook.Answer {
		return w.handle(t, hook.Event{Host: "copilot", Name: name, Session: "now", Transcript: "/t", Prompt: "go on"})
	}
	for _, next := range []string{hook.UserPromptSubmit, hook.PostToolUse} {
		if a := event(next); a.Context != "" || !a.Rest.Empty() {
			t.Errorf("%s before a compaction: %+v", next, a)
		}
		event(hook.PreCompact)
		a := event(next)
		out, err := a.JSON()
		var back struct{ AdditionalContext string }
		if err != nil || json.Unmarshal(out, &back) != nil || !strings.Contains(back.AdditionalContext, "write the release notes") {
			t.Errorf("%s after a compaction: %s, %v", next, out, err)
		}
		if a := event(next); a.Context != "" {
			t.Errorf("%s once more: %s", next, a.Context)
		}
	}
	if a := event(hook.Stop); len(a.Rest.Transcripts) != 1 { // the end of the turn is not written yet
		t.Errorf("at the end of a turn: %+v", a.Rest)
	}
}

// TestStartsWithPrompt: a session of a host that would lose its first prompt gets the block
// with it, together with the lines that the prompt refers to, and again after a compaction
// that the transcript tells of.
func TestStartsWithPrompt(t *testing.T) {
	w := newWorld(t)
	w.said(t, "codex:before", llms.User("which port shall the staging proxy have?"), llms.Assistant("Port 8443 for the staging proxy."))
	w.said(t, "gemini:now", llms.User("write the release notes"), llms.Assistant("here they are"))
	event := func(name, prompt string) string {
		return w.handle(t, hook.Event{Host: "gemini", Name: name, Session: "now", Transcript: "/t", Prompt: prompt, Source: "startup"}).Context
	}
	if text := event(hook.SessionStart, ""); text != "" {
		t.Errorf("at its start: %s", text)
	}
	if text := event(hook.UserPromptSubmit, "what port did we give the staging proxy?"); strings.Count(text, ingest.ContextTag) != 2 || strings.Count(text, "8443") < 2 {
		t.Errorf("with its first prompt: %s", text)
	}
	if text := event(hook.UserPromptSubmit, "go on") + event(hook.PostToolUse, ""); text != "" {
		t.Errorf("once more: %s", text)
	}
	w.feed.report.Compacted = w.now.Add(-time.Second)
	if text := event(hook.PostToolUse, ""); text != "" {
		t.Errorf("for a compaction before its start: %s", text)
	}
	w.feed.report.Compacted = w.now.Add(time.Second)
	w.now = w.now.Add(time.Minute)
	if text := event(hook.PostToolUse, ""); !strings.Contains(text, "write the release notes") {
		t.Errorf("after a compaction: %q", text)
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.said(t, "claude:before", sample.Messages()...)
	for _, host := range []string{"claude", "codex", "opencode"} {
		a := w.handle(t, hook.Event{Host: host, Name: hook.SessionStart, Session: "x", Source: "startup"})
		if a.Context == "" || llms.Estimate.Count(a.Context) > 600 {
			t.Errorf("%s: %d characters, %d tokens", host, len([]rune(a.Context)), llms.Estimate.Count(a.Context))
		}
		out, err := a.JSON()
		var back struct {
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if err != nil || json.Unmarshal(out, &back) != nil || back.HookSpecificOutput.AdditionalContext != a.Context || back.HookSpecificOutput.HookEventName != "SessionStart" {
			t.Errorf("%s: %s, %v", host, out, err)
		}
	}
	if out, err := (hook.Answer{}).JSON(); err != nil || len(out) != 0 {
		t.Errorf("with nothing to say, %q is said", out)
	}
}

func TestIngest(t *testing.T) {
	w := newWorld(t)
	a := w.handle(t, hook.Event{Name: hook.SubagentStop, Session: "s", Transcript: "/t/s.jsonl", Agent: "/t/s/agent.jsonl"})
	if strings.Join(w.feed.caught, " ") != "/t/s.jsonl /t/s/agent.jsonl" || !a.Rest.Empty() {
		t.Errorf("%v %+v", w.feed.caught, a.Rest)
	}
	w.feed.report = hosts.Report{Counts: hosts.Counts{New: 150}}
	if a := w.handle(t, hook.Event{Name: hook.Stop, Session: "s", Transcript: "/t/s.jsonl"}); len(a.Rest.Transcripts) != 1 {
		t.Errorf("cut off: %+v", a.Rest)
	}
	if a := w.handle(t, hook.Event{Name: hook.Stop}); !a.Rest.Empty() {
		t.Errorf("an event that names no session: %+v", a.Rest)
	}
}

// TestFoldAfterATurn: a conversation that is large enough is folded once a turn
// has ended, unless that is turned off.
func TestFoldAfterATurn(t *testing.T) {
	w := newWorld(t)
	w.said(t, "claude:s", sample.Messages()...)
	c, err := w.engine.Session("claude:s").Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.feed.report = hosts.Report{Complete: true, Conversation: c.ID}
	for _, tt := range []struct {
		event string
		above int
		want  bool
	}{
		{hook.Stop, c.ViewTokens, true},
		{hook.SubagentStop, c.ViewTokens, true},
		{hook.SessionEnd, c.ViewTokens, true},
		{hook.Stop, c.ViewTokens + 1, false},
		{hook.Stop, 0, false},
		{hook.PreCompact, c.ViewTokens, false},
	} {
		w.FoldAbove = tt.above
		a := w.handle(t, hook.Event{Name: tt.event, Session: "s", Transcript: "/t/s.jsonl"})
		if got := len(a.Rest.Fold) == 1 && a.Rest.Fold[0] == c.ID; got != tt.want || a.Rest.Empty() == tt.want {
			t.Errorf("%s, above %d of %d tokens: %+v", tt.event, tt.above, c.ViewTokens, a.Rest)
		}
	}
}

// TestProblemsAreNoted: a hook continues after an error, and records the error with its
// time.
func TestProblemsAreNoted(t *testing.T) {
	w := newWorld(t)
	w.said(t, "claude:before", llms.User("mend it"), llms.Assistant("mended"))
	w.feed.err = errors.New("the disk is on fire")
	a, err := w.Handle(t.Context(), hook.Event{Host: "codex", Name: hook.SessionStart, Session: "s", Transcript: "/t"})
	if err == nil || a.Context == "" {
		t.Errorf("%v, %q", err, a.Context)
	}
	w.feed.err = nil
	w.handle(t, hook.Event{Name: hook.Stop, Session: "s"})
	got, err := hosts.Noted(t.Context(), w.db)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if got[0].Host != "claude" || got[0].Event != hook.Stop || got[0].Problem != "" || !got[0].At.Equal(w.now) {
		t.Errorf("%+v", got[0])
	}
	if got[1].Host != "codex" || !strings.Contains(got[1].Problem, "on fire") {
		t.Errorf("%+v", got[1])
	}
}

// TestPrompt: a prompt that refers to earlier work gets the lines that it refers to, once.
// The session's own messages do not count until the host has compacted it.
func TestPrompt(t *testing.T) {
	w := newWorld(t)
	w.said(t, "codex:before", llms.User("which port shall the staging proxy have?"), llms.Assistant("Port 8443 for the staging proxy, 8080 is taken."),
		llms.User("fine"), llms.Assistant("done"))
	w.said(t, "claude:own", llms.User("where do we keep the grafana dashboards?"), llms.Assistant("The grafana dashboards are in ops/boards."))
	ask := func(prompt string) hook.Event {
		return hook.Event{Name: hook.UserPromptSubmit, Session: "own", Transcript: "/t/own.jsonl", Prompt: prompt}
	}
	a := w.handle(t, ask("what port did we give the staging proxy?"))
	if !strings.Contains(a.Context, "Port 8443") || !strings.HasPrefix(a.Context, ingest.ContextTag) || !a.Rest.Empty() || len(w.feed.caught) != 0 {
		t.Errorf("%+v, caught up with %v", a, w.feed.caught)
	}
	out, err := a.JSON()
	if err != nil || !strings.Contains(string(out), `"hookEventName":"UserPromptSubmit"`) || !strings.Contains(string(out), `"systemMessage":"lcm added`) {
		t.Errorf("%s, %v", out, err)
	}
	if a := w.handle(t, ask("so what port did we give the staging proxy, again?")); a.Context != "" {
		t.Errorf("told again: %s", a.Context)
	}
	own := ask("where did we keep the grafana dashboards?")
	if a := w.handle(t, own); a.Context != "" {
		t.Errorf("told what it said itself: %s", a.Context)
	}
	w.now = time.Now().Add(time.Minute)
	w.handle(t, hook.Event{Name: hook.PreCompact, Session: "own"})
	if a := w.handle(t, own); !strings.Contains(a.Context, "ops/boards") {
		t.Errorf("compacted, it is not told: %q", a.Context)
	}
	since := llms.Assistant("The loki retention is nine days.")
	since.Time = w.now.Add(time.Minute)
	w.said(t, "claude:own", since)
	if a := w.handle(t, ask("what retention did we give loki?")); a.Context != "" {
		t.Errorf("told what it said since: %s", a.Context)
	}
	for _, e := range []hook.Event{
		ask("write a haiku about autumn"),
		{Name: hook.UserPromptSubmit, Session: "own", Prompt: "what port did we give the staging proxy?", InAgent: true},
	} {
		if a := w.handle(t, e); a.Context != "" {
			t.Errorf("%+v is answered: %s", e, a.Context)
		}
	}
	w.SilentPrompts = true
	if a := w.handle(t, hook.Event{Name: hook.UserPromptSubmit, Session: "third", Prompt: "what port did we give the staging proxy?"}); a.Context != "" {
		t.Errorf("switched off, it is told: %s", a.Context)
	}
}

// slowRecord never ends a search by itself.
type slowRecord struct{ *sqlite.DB }

func (slowRecord) Search(ctx context.Context, _ store.Search) (store.Found, error) {
	<-ctx.Done()
	return store.Found{}, ctx.Err()
}

// TestSlowPrompt: a search that takes too long is given up and noted, until a
// prompt is answered again.
func TestSlowPrompt(t *testing.T) {
	w := newWorld(t)
	w.said(t, "codex:before", llms.User("which port shall the staging proxy have?"), llms.Assistant("Port 8443 for the staging proxy."))
	w.Record, w.PromptTime = slowRecord{w.db}, time.Millisecond
	e := hook.Event{Host: "claude", Name: hook.UserPromptSubmit, Session: "s", Prompt: "what port did we give the staging proxy?"}
	a, err := w.Handle(t.Context(), e)
	if err == nil || !strings.Contains(err.Error(), "given up after 1ms") || a.Context != "" {
		t.Errorf("%v, %q", err, a.Context)
	}
	problem := func() string {
		t.Helper()
		got, err := hosts.Noted(t.Context(), w.db)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		return got[0].Problem
	}
	if p := problem(); !strings.Contains(p, "given up") {
		t.Errorf("noted: %q", p)
	}
	w.Record, w.PromptTime = w.db, time.Minute
	if w.handle(t, e).Context == "" || problem() != "" {
		t.Errorf("an answered prompt leaves %q", problem())
	}
}

// TestNeedsRecord: the database is opened for no prompt that refers to nothing.
func TestNeedsRecord(t *testing.T) {
	for prompt, want := range map[string]bool{
		"what port did we give the staging proxy?": true,
		"write a haiku about autumn":               false,
		"run the tests again":                      false, // words of every day
		"continue":                                 false,
	} {
		if got := hook.NeedsRecord(hook.Event{Name: hook.UserPromptSubmit, Prompt: prompt}); got != want {
			t.Errorf("%q: %v", prompt, got)
		}
		if hook.NeedsRecord(hook.Event{Name: hook.UserPromptSubmit, Prompt: prompt, InAgent: true}) || !hook.NeedsRecord(hook.Event{Name: hook.Stop}) {
			t.Error("an agent's prompt needs no record, the end of a turn does")
		}
	}
	for _, e := range []hook.Event{{Host: "claude", Name: "PostToolUseFailure"}, {Host: "codex", Name: hook.PostToolUse}} { // older settings
		if hook.NeedsRecord(e) {
			t.Errorf("%s of %s needs the record", e.Name, e.Host)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want hook.Event
	}{
		{`{"hook_event_name":"SessionStart","session_id":"s","transcript_path":"/t","cwd":"/w","source":"compact"}`,
			hook.Event{Host: "x", Name: "SessionStart", Session: "s", Transcript: "/t", Dir: "/w", Source: "compact"}},
		{`{"hook_event_name":"Stop","session_id":"s","transcript_path":null,"turn_id":"7"}`, hook.Event{Host: "x", Name: "Stop", Session: "s"}},
		{`{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","prompt":"as before?"}`,
			hook.Event{Host: "x", Name: "UserPromptSubmit", Session: "s", Dir: "/w", Prompt: "as before?"}},
		{`{"hook_event_name":"SubagentStop","session_id":"t","agent_id":"a","agent_transcript_path":"/a"}`,
			hook.Event{Host: "x", Name: "SubagentStop", Session: "t", Agent: "/a", InAgent: true}},
	} {
		if got, err := hook.Parse("x", strings.NewReader(tt.in)); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.in, got, err)
		}
	}
	in := `{"hook_event_name":"BeforeAgent","session_id":"s","prompt":"<hook_context>another's</hook_context>\n\nas before?"}`
	if got, err := hook.Parse("gemini", strings.NewReader(in)); err != nil || got.Name != hook.UserPromptSubmit || got.Prompt != "as before?" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := hook.Parse("claude", strings.NewReader(in)); err != nil || !strings.HasPrefix(got.Prompt, "<hook_context>") {
		t.Errorf("what a user wrote is removed: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "garbage", "{}", "[]", `{"hook_event_name":7}`, strings.Repeat(" ", 9<<20)} {
		if _, err := hook.Parse("x", strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q is taken for an event", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"hook_event_name":"SessionStart","session_id":"s","transcript_path":null,"cwd":"/w","source":"compact"}`)
	f.Add(`{"event":"éa"}`)
	f.Fuzz(func(t *testing.T, in string) {
		if e, err := hook.Parse("x", strings.NewReader(in)); err == nil && e.Name == "" {
			t.Error("an event without a name")
		}
	})
}
