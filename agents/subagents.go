package agents

import (
	"fmt"
	"reflect"
	"slices"
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
		case seen[name]:
			wrong = append(wrong, fmt.Errorf("two sub-agents are named %q: a model could not tell them apart", name))
		}
		seen[name] = true
		if broken, ok := s.(interface{ Err() error }); ok && broken.Err() != nil {
			wrong = append(wrong, fmt.Errorf("sub-agent %q: %w", name, broken.Err()))
		}
	}
	if cycle := findCycle(agent, subs); cycle != nil {
		wrong = append(wrong, fmt.Errorf("sub-agent cycle: %s", strings.Join(cycle, " → ")))
	}
	return wrong
}

// findCycle returns the names on the way from an agent to one below it and from
// there back to the same name, or nil. It compares names, because a model
// delegates to a name.
func findCycle(agent string, subs []core.SubAgent) []string {
	type place struct {
		way  []string // from the first agent to this one
		subs []core.SubAgent
	}
	known := visited{}
	for waiting := []place{{[]string{agent}, subs}}; len(waiting) > 0; waiting = waiting[1:] {
		at := waiting[0]
		if back := wayTo(at.way[len(at.way)-1], at.subs, visited{}); back != nil {
			return append(at.way, back...)
		}
		for _, s := range at.subs {
			if !core.IsNil(s) && known.add(s) {
				waiting = append(waiting, place{append(slices.Clone(at.way), s.Name()), subAgentsOf(s)})
			}
		}
	}
	return nil
}

// wayTo returns the names on a way from one of the agents to one of the given
// name, that one included, or nil. It goes through each agent once, however
// many share it.
func wayTo(name string, from []core.SubAgent, been visited) []string {
	for _, s := range from {
		if core.IsNil(s) || !been.add(s) {
			continue
		}
		if s.Name() == name {
			return []string{name}
		}
		if way := wayTo(name, subAgentsOf(s), been); way != nil {
			return append([]string{s.Name()}, way...)
		}
	}
	return nil
}

// subAgentsOf returns the sub-agents of an agent that tells of its own.
func subAgentsOf(s core.SubAgent) []core.SubAgent {
	if owner, ok := s.(interface{ SubAgents() []core.SubAgent }); ok {
		return owner.SubAgents()
	}
	return nil
}

// visited is a set of agents. One that cannot be compared counts as its name.
type visited map[any]bool

// add reports whether the agent is new.
func (v visited) add(s core.SubAgent) bool {
	var key any = s
	if !reflect.ValueOf(s).Comparable() {
		key = s.Name()
	}
	if v[key] {
		return false
	}
	v[key] = true
	return true
}
