package lcm

import (
	"fmt"
	"sync"
)

// MinBudget is the smallest budget that holds a summary and a few messages.
const MinBudget = 1_000

func tooSmall(budget int) error {
	return fmt.Errorf("a budget of %d tokens is too small: use at least %d", budget, MinBudget)
}

// maxBudgets is how many sessions' budgets are remembered, at least.
const maxBudgets = 4096

// budgets has the budget that each session was last used with, by its key. It
// applies to calls that name none, and to folding in the background. Sessions that
// were used long ago are forgotten and have the usual budget again, so that an engine
// may serve any number of them.
type budgets struct {
	usual int // WithBudget

	mu   sync.Mutex
	last map[string]int
	old  map[string]int // last, before it was full
}

// lastOf returns the last budget of a session, else the usual one.
func (b *budgets) lastOf(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.last[key]; ok {
		return n
	}
	if n, ok := b.old[key]; ok {
		b.remember(key, n)
		return n
	}
	return b.usual
}

// of returns the budget for a call that names one, or 0 for the last one.
func (b *budgets) of(key string, named int) (int, error) {
	switch {
	case named == 0:
		return b.lastOf(key), nil
	case named < MinBudget:
		return 0, tooSmall(named)
	}
	return named, nil
}

// use is of, and remembers the budget that the call names.
func (b *budgets) use(key string, named int) (int, error) {
	budget, err := b.of(key, named)
	if err == nil && named != 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.remember(key, named)
	}
	return budget, err
}

// remember sets the last budget of a session. The caller holds mu.
func (b *budgets) remember(key string, budget int) {
	if _, known := b.last[key]; !known && len(b.last) >= maxBudgets {
		b.last, b.old = nil, b.last
	}
	if b.last == nil {
		b.last = map[string]int{}
	}
	b.last[key] = budget
}
