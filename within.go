package lcm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/record/scope"
)

// Within restricts an engine to the given projects. For its sessions, their tools,
// [Engine.Recall], [Engine.Ask] and [Engine.Store], nothing else exists in the
// store: ids of other projects are not found, searches of all conversations stay
// inside, and nothing outside can be written or erased.
//
// Programs with several tenants give each tenant an engine of its own on the one
// store, and a project of its own:
//
//	acme := lcm.Project{Root: "tenants/acme"}
//	engine, err := lcm.New(db, lcm.Within(acme))
//	session := engine.Session("acme/support/42") // in the project acme
//
// A session of an engine with one project is in that project unless [InProject]
// names another one; with several projects, InProject is required. Session keys
// are shared by all engines of a store: begin them with the tenant's name.
func Within(projects ...Project) Option {
	return func(s *settings) error {
		if len(projects) == 0 {
			return errors.New("within: name at least one project")
		}
		for _, p := range projects {
			if p == (Project{}) {
				return errors.New("within: a project needs an origin or a root")
			}
		}
		s.within = projects
		return nil
	}
}

// narrow restricts a store to projects.
func narrow(s Store, to []Project) Store {
	names := make([]string, len(to))
	for i, p := range to {
		names[i] = fmt.Sprintf("%q %q", p.Origin, p.Root)
	}
	return scope.Narrow(s, scope.Scope{Name: strings.Join(names, ","), Covers: scope.Projects(to...), Append: true, Erase: true})
}
