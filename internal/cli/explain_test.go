package cli

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/toolname"
)

func TestExplainableNamesAllTools(t *testing.T) {
	var names []string
	for _, tool := range ownTools() {
		names = append(names, tool.GetName())
	}
	if want := strings.Join(names, ", "); explainable != want {
		t.Errorf("explainable is %q, want %q", explainable, want)
	}
}

// Errors and notes name commands, not the tools of agents.
func TestEveryToolHasItsWordOnTheCommandLine(t *testing.T) {
	for _, name := range toolname.Agent() {
		if said := askWords.Replace(recallWords.Replace(name)); strings.Contains(said, "lcm_") {
			t.Errorf("%s has no entry in recallWords (recall_scope.go) or askWords (ask.go): %s", name, said)
		}
	}
}
