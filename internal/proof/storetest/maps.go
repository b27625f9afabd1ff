package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// step makes a step that must succeed.
func (f *fixture) step(t *testing.T, id store.ConversationID, run int64, s store.MapStep) store.MapState {
	t.Helper()
	s.Lease = time.Minute
	return must(f.StepMap(t.Context(), id, run, s))(t)
}

// numbers lists the items that a step claimed.
func numbers(s store.MapState) string {
	var list []int
	for _, item := range s.Claimed {
		list = append(list, item.N)
	}
	slices.Sort(list)
	return fmt.Sprint(list)
}

func testMaps(t *testing.T, f *fixture) {
	ctx := t.Context()
	c := f.conversation(t, "maps").ID
	job := store.NewMap{Key: "one", Job: sha256.Sum256([]byte("ask")), Items: 5}
	run := must(f.StartMap(ctx, c, job))(t)
	want(t, "joined", must(f.StartMap(ctx, c, job))(t), run)
	other := job
	other.Job[0]++
	wantErr(t, "another job", second(f.StartMap(ctx, c, other)), store.ErrConflict)

	want(t, "claimed", numbers(f.step(t, c, run, store.MapStep{Owner: "a", Claim: 2})), "[0 1]")
	want(t, "claimed by another", numbers(f.step(t, c, run, store.MapStep{Owner: "b", Claim: 9})), "[2 3 4]")
	done := store.MapItem{N: 0, Status: store.MapDone, Attempts: 2, Output: `{"a":1}`, Usage: llms.Usage{InputTokens: 10, OutputTokens: 5}}
	s := f.step(t, c, run, store.MapStep{Owner: "a", Settle: []store.MapItem{done, {N: 2, Status: store.MapDone, Output: "not mine", Attempts: 1}}})
	want(t, "only one's own items are settled", [3]int{s.Done, s.Open(), s.Attempts}, [3]int{1, 4, 3})

	f.now = f.now.Add(50 * time.Second)
	f.step(t, c, run, store.MapStep{Owner: "b", Hold: []int{2, 3}})
	f.now = f.now.Add(20 * time.Second) // the leases of 1 and 4 have run out
	want(t, "claimed again", numbers(f.step(t, c, run, store.MapStep{Owner: "c", Claim: 9})), "[1 4]")
	s = f.step(t, c, run, store.MapStep{Owner: "a", Settle: []store.MapItem{{N: 1, Status: store.MapDone, Output: "late"}}})
	want(t, "a late result", s.Done, 1)
	s = f.step(t, c, run, store.MapStep{Owner: "b", Budget: 15, Claim: 1,
		Settle: []store.MapItem{{N: 2, Status: store.MapFailed, Error: "no"}, {N: 3, Status: store.MapWaits, Attempts: 2}}})
	want(t, "claims above the budget", len(s.Claimed), 0)
	s = f.step(t, c, run, store.MapStep{Owner: "b", Budget: 16, Claim: 9})
	want(t, "given back and claimed", fmt.Sprint(numbers(s), s.Claimed[0].Attempts, s.Done, s.Failed, s.Usage.Total()), "[3]2 1 1 15")

	var items []store.MapItem
	for i, err := range f.MapItems(ctx, c, run) {
		want(t, "item", err, nil)
		items = append(items, i)
	}
	want(t, "items", fmt.Sprint(items), fmt.Sprint([]store.MapItem{done, {N: 2, Status: store.MapFailed, Attempts: 1, Error: "no"}}))
	want(t, "end", f.EndMap(ctx, c, "one"), nil)
	wantErr(t, "a step after the end", second(f.StepMap(ctx, c, run, store.MapStep{Owner: "b"})), store.ErrNotFound)
	if again := must(f.StartMap(ctx, c, other))(t); again == run {
		t.Error("a new map has the number of an old one")
	}
}

// testMapsConcurrent claims every item once, whoever asks.
func testMapsConcurrent(t *testing.T, f *fixture) {
	c := f.conversation(t, "maps").ID
	const items, owners = 300, 6
	run := must(f.StartMap(t.Context(), c, store.NewMap{Key: "k", Items: items}))(t)
	var mu sync.Mutex
	seen := map[int]int{}
	var wg sync.WaitGroup
	for o := range owners {
		wg.Go(func() {
			s := store.MapStep{Owner: fmt.Sprint(o), Claim: 7, Lease: time.Hour}
			for {
				state, err := f.StepMap(t.Context(), c, run, s)
				if err != nil || len(state.Claimed) == 0 {
					want(t, "step", err, nil)
					return
				}
				s.Settle = nil
				mu.Lock()
				for _, item := range state.Claimed {
					seen[item.N]++
					s.Settle = append(s.Settle, store.MapItem{N: item.N, Status: store.MapDone, Attempts: 1, Output: fmt.Sprint(item.N)})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n, times := range seen {
		if times != 1 {
			t.Errorf("item %d was claimed %d times", n, times)
		}
	}
	s := f.step(t, c, run, store.MapStep{Owner: "x"})
	want(t, "claimed, done and asked", [3]int{len(seen), s.Done, s.Attempts}, [3]int{items, items, items})
}

func testEraseMaps(t *testing.T, f *fixture) {
	ctx := t.Context()
	boss := f.conversation(t, "boss").ID
	child := must(f.Open(ctx, store.NewConversation{Key: "boss/child", Parent: boss}))(t).ID
	child = must(f.Open(ctx, store.NewConversation{Key: "boss/child/child", Parent: child}))(t).ID
	apart := f.conversation(t, "apart").ID
	runs := map[store.ConversationID]int64{}
	for _, id := range []store.ConversationID{boss, apart} {
		runs[id] = must(f.StartMap(ctx, id, store.NewMap{Key: "k", Items: 1}))(t)
		f.step(t, id, runs[id], store.MapStep{Owner: "a", Claim: 1})
		f.step(t, id, runs[id], store.MapStep{Owner: "a", Settle: []store.MapItem{{Status: store.MapDone, Output: "the secret"}}})
	}
	said := f.append(t, child, row(llms.RoleUser, "the secret"))
	must(f.Erase(ctx, store.Erasure{Messages: []store.MessageID{said[0].ID}}))(t)
	wantErr(t, "the map of the parent", second(f.StepMap(ctx, boss, runs[boss], store.MapStep{Owner: "a"})), store.ErrNotFound)
	want(t, "a map elsewhere", f.step(t, apart, runs[apart], store.MapStep{Owner: "a"}).Done, 1)
	must(f.Erase(ctx, store.Erasure{Conversations: []store.ConversationID{apart}}))(t)
	wantErr(t, "the map of an erased conversation", second(f.StepMap(ctx, apart, runs[apart], store.MapStep{Owner: "a"})), store.ErrNotFound)
}
