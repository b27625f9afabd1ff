//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunSmallWindow: opencode with a model of 64,000 tokens, which its settings name, is
// folded without a budget of the user's own, and does not compact.
func TestRunSmallWindow(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	const window = 64_000
	wrap := []string{proxied(0)[0], "run", "--"}
	b := newRunBed(t, opencodeAgent{}, wrap, apiOptions{Window: func(string, http.Header) int { return window }})
	file := filepath.Join(b.home, ".config", "opencode", "opencode.jsonc")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	small := strings.Replace(string(settings), `"context": 200000`, `"context": 64000`, 1)
	if small == string(settings) {
		t.Fatal("the settings have no window of 200,000 tokens")
	}
	b.write(file, small)
	b.logs(30, 12_000)
	o := b.ask("Print the logs. play:read30a")
	if o.Code != 0 || o.Answer != "That were 30 logs." {
		t.Errorf("%d %q\n%s", o.Code, o.Answer, tail(o.log))
	}
	b.valid()
	if sum := b.totals(); sum.Compactions > 0 || sum.Largest > (window-4_000)*60/100 {
		t.Errorf("%d compactions, largest request %d tokens", sum.Compactions, sum.Largest)
	}
}
