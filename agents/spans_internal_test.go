package agents

import (
	"testing"

	"github.com/lossless-context/lcm/llms"
)

type namedModel struct {
	llms.Model
	name string
}

func (m namedModel) Name() string { return m.name }

// A span names the provider also where the settings name the model alone.
func TestProviderOfAModel(t *testing.T) {
	for name, want := range map[string][2]string{
		"openai/gpt-5": {"openai", "gpt-5"}, "gpt-5-mini": {"openai", "gpt-5-mini"}, "claude-x": {"anthropic", "claude-x"}, "local": {"local", "local"},
	} {
		if provider, model := modelName(namedModel{name: name}); provider != want[0] || model != want[1] {
			t.Errorf("%s: %s, %s", name, provider, model)
		}
	}
}
