package compact

import "context"

// ready is the material of a fold that was read before the run had its lease.
type ready struct {
	fold Fold
	*material
}

// readAhead reads the material of the first fold while the lease is taken and
// calls are booked, which is about as much work. The function that it returns
// waits for it; there may be nothing, and then the fold reads for itself.
//
// What is read without the lease may be erased before the run has it. Such a
// fold could not be written, but nor may a model be shown it: where the view is
// read again ([run.refresh]), this is thrown away. Of a fork that does not tell
// enough: the text of its summaries may be gone and nothing else.
func (n *run) readAhead(ctx context.Context, first Step) (wait func() *ready) {
	if first.Fold == nil || len(first.Stubs) > 0 || n.conv.ForkedFrom != 0 {
		return func() *ready { return nil }
	}
	r := n.reading(*first.Fold)
	done := make(chan *ready, 1)
	go func() {
		var found *ready
		defer func() {
			_ = recover() // what fails here fails in the fold again
			done <- found
		}()
		if m, err := n.load(ctx, r); err == nil {
			found = &ready{r.fold, m}
		}
	}()
	return func() *ready { return <-done }
}

// gather returns what a fold is made from.
func (n *run) gather(ctx context.Context, f Fold) (*material, error) {
	r := n.ready
	if n.ready = nil; r != nil && r.fold == f {
		return r.material, nil
	}
	return n.load(ctx, n.reading(f))
}
