package scope_test

import (
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A store behind a scope that covers every project keeps the contract.
func TestContract(t *testing.T) {
	open := func(covers func(store.Project) bool) storetest.Open {
		return func(t *testing.T, clock func() time.Time) store.Store {
			db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			return scope.Narrow(db, scope.Scope{Name: "test", Covers: covers, Append: true, Erase: true})
		}
	}
	t.Run("all", func(t *testing.T) { storetest.Run(t, open(nil)) })
	t.Run("each", func(t *testing.T) {
		// A narrow scope takes no id of a payload from another transaction, its
		// erasures look at no text but the erased messages, it has no blocks of
		// vectors, and its tokens are no tokens of the store.
		storetest.RunExcept(t, open(func(store.Project) bool { return true }), "payloads", "search", "erase payloads", "erase quotes", "erase quotes in every space", "blocks of vectors",
			"an erasure on a team server holds in its project")
	})
}

func TestProjects(t *testing.T) {
	covers := scope.Projects(store.Project{Origin: "github.com/acme/app", Root: "/src/app"}, store.Project{Root: "/notes"})
	for _, c := range []struct {
		p    store.Project
		want bool
	}{
		{store.Project{Origin: "github.com/acme/app", Root: "/elsewhere"}, true},
		{store.Project{Origin: "github.com/evil/app", Root: "/src/app"}, false}, // another repository in a directory of the same name
		{store.Project{Root: "/src/app"}, true},
		{store.Project{Origin: "github.com/acme/notes", Root: "/notes"}, true},
		{store.Project{Root: "/src/app/below"}, false},
		{store.Project{}, false},
	} {
		if got := covers(c.p); got != c.want {
			t.Errorf("%+v: %t", c.p, got)
		}
	}
}
