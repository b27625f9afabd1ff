package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
)

// TestWindow: the budget follows the window of the model, which the host's settings name,
// or which the API tells when it refuses a request.
func TestWindow(t *testing.T) {
	for name, settings := range map[string]map[string]int{"learnt": nil, "settings": {"claude-test": 64_000}, "of all models": {"": 64_000}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, func(c *proxy.Config) { c.Budget, c.Windows = nil, settings })
			b.window = 64_000
			b.prompt("Read the logs. The code is TANGERINE.")
			refused := 0
			for i := range 150 {
				b.step(i)
				b.flush()
				status, text := b.send(b.body())
				if status == http.StatusBadRequest {
					refused++
					if !strings.Contains(text, "> 64000 maximum") {
						t.Fatalf("the host does not get the error: %s", text)
					}
				}
				if got := len(b.got()) / 4; status == http.StatusOK && (refused > 0 || settings != nil) && got > 38_400 {
					t.Errorf("step %d has %d tokens", i, got)
				}
			}
			if settings != nil && refused > 0 || refused > 1 {
				t.Errorf("%d requests were refused", refused)
			}
		})
	}
}
