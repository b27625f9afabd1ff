package proxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// TestLeftOut: after an interrupted turn the host no longer sends some of the messages.
// The requests stay within the budget, and name them.
func TestLeftOut(t *testing.T) {
	b := newBed(t, nil)
	b.play(150)
	for i := len(b.messages) - 20; i > 2; i -= 12 {
		b.messages = slices.Delete(b.messages, i-i%2+1, i-i%2+3) // a call and its result
	}
	b.prompt("Go on.")
	for i := range 30 {
		b.step(200 + i)
		b.flush()
		b.next()
		if !bytes.Contains(b.got(), []byte("[The agent has left out ")) {
			t.Fatal("the messages that are left out are not named")
		}
	}
}

// TestStuck: a request that stays above the budget although all of its session is folded
// makes the host compact at once, and once only if that does not help.
func TestStuck(t *testing.T) {
	b := newBed(t, func(c *proxy.Config) { c.CheckpointBytes = proxy.CheckpointBytes })
	b.prompt("Read the logs. The code is TANGERINE.")
	unknown := func(n int) { // an answer that lcm cannot fold
		call := object{"role": "assistant", "content": []any{object{"type": "text", "text": fmt.Sprint("Step ", n)}, object{"type": "surprise", "data": strings.Repeat("x", 4000)}}}
		b.write("assistant", object{"role": "assistant", "content": []any{object{"type": "text", "text": fmt.Sprint("Step ", n)}}})
		b.messages = append(b.messages, call)
		b.prompt(fmt.Sprint("Go on with ", n))
	}
	above, n := 0, 0
	refused := func(steps int) bool {
		for range steps {
			unknown(n)
			n++
			b.flush()
			before := len(b.received)
			status, text := b.send(b.body())
			if status == http.StatusBadRequest && strings.Contains(text, "prompt is too long") {
				return true
			}
			if len(b.received) > before && len(b.got())/4 > 40_000 {
				above++
			}
		}
		return false
	}
	if !refused(80) || above > 2 {
		t.Fatalf("the host was not made to compact, and %d requests were above the budget", above)
	}
	whole := b.messages
	b.messages = append(whole[:len(whole):len(whole)], order)
	if status, text := b.send(b.body()); status != http.StatusOK || !strings.Contains(text, "lcm checkpoint") {
		t.Fatalf("%d %.300s", status, text)
	}
	b.messages = whole
	if refused(5) {
		t.Error("the host was made to compact again, although that did not help")
	}
}
