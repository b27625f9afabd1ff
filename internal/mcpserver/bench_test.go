package mcpserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// BenchmarkGrep measures a search in 100,000 messages as an agent makes it,
// over pipes, beside the same search without a server.
func BenchmarkGrep(b *testing.B) {
	r := newRecord(b)
	const total, batch = 100_000, 5_000
	for from := 0; from < total; from += batch {
		said := make([]llms.Message, batch)
		for i := range said {
			n := from + i
			said[i] = user("step %d: the %s of module m%d failed with code e%d after %d ms", n, []string{"build", "test", "deployment", "migration"}[n%4], n%997, n*7919%100_003, n%5000)
		}
		r.say(fmt.Sprintf("claude:s%d", from/20_000), r.dir, time.Hour, said...)
	}
	c := r.connect(r.serve(r.config()), clientOptions{})
	for _, q := range []struct{ name, mode, pattern string }{
		{"regex", "regex", `code e%d after`},
		{"full_text", "full_text", "why did module m%d fail?"},
	} {
		pattern := func(n int) string { return fmt.Sprintf(q.pattern, n*31%997) }
		b.Run(q.name+"/direct", func(b *testing.B) {
			for n := range b.N {
				if _, err := r.engine.Grep(b.Context(), recall.GrepRequest{
					Pattern: pattern(n), Mode: store.Mode(q.mode), Kinds: recall.InBoth, Where: recall.Where{AllConversations: true}, Limit: 20,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(q.name+"/stdio", func(b *testing.B) {
			for n := range b.N {
				got, err := c.CallTool(b.Context(), callOf("lcm_grep", args{"pattern": pattern(n), "mode": q.mode, "allConversations": true, "limit": 20}))
				if err != nil || got.IsError {
					b.Fatalf("%v %s", err, text(got))
				}
			}
		})
	}
}
