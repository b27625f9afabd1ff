// Package mapjob works on a map of [store.Maps]: it claims items, asks a model about each, checks
// the replies and settles the items, until none is left. Several processes may do so at once.
package mapjob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// ErrBudget ends the work on a map that has used its tokens.
var ErrBudget = errors.New("the map has used its budget of tokens")

// Ask asks about one item. The first message is empty; a later one says what is wrong with the
// reply before.
type Ask func(ctx context.Context, message string) (reply string, used llms.Usage, err error)

// ofItem is an error of one item, which says nothing about the model.
type ofItem struct{ error }

// OfItem marks an error of [Ask] that would come again for the same item, and for no other.
func OfItem(err error) error { return ofItem{err} }

// Unwrap returns the error itself.
func (e ofItem) Unwrap() error { return e.error }

// Job is the work on a map.
type Job struct {
	Store        store.Maps
	Conversation store.ConversationID
	Run          int64 // of Store.StartMap

	Item func(n int) Ask
	// Check returns the output of a reply, or what is wrong with it.
	Check func(reply string) (output string, err error)
	// Clean removes from a reason what may not be stored.
	Clean func(string) string

	Concurrency int
	MaxAttempts int
	ItemTimeout time.Duration
	Budget      int // of tokens, for the whole map; 0: any
	Room        int // of tokens, for this process; 0: any
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
	alone   atomic.Bool  // no other item is left than those that are held
	known   store.MapState
	counted time.Time // when known was counted

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
	state, err := w.step(ctx, nil, false)
	if err != nil {
		return state, err
	}
	if used := state.Usage.Total(); w.Room > 0 && (w.Budget == 0 || used+w.Room < w.Budget) {
		w.Budget = used + w.Room
	}
	var settle []store.MapItem
	for {
		now, err := w.step(ctx, settle, true)
		if err != nil { // other processes take the items over when their leases run out
			return state, err
		}
		state = now
		for _, item := range state.Claimed {
			w.held[item.N] = true
			go func() { w.results <- w.ask(asking, item) }()
		}
		w.alone.Store(state.Open() <= len(w.held))
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

// step writes what was settled and claims as many items as there is room for. It tries again if
// the store fails, because the replies were paid for.
func (w *worker) step(ctx context.Context, settle []store.MapItem, claim bool) (state store.MapState, err error) {
	s := store.MapStep{Owner: w.owner, Settle: settle, Hold: slices.Collect(maps.Keys(w.held)), Lease: w.lease(), Budget: w.Budget}
	if claim && ctx.Err() == nil && w.failure() == nil {
		s.Claim = w.Concurrency - len(w.held)
	}
	if now := time.Now(); now.Sub(w.counted) < time.Second {
		s.Known = &w.known
	} else {
		w.counted = now
	}
	for range 3 {
		state, err = w.Store.StepMap(context.WithoutCancel(ctx), w.Conversation, w.Run, s)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	w.known = state
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

// maxReason is how many characters of a reason are kept. It may quote the reply.
const maxReason = 500

type reply struct {
	text string
	used llms.Usage
}

// ask asks about one item until its reply is right, or it has failed.
func (w *worker) ask(parent context.Context, claimed store.MapItem) store.MapItem {
	item := store.MapItem{N: claimed.N, Status: store.MapFailed}
	ctx, cancel := context.WithTimeoutCause(parent, w.ItemTimeout, fmt.Errorf("no reply within %v", w.ItemTimeout))
	defer cancel()
	ask, message := w.Item(item.N), ""
	trouble := trouble{answered: w.answers.Load(), again: claimed.Attempts > 0}
	for misfits := 0; misfits < w.MaxAttempts; {
		reply, err := guard.Call(ctx, 0, func(ctx context.Context) (reply reply, err error) {
			reply.text, reply.used, err = ask(ctx, message)
			return reply, err
		})
		item.Attempts++
		item.Usage = item.Usage.Add(reply.used)
		if err == nil {
			w.answers.Add(1)
			if item.Output, err = w.Check(reply.text); err == nil {
				item.Status, item.Error = store.MapDone, ""
				return item
			}
			misfits++
			reason := prose.Clip(err.Error(), maxReason)
			item.Output, item.Error = "", w.Clean("the reply does not fit: "+reason)
			message = fmt.Sprintf("Your reply does not fit: %s. Reply again, with the corrected JSON and nothing else.", reason)
			continue
		}
		if parent.Err() != nil {
			item.Status, item.Error = store.MapWaits, ""
			return item
		}
		switch verdict, err := w.judge(ctx, &trouble, err); verdict {
		case modelBroken:
			return w.fail(item, err)
		case itemFailed:
			item.Error = w.Clean(prose.Clip(err.Error(), maxReason))
			return item
		}
		pause(ctx, item.Attempts, err)
	}
	return item
}

// trouble is what an item has seen of a failing model.
type trouble struct {
	last     error
	failures int   // since the model is known to have answered others
	answered int64 // how much it had answered then
	again    bool  // the item was given back before
}

// verdict says what follows from a failed call.
type verdict int

const (
	askAgain verdict = iota
	itemFailed
	modelBroken
)

// judge tells a failure of the item from one of the model. A model that answers others has a
// reason in the item; one that answers nobody is broken. Where no other item is left to tell, a
// model that answered before gets all of the item's time.
func (w *worker) judge(ctx context.Context, t *trouble, err error) (verdict, error) {
	late := ctx.Err() != nil
	if own := new(ofItem); !late && (errors.As(err, own) || llms.ClassOf(err) == llms.ClassContextLength) {
		return itemFailed, err
	}
	if late {
		err = cmp.Or(t.last, context.Cause(ctx))
	}
	t.last = err
	t.failures++
	class, answered := llms.ClassOf(err), w.answers.Load()
	enough := late || t.failures >= w.MaxAttempts
	last := w.alone.Load() && (answered > 0 || t.again)
	switch {
	case class == llms.ClassAuth, late && class == llms.ClassQuota, enough && answered == t.answered && !last:
		return modelBroken, err
	case late, enough && class == llms.ClassInvalid:
		return itemFailed, err
	case enough:
		t.failures, t.answered = 0, answered
	}
	return askAgain, err
}

// pause waits before the next attempt: longer each time, and as long as the provider asks.
func pause(ctx context.Context, attempts int, err error) {
	wait := min(100*time.Millisecond<<min(attempts, 7), 10*time.Second)
	if e, ok := errors.AsType[*llms.Error](err); ok {
		wait = max(wait, e.RetryAfter)
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
