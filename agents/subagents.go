package agents

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/core"
)

// checkSubAgents reports everything that is wrong with the sub-agents of the
// agent of the given name.
func checkSubAgents(agent string, subs []core.SubAgent) []error {
	var wrong []error
	seen := map[string]bool{}
	for i, s := range subs {
		if core.IsNil(s) {
			wrong = append(wrong, fmt.Errorf("sub-agent number %d is nil", i+1))
			continue
		}
		name := s.Name()
		switch err := core.CheckName(name); {
		case strings.TrimSpace(name) == "":
			wrong = append(wrong, fmt.Errorf("sub-agent number %d has no name", i+1))
		case err != nil:
			wrong = append(wrong, fmt.Errorf("sub-agent number %d: %w", i+1, err))
		case name == agent:
			wrong = append(wrong, fmt.Errorf("sub-agent %q has the name of the agent itself", name))
		case seen[name]:
			wrong = append(wrong, fmt.Errorf("two sub-agents are named %q: a model could not tell them apart", name))
		}
		seen[name] = true
		if broken, ok := s.(interface{ Err() error }); ok && broken.Err() != nil {
			wrong = append(wrong, fmt.Errorf("sub-agent %q: %w", name, broken.Err()))
		}
	}
	return wrong
}
