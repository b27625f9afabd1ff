package cli

import (
	"strings"
	"testing"
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
