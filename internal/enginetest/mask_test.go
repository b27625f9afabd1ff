package enginetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestContextKeepsWhatTheAgentWasGiven: with LCM_REDACT=search an agent's own
// context has the token that it was given a message ago. What is searched,
// described and summarised has not.
func TestContextKeepsWhatTheAgentWasGiven(t *testing.T) {
	const token = "ghp_q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2U"
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	e, err := lcm.New(db, lcm.WithPrivacy(ingest.Privacy{Redact: privacy.Search}), lcm.WithLargeContent(500), lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	s := e.Session("own")
	long := strings.Repeat("a line of a long log\n", 300)
	history := []llms.Message{
		llms.User("use the token " + token + " for it"),
		llms.Calls("I will", llms.ToolCall{ID: "c1", Name: "run", Arguments: `{"env":"GH_TOKEN=` + token + `"}`}),
		llms.Result("c1", "run", "logged in with "+token, false),
		llms.User(long + token),
	}
	if _, err := s.Sync(t.Context(), history); err != nil {
		t.Fatal(err)
	}
	shown, err := s.Context(t.Context(), 50_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range shown.Messages[:3] {
		if text := fmt.Sprint(m.Render()); !strings.Contains(text, token) {
			t.Errorf("message %d of the context lost the token: %s", i, text)
		}
	}
	if text := shown.Messages[3].Render(); strings.Contains(text, token) {
		t.Error("what was moved into a payload is masked there")
	}
	found, err := db.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: token, Limit: 10, Everything: true})
	if err != nil || len(found.Hits) > 0 {
		t.Errorf("a search finds the token: %+v, %v", found.Hits, err)
	}
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Flags&store.FlagMasked == 0 || strings.Contains(m.Body.Render(), token) {
			t.Errorf("%s is not masked: %s", m.ID, m.Body.Render())
		}
	}
	if again, err := s.Sync(t.Context(), history); err != nil || len(again.Stored) > 0 {
		t.Errorf("%d messages are stored again, %v", len(again.Stored), err)
	}
}

// TestModesKnowEachOther: a history without ids is known whatever mode it was
// stored under before.
func TestModesKnowEachOther(t *testing.T) {
	const token = "ghp_q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2U"
	history := []llms.Message{llms.User("the token is " + token), llms.Assistant("thank you"), llms.User(strings.Repeat("a long text\n", 400) + token)}
	for _, modes := range [][2]privacy.Mode{{privacy.Off, privacy.Search}, {privacy.Search, privacy.Off}} {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for i, mode := range modes {
			e, err := lcm.New(db, lcm.WithPrivacy(ingest.Privacy{Redact: mode}), lcm.WithLargeContent(500), lcm.WithoutBackground())
			if err != nil {
				t.Fatal(err)
			}
			done, err := e.Session("s").Sync(t.Context(), history)
			if want := []int{3, 0}[i]; err != nil || len(done.Stored) != want {
				t.Errorf("%s after %v: %d messages stored, want %d, %v", mode, modes[:i], len(done.Stored), want, err)
			}
		}
	}
}

// TestMaskOlder: messages that were stored without a mask get one, with their
// payloads, summaries and forks, and the record stays as it was.
func TestMaskOlder(t *testing.T) {
	const token = "ghp_q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2U"
	path := filepath.Join(t.TempDir(), "lcm.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	off, err := lcm.New(db, lcm.WithLargeContent(500), lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	s := off.Session("old")
	long := strings.Repeat("a line of a long log\n", 300)
	var history []llms.Message
	for i := range 40 {
		history = append(history, llms.User(fmt.Sprintf("step %d: deploy with %s and look at the log", i, token)), llms.Assistant(fmt.Sprintf("step %d is done: the log shows nothing unusual, the service answers as before and the next step can begin", i)))
	}
	history = append(history, llms.User(long+token), llms.Assistant("seen"))
	if _, err := s.Sync(t.Context(), history); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(t.Context(), "fork", 30); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), lcm.CompactOptions{Budget: 2000, Full: true}); err != nil {
		t.Fatal(err)
	}
	records := map[store.MessageID]string{}
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		record, err := db.Record(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		records[m.ID] = string(record)
	}
	e, err := lcm.New(db, lcm.WithPrivacy(ingest.Privacy{Redact: privacy.Search}), lcm.WithLargeContent(500), lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := e.Unmasked(t.Context(), 0); err != nil || n != 41 {
		t.Fatalf("%d messages show secrets, %v, want 41", n, err)
	}
	if n, err := e.MaskOlder(t.Context(), nil); err != nil || n != 41 {
		t.Fatalf("%d messages were masked, %v, want 41", n, err)
	}
	if n, err := e.Unmasked(t.Context(), 0); err != nil || n != 0 {
		t.Errorf("%d messages still show secrets, %v", n, err)
	}
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		record, err := db.Record(t.Context(), m.ID)
		if err != nil || string(record) != records[m.ID] {
			t.Errorf("%s: the record changed: %v", m.ID, err)
		}
		if text, err := db.Text(t.Context(), store.ID{Message: m.ID}); err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s shows the token: %v", m.ID, err)
		}
	}
	summaries := 0
	for sum, err := range db.Summaries(t.Context(), store.SummaryQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sum.Body, token) || sum.Method == store.MethodErased {
			t.Errorf("%s: %s", sum.ID, sum.Body)
		}
		summaries++
	}
	if summaries == 0 {
		t.Error("there is no summary to look at")
	}
	found, err := db.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: token, Limit: 10, Everything: true})
	if err != nil || len(found.Hits) > 0 {
		t.Errorf("a search finds the token: %+v, %v", found.Hits, err)
	}
	p, err := check.Prove(t.Context(), db.File())
	if err != nil || len(p.Faults) > 0 {
		t.Errorf("the proof: %+v, %v", p.Faults, err)
	}
	faults, err := db.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("a check finds %+v, %v", faults, err)
	}
	if again, err := e.Session("old").Sync(t.Context(), history); err != nil || len(again.Stored) > 0 {
		t.Errorf("%d messages are stored again, %v", len(again.Stored), err)
	}
}
