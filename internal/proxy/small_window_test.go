package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// TestSmallWindow: where instructions and tools take most of a small window, the messages still
// have room, and the beginning of the requests does not change every few steps.
func TestSmallWindow(t *testing.T) {
	for size, most := range map[int]int{2_000: 3, 4_000: 5, 8_000: 9} { // bytes of a step, changes of the beginning
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := newBed(t, func(c *proxy.Config) { c.Budget, c.Windows = nil, map[string]int{"": 64_000} })
			b.window = 64_000 * 85 / 100 // the rest is for the answer
			b.tools = []any{object{"name": "Bash", "description": strings.Repeat("Run it. ", 28_000*4/8)}}
			b.prompt("Read the logs.")
			for i := range 64 {
				b.result(i, strings.Repeat(fmt.Sprintf("line %d of the log says that all is well. ", i), size/40))
				b.flush()
				if status, text := b.send(b.body()); status != 200 {
					t.Fatalf("step %d: %d %s", i, status, text)
				}
			}
			if run := b.server.Result(); run.Folds > most || run.OverBudget() > 0 {
				t.Errorf("other summaries %d times: %+v", run.Folds, run)
			}
		})
	}
}
