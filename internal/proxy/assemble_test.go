package proxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// TestAssemble: a host that sends its requests itself gets the same summaries, within the budget that it names
// and with the tools that its model has.
func TestAssemble(t *testing.T) {
	b := newBed(t, nil)
	b.tools = nil
	b.prompt("Read the logs.")
	for i := range 60 {
		b.step(i)
	}
	b.flush()
	b.server.Ready("claude", sessionID)
	a := proxy.Assembly{Host: "claude", Session: sessionID, Form: apiform.Messages, Body: b.body(), Model: "own", Budget: 30_000, Wait: time.Minute}
	got := b.server.Assemble(a)
	for deadline := time.Now().Add(time.Minute); len(got.Edits) == 0 && time.Now().Before(deadline); { // a busy machine folds late
		got = b.server.Assemble(a)
	}
	if len(got.Edits) == 0 || got.Budget != 30_000 || got.Tokens > 30_000 || got.Model != "claude-test" || got.Dropped == 0 {
		t.Errorf("%d edits, %+v", len(got.Edits), got.Composition)
	}
	text := func(edits []apiform.Edit) (all string) {
		req, err := apiform.Parse(apiform.Messages, a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(req.Rewrite(edits))
	}
	if strings.Contains(text(got.Edits), "lcm_grep") {
		t.Error("tools are named that the model does not have")
	}
	a.Tools = true
	if got = b.server.Assemble(a); !strings.Contains(text(got.Edits), "lcm_grep") {
		t.Error("the tools are not named")
	}
	a.Body = []byte(`{"messages":"odd"}`)
	if got = b.server.Assemble(a); len(got.Edits) != 0 || got.Failure == "" {
		t.Errorf("%d edits, %+v", len(got.Edits), got.Composition)
	}
	if run := b.server.Result(); run.Requests < 3 || run.PassedUnchanged() != 1 || run.Unanswered != 0 {
		t.Errorf("%+v", run)
	}
}

// TestCompact: the summary of a compaction stands for the messages before the one that the host keeps.
func TestCompact(t *testing.T) {
	b := newBed(t, nil)
	if _, err := b.server.Compact(t.Context(), "claude", sessionID, "", 0); err == nil {
		t.Error("a session without a transcript was compacted")
	}
	b.prompt("Read the logs. The code is TANGERINE.")
	for i := range 20 {
		b.step(i)
	}
	b.prompt("What is in them?")
	b.flush()
	for name, c := range map[string]struct {
		keep  string
		last  store.MessageID
		asked bool // whether the last prompt is in the text
	}{
		"all":              {"", 42, true},
		"before a message": {b.last, 41, false},
	} {
		got, err := b.server.Compact(t.Context(), "claude", sessionID, c.keep, 4_000)
		if err != nil || got.Last != c.last || !strings.HasSuffix(got.Text, apiform.CheckpointMark(int64(c.last))) || strings.Contains(got.Text, "What is in them?") != c.asked || got.Tokens == 0 || got.Tokens > 4_000 {
			t.Errorf("%s: up to %d, %v, %.200q", name, got.Last, err, got.Text)
		}
	}
	first := "00000000-0000-4000-8000-000000000001"
	if got, err := b.server.Compact(t.Context(), "claude", sessionID, first, 4_000); err == nil {
		t.Errorf("nothing lies before the first message: %+v", got)
	}
	if got, err := b.server.Compact(t.Context(), "claude", sessionID, "gone", 4_000); err == nil || !strings.Contains(err.Error(), "ingest it first") {
		t.Errorf("the message to keep is not known: %+v, %v", got, err)
	}
}
