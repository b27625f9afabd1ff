package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// prose is a text of about a number of tokens. It ends with a line, as what is pasted does.
func prose(tokens int) string {
	words := strings.Fields("harbour gull rope anchor tide lamp sail crew dock storm")
	var b strings.Builder
	for i := 0; b.Len() < tokens*7/2; i++ {
		fmt.Fprintf(&b, "%s %s %d\n", words[i%10], words[i/10%10], i)
	}
	return b.String()
}

// TestLargeMessage: a message that takes most of the budget, or more, gives way as soon as there
// is something newer. Only while it is the newest may a request be above the budget.
func TestLargeMessage(t *testing.T) {
	say := func(l *loop, role, text string) {
		l.history = append(l.history, map[string]any{"role": role, "content": text})
	}
	call := func(l *loop, result string) {
		id := fmt.Sprint("call", len(l.history))
		one := map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "sh", "arguments": "{}"}}
		l.history = append(l.history, map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{one}}, map[string]any{"role": "tool", "tool_call_id": id, "content": result})
	}
	turn := func(l *loop, text string) { say(l, "assistant", "Done: "+text); say(l, "user", "Go on: "+text) }
	for name, c := range map[string]struct {
		play func(l *loop, large string)
		next func(l *loop, text string)
	}{
		"result":            {func(l *loop, large string) { say(l, "user", "Look."); call(l, large) }, turn},
		"result, same turn": {func(l *loop, large string) { say(l, "user", "Look."); call(l, large) }, call},
		"prompt": {func(l *loop, large string) {
			say(l, "user", "Look.")
			say(l, "assistant", "Where?")
			say(l, "user", large)
		}, turn},
		"the very first prompt": {func(l *loop, large string) { say(l, "user", large) }, turn},
	} {
		for _, size := range []struct{ budget, tokens, fill int }{
			{20_000, 16_000, 600}, {20_000, 19_000, 3}, {20_000, 30_000, 3}, {20_000, 40_000, 600}, {100_000, 90_000, 1500},
		} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
				c.play(l, prose(size.tokens))
				l.ingest()
				if _, got := l.assemble(size.budget); got.Over != "" != (size.tokens > size.budget) || got.Over == proxy.NotFolded {
					t.Errorf("while it is the newest: %d tokens: %s", got.Tokens, got.Over)
				}
				for i := range 15 {
					c.next(l, fmt.Sprint(i, " ", prose(size.fill)))
					l.ingest()
					sent, got := l.assemble(size.budget)
					valid(t, sent)
					if got.Tokens > size.budget || got.Over != "" {
						t.Errorf("%d messages later: %d tokens: %s", 2*(i+1), got.Tokens, got.Over)
					}
				}
			})
		}
	}
}
