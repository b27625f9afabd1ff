package assemble_test

import (
	"strconv"
	"testing"

	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

// BenchmarkBuild assembles a view that nearly fills a window of 128,000
// tokens.
func BenchmarkBuild(b *testing.B) {
	h := newHistory(128_000)
	for range 8 {
		h.summary(words(2400))
	}
	for n := 0; h.in.View.Tokens < 120_000; n++ {
		h.add(llms.User(words(100))).add(round("call_"+strconv.Itoa(n), words(150))...)
		h.add(llms.Assistant(words(200)))
	}
	for name, counted := range map[string]bool{"counted": true, "counting": false} {
		b.Run(name, func(b *testing.B) {
			h.in.Counted = counted
			for b.Loop() {
				if _, err := assemble.Build(h.in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(h.in.View.Items)), "items")
		})
	}
}
