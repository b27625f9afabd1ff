package cli

import (
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// TestBudgets: a budget may depend on the model and on the session's project.
func TestBudgets(t *testing.T) {
	rec := &openRecord{cfg: &config.Config{}}
	rec.cfg.Proxy = config.Proxy{Budget: 90_000, Budgets: []string{"*haiku* = 40000", "/src/big*=110000", "github.com/me/*=50000"}}
	here := t.TempDir()
	of, err := budgets(rec, 0, here)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		model   string
		project store.Project
		want    int
	}{
		"neither":             {"claude-x", store.Project{Root: "/src/other"}, 90_000},
		"the model":           {"claude-haiku-4", store.Project{Root: "/src/big"}, 40_000},
		"the directory":       {"claude-x", store.Project{Root: "/src/bigger"}, 110_000},
		"the origin":          {"claude-x", store.Project{Root: "/tmp/a", Origin: "github.com/me/a"}, 50_000},
		"no project is known": {"claude-x", store.Project{}, 90_000},
	} {
		if got := of(c.model, 200_000, c.project); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	rec.cfg.Proxy.Budgets = []string{here + "*=60000"}
	if of, err = budgets(rec, 0, here); err != nil {
		t.Fatal(err)
	}
	if got := of("claude-x", 200_000, store.Project{}); got != 60_000 {
		t.Errorf("%d for the directory of the proxy", got)
	}
	if of, err = budgets(rec, 70_000, here); err != nil || of("claude-x", 200_000, store.Project{Root: here}) != 70_000 {
		t.Errorf("the flag does not go first: %v", err)
	}
}
