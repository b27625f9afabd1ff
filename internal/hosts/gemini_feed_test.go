package hosts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
)

// A session of Gemini CLI writes messages again, replaces its history and takes prompts back.
// Every line is stored, and the view has what the program's model sees.
func TestHistoryIsReplaced(t *testing.T) {
	b := newBed(t)
	path := filepath.Join(b.home, ".gemini", "tmp", "p", "chats", "session-2026-01-02T03-04-12345678.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	content := ""
	add := func(lines ...string) hosts.Report {
		t.Helper()
		content += strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := b.feed.ByPath(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		r := b.catchUp(tr, hosts.Limits{})
		if r.New != len(lines) {
			t.Errorf("%d of %d lines are stored", r.New, len(lines))
		}
		return r
	}
	r := add(`{"sessionId":"12345678-a","projectHash":"h","startTime":"2026-01-02T03:04:05Z"}`,
		`{"id":"1","type":"user","content":"one"}`,
		`{"id":"2","type":"gemini","content":"two"}`,
		`{"id":"2","type":"gemini","content":"two","tokens":{"input":1}}`, // in one batch
		`{"id":"3","type":"user","content":"three"}`,
		`{"id":"4","type":"gemini","content":"four"}`)
	b.want(r.Conversation, "one", "two", "three", "four")
	add(`{"id":"4","type":"gemini","content":"four","tokens":{"input":2}}`)
	b.want(r.Conversation, "one", "two", "three", "four")
	add(`{"$rewindTo":"3"}`, `{"id":"5","type":"user","content":"five"}`)
	b.want(r.Conversation, "one", "two", "five")
	add(`{"$set":{"messages":[{"id":"1","type":"user","content":"one"},{"id":"2","type":"gemini","content":"two"}]}}`) // it was interrupted
	b.want(r.Conversation, "one", "two")
	at := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	snapshot := `{"$set":{"messages":[{"id":"s","type":"user","content":[{"text":"<state_snapshot>so far"}]},{"id":"k","type":"gemini","content":"ok"}],"lastUpdated":"`
	if r := add(snapshot + at.Format(time.RFC3339) + `"}}`); !r.Compacted.Equal(at) {
		t.Errorf("compacted at %v", r.Compacted)
	}
	if r := add(snapshot + `2026-01-02T05:00:00Z"}}`); !r.Compacted.Equal(at) {
		t.Errorf("a history with the same summary counts as a compaction at %v", r.Compacted)
	}
	b.want(r.Conversation, "one", "two", "<state_snapshot>so far")
}

// Two files or databases have a session with one id: the messages of both are stored, and
// repeating the import stores none of them again.
func TestOneIDInTwoPlaces(t *testing.T) {
	b := newBed(t)
	for name, said := range map[string]string{"03-04": "first", "03-09": "second", "03-10": ""} {
		path := filepath.Join(b.home, ".gemini", "tmp", "p", "chats", "session-2026-01-02T"+name+"-12345678.jsonl")
		content := `{"sessionId":"12345678-a","projectHash":"h","startTime":"2026-01-02T03:04:05Z"}` + "\n"
		if said != "" {
			content += `{"id":"` + said + `","type":"user","content":"` + said + `"}` + "\n"
		}
		b.write(path, content)
	}
	for agent, said := range map[string]string{"one": "third", "two": "fourth"} {
		path := filepath.Join(b.home, ".openclaw", "agents", agent, "agent", "openclaw-agent.sqlite")
		b.write(path, "")
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Exec(`CREATE TABLE session_nodes (session_key, current_session_id, parent_session_key, spawned_by);
			CREATE TABLE session_windows (session_id, session_key, created_at, parent_session_key, spawned_by);
			CREATE TABLE transcript_events (session_id, seq, event_json, event_zstd, created_at);
			CREATE TABLE transcript_rewrite_watermarks (session_id, generation, updated_at);
			INSERT INTO session_windows VALUES ('s', 'k', 1, NULL, NULL);
			INSERT INTO transcript_events VALUES ('s', 0, '{"type":"message","id":"` + said + `","parentId":null,"message":{"role":"user","content":"` + said + `"}}', NULL, 5)`)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []map[string]int{{"gemini": 3, "openclaw": 2}, {"gemini": 0, "openclaw": 0}} {
		sums, err := b.feed.All(t.Context(), hosts.Filter{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range sums {
			if sum.New != want[sum.Host] || len(sum.Failures) > 0 {
				t.Errorf("%d records of %s are new, want %d: %v", sum.New, sum.Host, want[sum.Host], sum.Failures)
			}
		}
	}
}

func (b *bed) write(path, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
}
