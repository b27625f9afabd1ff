// Package mapjob works on a map of [store.Maps]: it claims items, asks a model about each, checks
// the replies and settles the items, until none is left. Several processes may do so at once.
package mapjob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// ErrBudget ends the work on a map that has used its tokens.
var ErrBudget = errors.New("the map has used its budget of tokens")

// Ask asks about one item. The first message is empty; a later one says what is wrong with the
// reply before.
type Ask func(ctx context.Context, message string) (reply string, used llms.Usage, err error)

// Job is the work on a map.
type Job struct {
	Store        store.Maps
	Conversation store.ConversationID
	Run          int64 // of Store.StartMap

	Item func(n int) Ask
	// Check returns the output of a reply, or what is wrong with it.
	Check func(reply string) (output string, err error)

	Concurrency int
	MaxAttempts int
	ItemTimeout time.Duration
	Budget      int // of tokens; 0: any
	Progress    func(store.MapState)
}

// lease is how long the items of a process stay taken if it dies.
func (j Job) lease() time.Duration { return min(max(j.ItemTimeout/2, 2*time.Second), time.Minute) }

// pollOthers is how long a process without items waits for those of others.
const pollOthers = 200 * time.Millisecond

// worker is the work of one process.
type worker struct {
	Job
	owner   string
	held    map[int]bool
	results chan store.MapItem
	answers atomic.Int64 // of the model

	mu     sync.Mutex
	broken error // why no more items are claimed
}

// Do works until no item is left, the context ends, the budget is used or the model fails in a
// way that is not the item's. Then it gives its items back.
func (j Job) Do(ctx context.Context) (store.MapState, error) {
	w := &worker{Job: j, owner: rand.Text(), held: map[int]bool{}, results: make(chan store.MapItem, j.Concurrency)}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	renew := time.NewTicker(j.lease() / 3)
	defer renew.Stop()
	var settle []store.MapItem
	for {
		state, err := w.step(ctx, settle)
		if err != nil { // other processes take the items over when their leases run out
			return state, err
		}
		for _, n := range state.Claimed {
			w.held[n] = true
			go func() { w.results <- w.ask(asking, n) }()
		}
		if len(w.held) == 0 {
			if end, err := w.ended(ctx, state); end {
				return state, err
			}
			select { // another process has the items that are left
			case <-ctx.Done():
			case <-time.After(pollOthers):
			}
		}
		settle = w.wait(renew.C)
	}
}

// step writes what was settled and claims as many items as there is room for.
func (w *worker) step(ctx context.Context, settle []store.MapItem) (store.MapState, error) {
	s := store.MapStep{Owner: w.owner, Settle: settle, Hold: slices.Collect(maps.Keys(w.held)), Lease: w.lease(), Budget: w.Budget}
	if ctx.Err() == nil && w.failure() == nil {
		s.Claim = w.Concurrency - len(w.held)
	}
	state, err := w.Store.StepMap(context.WithoutCancel(ctx), w.Conversation, w.Run, s)
	if err == nil && w.Progress != nil {
		w.Progress(state)
	}
	return state, err
}

// ended reports whether a process without items is through, and why before the end.
func (w *worker) ended(ctx context.Context, s store.MapState) (bool, error) {
	switch broken := w.failure(); {
	case s.Open() == 0:
		return true, nil
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case broken != nil:
		return true, broken
	case w.Budget > 0 && s.Usage.Total() >= w.Budget:
		return true, fmt.Errorf("%w: %d of %d, %d items are left", ErrBudget, s.Usage.Total(), w.Budget, s.Open())
	}
	return false, nil
}

// wait waits for a result, or until leases are to be renewed, and returns all results there are.
func (w *worker) wait(renew <-chan time.Time) (settled []store.MapItem) {
	if len(w.held) == 0 {
		return nil
	}
	select {
	case item := <-w.results:
		settled = append(settled, item)
	case <-renew:
	}
	for {
		select {
		case item := <-w.results:
			settled = append(settled, item)
			continue
		default:
		}
		for _, item := range settled {
			delete(w.held, item.N)
		}
		return settled
	}
}

func (w *worker) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// fail has no more items claimed, and gives one back.
func (w *worker) fail(item store.MapItem, err error) store.MapItem {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = fmt.Errorf("item %d: %w", item.N, err)
	}
	item.Status, item.Error = store.MapWaits, ""
	return item
}

// ask asks about one item until its reply is right.
func (w *worker) ask(parent context.Context, n int) store.MapItem {
	item := store.MapItem{N: n, Status: store.MapFailed}
	ctx, cancel := context.WithTimeoutCause(parent, w.ItemTimeout, fmt.Errorf("no reply within %v", w.ItemTimeout))
	defer cancel()
	ask, message := w.Item(n), ""
	answered := w.answers.Load()
	var failed error // the last attempt, if the model failed
	for item.Attempts < w.MaxAttempts {
		reply, used, err := ask(ctx, message)
		item.Attempts++
		item.Usage = item.Usage.Add(used)
		if failed = err; err == nil {
			w.answers.Add(1)
			if item.Output, err = w.Check(reply); err == nil {
				item.Status, item.Error = store.MapDone, ""
				return item
			}
			item.Error = "the reply does not fit: " + err.Error()
			message = fmt.Sprintf("Your reply does not fit: %v. Reply again, with the corrected JSON and nothing else.", err)
			continue
		}
		item.Error = err.Error()
		switch class := llms.ClassOf(err); {
		case parent.Err() != nil:
			item.Status, item.Error = store.MapWaits, ""
			return item
		case ctx.Err() != nil:
			item.Error = context.Cause(ctx).Error()
			return item
		case class == llms.ClassAuth || class == llms.ClassQuota:
			return w.fail(item, err)
		case class == "" || class == llms.ClassContextLength:
			return item
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(item.Attempts) * 100 * time.Millisecond):
		}
	}
	// A model that answers nobody is broken. One that answers others has a reason in the item.
	if failed != nil && w.answers.Load() == answered {
		return w.fail(item, failed)
	}
	return item
}
