package assemble

import (
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// maxReach is how many items after its call a result still binds it. Hosts
// write a result within a few messages.
const maxReach = 512

// Reaches returns the distances, in items, within which a result binds its
// call, widest first. The widest holds wherever it can. The others are for
// when it holds everything together: calls that overlap without end would
// otherwise be one piece that neither fits a window nor can be folded.
func Reaches() [4]int { return [...]int{maxReach, 64, 8, 1} }

// gapReach is how many items next to the skipped part of a view may belong to
// a pair whose other half was skipped.
const gapReach = 64

// Cuts says where a view may be parted: cuts[i] reports whether it may be
// parted before item i, and the last of the len(v.Items)+1 is true. A cut is
// illegal if a tool call lies before it and the result that answers it after
// it. A result answers the newest call of its id that has no result yet. A
// call that was never answered forbids nothing, except next to a gap, where
// the answer may be among the skipped items.
func Cuts(v store.View) []bool { return CutsWithin(v, maxReach) }

// CutsWithin is Cuts for pairs that are at most reach items apart.
func CutsWithin(v store.View, reach int) []bool {
	depth := make([]int, len(v.Items)+2) // how many pairs begin less end at an index
	gap := len(v.Items)
	if v.Skipped > 0 {
		gap = v.Gap
	}
	open := pairUp(v.Items[:gap], 0, reach, depth, nil)
	if gap < len(v.Items) {
		for _, from := range open {
			if gap-from <= min(gapReach, reach) {
				hold(depth, from+1, gap+1)
			}
		}
		pairUp(v.Items[gap:], gap, reach, depth, func(i int) {
			if i-gap < min(gapReach, reach) {
				hold(depth, gap, i+1)
			}
		})
	}
	cuts := make([]bool, len(v.Items)+1)
	held := 0
	for i := range cuts {
		held += depth[i]
		cuts[i] = held == 0
	}
	return cuts
}

// hold forbids the cuts before items from to to-1.
func hold(depth []int, from, to int) {
	depth[from]++
	depth[to]--
}

// pairUp holds the pairs of a run of items together, whose first has the
// index base. It returns where calls are left open, and tells orphan where a
// result has no call.
func pairUp(items []store.Item, base, reach int, depth []int, orphan func(i int)) map[string]int {
	open := map[string]int{}
	for i, it := range items {
		for _, id := range it.Results {
			from, found := open[id]
			switch {
			case found:
				delete(open, id)
				if base+i-from <= reach {
					hold(depth, from+1, base+i+1)
				}
			case orphan != nil:
				orphan(base + i)
			}
		}
		for _, id := range it.Calls {
			open[id] = base + i
		}
	}
	return open
}

// Policy says how much of a view is fresh.
type Policy struct {
	// FreshTail is how many of the newest messages are never folded, 64 if it
	// is not set.
	FreshTail int
	// FreshTailTokens is the most tokens of the tail. 0 stands for half the budget;
	// package compact replaces it by two thirds of the low threshold.
	FreshTailTokens int
}

// defaultFreshTail is the FreshTail of a Policy that does not set it.
const defaultFreshTail = 64

// Tail returns the index of the first item of the fresh tail: the newest
// messages up to FreshTail of them or FreshTailTokens, whichever ends first,
// from a legal cut on. The newest round is always part of it. If the newest
// user message lies before the tail, the tail leaves room for it, because both
// must be shown.
func Tail(v store.View, p Policy, budget int) int {
	return TailAt(v, Cuts(v), p, budget)
}

// TailAt is Tail for a view that may be parted at the given cuts.
func TailAt(v store.View, cuts []bool, p Policy, budget int) int {
	count, limit := p.FreshTail, p.FreshTailTokens
	if count <= 0 {
		count = defaultFreshTail
	}
	if limit <= 0 {
		limit = budget / 2
	}
	// An eighth of the budget is left for older items.
	room := budget - budget/8
	start := tailWithin(v, cuts, count, min(limit, room))
	if pinned := pinnedBefore(v, start); pinned > 0 {
		room -= pinned
		start = tailWithin(v, cuts, count, min(limit, room))
	}
	return min(start, newestRound(v, cuts, room))
}

// pinnedBefore returns the cost of the newest user message if it lies before
// item i, else 0.
func pinnedBefore(v store.View, i int) int {
	switch pin := Pinned(v); {
	case pin >= 0 && pin < i:
		return v.Items[pin].Tokens
	case pin < 0 && v.LastUserItem != nil:
		return v.LastUserItem.Tokens
	}
	return 0
}

// tailWithin walks back from the newest item while count and limit allow, and
// then forward to a legal cut.
func tailWithin(v store.View, cuts []bool, count, limit int) int {
	i := len(v.Items)
	for i > oldest(v) && count > 0 && !v.Items[i-1].IsSummary() && v.Items[i-1].Tokens <= limit {
		i--
		count--
		limit -= v.Items[i].Tokens
	}
	for !cuts[i] {
		i++
	}
	return i
}

// newestRound returns where the newest round begins: at the newest user
// message, or at the assistant message whose calls were made last. If all of
// it does not fit room, it is as little as can be sent: the last message, with
// the calls that it answers.
func newestRound(v store.View, cuts []bool, room int) int {
	from, end := oldest(v), len(v.Items)
	if from == end {
		return end
	}
	last := whole(v, cuts, end-1)
	for i := end - 1; i >= from && !v.Items[i].IsSummary(); i-- {
		room -= v.Items[i].Tokens
		if startsRound(v.Items[i]) {
			if i = whole(v, cuts, i); room >= 0 {
				return min(i, last)
			}
			break
		}
	}
	return last
}

// whole returns the nearest legal cut at or before item i that leaves a reply
// in one piece: it may be recorded as several messages, a call in each, whose
// results are still to come. A message that has its own results, as in opencode, is
// complete.
func whole(v store.View, cuts []bool, i int) int {
	from := oldest(v)
	for i > from && len(v.Items[i].Calls) > 0 && v.Items[i-1].Role == llms.RoleAssistant && len(v.Items[i-1].Results) == 0 {
		i--
	}
	for i > from && !cuts[i] {
		i--
	}
	return i
}

func startsRound(it store.Item) bool {
	return isUser(it) || len(it.Calls) > 0
}

// StartsTurn reports whether a turn begins with an item.
func StartsTurn(it store.Item) bool { return isUser(it) }

// isUser reports whether a user spoke. Anthropic's shape gives tool results
// the user's role too.
func isUser(it store.Item) bool {
	return !it.IsSummary() && it.Role == llms.RoleUser && len(it.Results) == 0
}

// Pinned returns the index of the newest user message, which is always shown
// verbatim, or -1 if the items do not hold it.
func Pinned(v store.View) int {
	for i := len(v.Items) - 1; i >= 0; i-- {
		it := v.Items[i]
		if !isUser(it) || (v.LastUser != 0 && it.Pos > v.LastUser) {
			continue
		}
		if v.Skipped > 0 && i < v.Gap && it.Pos != v.LastUser {
			return -1 // a newer one is among the skipped items
		}
		return i
	}
	return -1
}

// oldest returns the index of the oldest item that joins the newest one
// without a gap.
func oldest(v store.View) int {
	if v.Skipped > 0 {
		return v.Gap
	}
	return 0
}
