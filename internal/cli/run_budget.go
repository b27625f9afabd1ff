package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

// budgets returns the budget by model and project: of the flag, of the first pattern that
// fits, of the settings, or the default. Until the project of a session is known, that of
// the directory counts.
func budgets(rec *openRecord, flag int, dir string) (func(model string, window int, of store.Project) int, error) {
	if flag != 0 {
		return func(string, int, store.Project) int { return flag }, nil
	}
	here, err := project.Of(dir)
	if err != nil {
		here.Root = dir
	}
	type rule struct {
		pattern string
		tokens  int
	}
	tooSmall := func(given string) error {
		return failed(exitConfig, "agents send up to 20000 tokens before the first message: use at least "+strconv.Itoa(minProxyBudget), "%s is not a budget", given)
	}
	if n := rec.cfg.Proxy.Budget; n != 0 && n < minProxyBudget {
		return nil, tooSmall(fmt.Sprintf("proxy.budget: %d", n))
	}
	var rules []rule
	for _, text := range rec.cfg.Proxy.Budgets {
		pattern, number, ok := strings.Cut(text, "=")
		tokens, err := strconv.Atoi(strings.TrimSpace(number))
		switch {
		case !ok || err != nil:
			return nil, failed(exitConfig, "write PATTERN=TOKENS", "proxy.budgets: %q is not a budget", text)
		case tokens < minProxyBudget:
			return nil, tooSmall(fmt.Sprintf("proxy.budgets: %q", text))
		}
		rules = append(rules, rule{strings.TrimSpace(pattern), tokens})
	}
	return func(model string, window int, of store.Project) int {
		if of == (store.Project{}) {
			of = here
		}
		for _, r := range rules {
			for _, name := range []string{model, of.Root, of.Origin} {
				if name != "" && wildcard(r.pattern, name) {
					return r.tokens
				}
			}
		}
		if rec.cfg.Proxy.Budget != 0 {
			return rec.cfg.Proxy.Budget
		}
		return proxy.DefaultBudget(model, window, of)
	}, nil
}

// wildcard reports whether a pattern, in which * stands for any characters, fits a
// name.
func wildcard(pattern, name string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}
