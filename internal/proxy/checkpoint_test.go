package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// order is the message with which the host asks for a summary, behind a reminder of its own.
var order = object{"role": "user", "content": []any{object{"type": "text", "text": "<system-reminder>Today is Monday.</system-reminder>"}, object{"type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Your task is to create a detailed summary of the conversation so far."}}}

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
		if refused {
			checkRefusal(t, text)
		}
		if !refused && status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	if !refused {
		t.Fatal("the host was never made to compact")
	}
	before := len(b.received)
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

// checkRefusal: the first number of a refusal is the larger one, by less than a step.
func checkRefusal(t *testing.T, text string) {
	t.Helper()
	var tokens, maximum int
	var answer struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(answer.Error.Message, "prompt is too long: %d tokens > %d maximum", &tokens, &maximum); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if tokens <= maximum || tokens-maximum > 2000 {
		t.Errorf("%d tokens are refused because of %d", tokens, maximum)
	}
}

// TestCheckpointBegin: the part before the first answer does not count for the limit,
// because a checkpoint would not make it smaller.
func TestCheckpointBegin(t *testing.T) {
	b := newBed(t, func(c *proxy.Config) { c.CheckpointBytes = 300_000 })
	b.prompt(strings.Repeat("The code is TANGERINE. ", 14_000))
	for i := range 40 {
		b.step(i)
		b.flush()
		if status, text := b.send(b.body()); status != http.StatusOK {
			t.Fatalf("step %d: %d %s", i, status, text)
		}
	}
	if run := b.server.Result(); run.Changed == 0 {
		t.Errorf("no request was folded: %+v", run)
	}
}

// TestCheckpointOnce: a host whose requests stay large after it has asked for a summary
// is not refused again. One whose requests became small and grew is.
func TestCheckpointOnce(t *testing.T) {
	b := newBed(t, func(c *proxy.Config) { c.CheckpointBytes = 200_000 })
	b.prompt("Read the logs.")
	n := 0
	refused := func(steps int) bool {
		t.Helper()
		for range steps {
			b.step(n)
			n++
			b.flush()
			status, text := b.send(b.body())
			if status == http.StatusBadRequest && strings.Contains(text, "prompt is too long") {
				return true
			}
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
		}
		return false
	}
	summarize := func() {
		t.Helper()
		whole := b.messages
		b.messages = append(whole[:len(whole):len(whole)], order)
		if status, text := b.send(b.body()); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		b.messages = whole
	}
	if !refused(80) {
		t.Fatal("the host was never made to compact")
	}
	summarize()
	if refused(5) {
		t.Fatal("the host was refused again, although its summary did not help")
	}
	summarize()
	b.messages = append(b.messages[:1:1], b.messages[len(b.messages)-4:]...)
	if refused(5) {
		t.Fatal("a small request was refused")
	}
	if !refused(80) {
		t.Fatal("the host was not made to compact a second time")
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
