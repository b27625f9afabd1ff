package proxy_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// TestCheckpoint: above the size limit the host is made to compact, and its request for
// a summary is answered from the record. Later requests carry the checkpoint.
func TestCheckpoint(t *testing.T) {
	b := newBed(t, func(c *proxy.Config) { c.CheckpointBytes = 300_000 })
	b.prompt("Read the logs. The code is TANGERINE.")
	refused := false
	for i := 0; !refused && i < 120; i++ {
		b.step(i)
		b.flush()
		status, text := b.send(b.body())
		refused = status == http.StatusBadRequest && strings.Contains(text, "prompt is too long")
		if !refused && status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	if !refused {
		t.Fatal("the host was never made to compact")
	}
	before := len(b.received)
	order := object{"role": "user", "content": []any{object{"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Your task is to create a detailed summary of the conversation so far."}}}
	whole := b.messages
	b.messages = append(whole[:len(whole):len(whole)], order, object{"role": "system", "content": "Use your tools."})
	status, text := b.send(b.body())
	if status != http.StatusOK || len(b.received) != before {
		t.Fatalf("%d, and the model was asked: %v\n%s", status, len(b.received) != before, b.log.String()[max(0, len(b.log.String())-3000):])
	}
	var summary string
	for line := range strings.Lines(text) {
		var e struct{ Delta struct{ Text string } }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
			summary += e.Delta.Text
		}
	}
	if !strings.Contains(summary, "[lcm checkpoint: everything up to msg_") || !strings.Contains(summary, "TANGERINE") ||
		strings.Count(summary, "</summary>") != 1 || len(summary) > 80_000 {
		t.Fatalf("the summary has %d bytes: %.2000s", len(summary), summary)
	}
	// The host goes on with the summary alone.
	b.write("user", object{"role": "user", "content": summary})
	b.messages = []any{object{"role": "user", "content": summary}}
	for i := 200; i < 260; i++ {
		b.step(i)
		b.flush()
		if status, text := b.send(b.body()); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		if got := len(b.got()) / 4; got > 40_000 {
			t.Errorf("step %d after the checkpoint has %d tokens", i, got)
		}
	}
	if run := b.server.Result(); run.Checkpoints != 1 {
		t.Errorf("%+v", run)
	}
}

// TestHostCompacts: a session that the host has compacted by itself stays below the
// budget too.
func TestHostCompacts(t *testing.T) {
	b := newBed(t, nil)
	b.play(80)
	const summary = "This session is being continued. The logs say that all is well."
	b.last = "" // a compaction begins a new tree
	b.write("user", object{"role": "user", "content": summary}, object{"isCompactSummary": true})
	b.messages = []any{object{"role": "user", "content": summary}}
	for i := 200; i < 280; i++ {
		b.step(i)
		b.flush()
		if status, text := b.send(b.body()); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		if got := len(b.got()) / 4; got > 40_000 {
			t.Errorf("step %d after the compaction has %d tokens", i, got)
		}
	}
	if !bytes.Contains(b.got(), []byte(summary)) {
		t.Error("the host's summary is gone")
	}
}
