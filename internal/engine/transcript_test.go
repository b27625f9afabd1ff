package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
)

// piSession is a session of pi, whose transcript lcm reads.
type piSession struct {
	*adapter
	home, id string
}

func piMessage(role, text string) map[string]any {
	return map[string]any{"role": role, "content": []any{map[string]any{"type": "text", "text": text}}, "timestamp": 1763000000000}
}

// visible returns the texts of the session's view.
func (p *piSession) visible() (texts []string) {
	p.t.Helper()
	c, err := p.db.Conversations(p.t.Context(), store.ConversationQuery{Key: "pi:" + p.id})
	if err != nil || len(c) != 1 {
		p.t.Fatalf("%d conversations, %v", len(c), err)
	}
	v, err := p.db.View(p.t.Context(), c[0].ID, store.Window{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, it := range v.Items {
		m, err := store.First(p.db.Messages(p.t.Context(), store.MessageQuery{IDs: []store.MessageID{it.Message}}))
		if err != nil {
			p.t.Fatal(err)
		}
		texts = append(texts, m.Body.PlainText())
	}
	return texts
}

// write writes the transcript, with the messages as entries e1, e2 and so on.
func (p *piSession) write(messages ...map[string]any) {
	p.t.Helper()
	text := `{"type":"session","version":3,"id":"` + p.id + `","timestamp":"2026-11-18T10:00:00.000Z","cwd":"/work"}` + "\n"
	parent := any(nil)
	for i, m := range messages {
		id := fmt.Sprint("e", i+1)
		entry, err := json.Marshal(map[string]any{"type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-18T10:00:00.000Z", "message": m})
		if err != nil {
			p.t.Fatal(err)
		}
		text, parent = text+string(entry)+"\n", id
	}
	dir := filepath.Join(p.home, ".pi", "agent", "sessions", "--work--")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "2026-11-18T10-00-00-000Z_"+p.id+".jsonl"), []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// ingest acknowledges messages before the host has written them.
func (p *piSession) ingest(messages ...map[string]any) {
	p.t.Helper()
	var list []any
	for i, m := range messages {
		list = append(list, map[string]any{"id": fmt.Sprint("e", i+1), "message": m})
	}
	p.ask("ingest", map[string]any{"session": p.id, "form": "pi", "messages": list})
}

// TestAcknowledgedTurn: a turn of a host whose transcript lcm reads is in the record before the
// host has written it, and not twice after that.
func TestAcknowledgedTurn(t *testing.T) {
	home := t.TempDir()
	p := &piSession{start(t, home, "pi"), home, "0199a1b2-0000-7000-8000-000000000001"}
	turn := []map[string]any{piMessage("user", "count the lighthouses"), piMessage("assistant", "there are nine"), piMessage("user", "and the ships?")}
	want := []string{"count the lighthouses", "there are nine", "and the ships?"}
	for range 2 {
		p.ingest(turn[:2]...)
	}
	if got := p.visible(); fmt.Sprint(got) != fmt.Sprint(want[:2]) {
		t.Fatalf("before the transcript: %q", got)
	}
	upto := map[string]any{"session": p.id, "upto": "e3"}
	if got := p.get("ingest", upto); got.Error == nil {
		t.Error("an entry that nobody has written is in the record")
	}
	p.write(turn...)
	p.ask("ingest", upto)
	for range 2 {
		p.ingest(turn...)
	}
	if got := p.visible(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("after the transcript: %q", got)
	}
}

// TestTurnAndTranscriptAtOnce: a turn is acknowledged while another process reads the host's
// records of it, and is stored once.
func TestTurnAndTranscriptAtOnce(t *testing.T) {
	home := t.TempDir()
	a := start(t, home, "pi")
	other, db, err := open(t, home)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range 40 {
		p := &piSession{a, home, fmt.Sprintf("0199a1b2-0000-7000-8000-%012d", n)}
		var turn []map[string]any
		var want []string
		for i := range 30 {
			want = append(want, fmt.Sprint("word ", i))
			turn = append(turn, piMessage([]string{"user", "assistant"}[i%2], want[i]))
		}
		var both sync.WaitGroup
		both.Go(func() { p.ingest(turn...) })
		both.Go(func() {
			p.write(turn...)
			at, err := other.Feed.Locate(t.Context(), "pi", "", p.id)
			if err == nil {
				_, err = other.Feed.CatchUp(t.Context(), at, hosts.Limits{Wait: true})
			}
			if err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if got := p.visible(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("session %d: %q", n, got)
		}
	}
}
