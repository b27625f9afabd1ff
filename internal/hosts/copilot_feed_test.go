package hosts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
)

// event makes a line of a session of Copilot CLI.
func event(kind, id, parent, text string) string {
	return fmt.Sprintf(`{"type":%q,"data":{"content":%q,"copilotVersion":"1"},"id":%q,"timestamp":"2026-01-02T03:04:05Z","parentId":%q}`+"\n", kind, text, id, parent)
}

func (b *bed) copilot(lines ...string) hosts.Transcript {
	b.Helper()
	path := filepath.Join(b.home, ".copilot", "session-state", "s", "events.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		b.Fatal(err)
	}
	t, err := b.feed.ByPath(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// A session is stored with its first prompt, after which it is called. When the user goes
// back, the program removes events, and the record keeps them as a branch.
func TestEventsAreRemoved(t *testing.T) {
	b := newBed(t)
	lines := []string{event("session.start", "0", "", ""), event("user.message", "1", "0", "one"), event("assistant.message", "2", "1", "two"),
		event("user.message", "3", "2", "three"), event("assistant.message", "4", "3", "four, which is longer than what comes in its place")}
	if r := b.catchUp(b.copilot(lines[0]), hosts.Limits{}); r.Conversation != 0 {
		t.Errorf("stored without a prompt: %+v", r)
	}
	r := b.catchUp(b.copilot(lines...), hosts.Limits{})
	b.want(r.Conversation, "one", "two", "three", "four, which is longer than what comes in its place")
	if c, err := b.db.Conversation(t.Context(), r.Conversation); err != nil || c.Title != "one" {
		t.Errorf("%q, %v", c.Title, err)
	}
	lines = append(lines[:3:3], event("user.message", "5", "2", "another three"))
	b.catchUp(b.copilot(lines...), hosts.Limits{})
	b.want(r.Conversation, "one", "two", "another three")
	lines = append(lines, event("assistant.message", "6", "5", "another four"), event("user.message", "7", "6", "five"))
	if r := b.catchUp(b.copilot(lines...), hosts.Limits{}); r.New != 2 {
		t.Errorf("%+v", r)
	}
	b.want(r.Conversation, "one", "two", "another three", "another four", "five")
}
