package search

import (
	"errors"
	"sync"
	"sync/atomic"
)

// partDocs is how many candidates a goroutine reads at a time: enough for one
// pass over the rows, few enough to share the work evenly.
const partDocs = 512

// inParallel works on parts 0 to parts-1 with up to readers goroutines, the
// caller's among them. It calls worker once for each goroutine, before any of
// them starts. A goroutine stops at its first error.
func inParallel(parts, readers int, worker func() func(part int) error) error {
	errs := make([]error, parts)
	var next atomic.Int64
	run := func(work func(int) error) {
		for i := int(next.Add(1)) - 1; i < parts; i = int(next.Add(1)) - 1 {
			if errs[i] = work(i); errs[i] != nil {
				return
			}
		}
	}
	var workers []func(int) error
	for range max(1, min(readers, parts)) {
		workers = append(workers, worker())
	}
	var wg sync.WaitGroup
	for _, work := range workers[1:] {
		wg.Go(func() { run(work) })
	}
	run(workers[0])
	wg.Wait()
	return errors.Join(errs...)
}
