package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each run opens the database anew, as a new process does.
func TestSupportRemembersEarlierSessions(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("OPENAI_API_KEY", "")
	path := filepath.Join(t.TempDir(), "support.db")
	const said, question = "Where is order 4711? Leave it with my neighbour Mr Lund, please.", "Which neighbour takes my parcels?"
	for _, test := range []struct{ customer, says, call, answer string }{
		{"ann", said, "order_status {", "The tool says: Order 4711 arrives on Thursday."},
		{"ann", question, "lcm_grep {", "You said: " + said},
		{"bob", question, "lcm_grep {", `The tool says: {"notInRecord":["neighbour","parcels"],"matches":[]`},
		{"bob", "Where is order 12?", "order_status {", "The tool says: Error: there is no order 12"},
	} {
		var out strings.Builder
		if err := run(t.Context(), path, []string{test.customer, test.says}, &out); err != nil {
			t.Fatal(err)
		}
		call, answer, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(call, "→ "+test.call) || !strings.HasPrefix(answer, test.answer) {
			t.Errorf("to %s's %q it prints:\n%s", test.customer, test.says, out.String())
		}
	}
}
