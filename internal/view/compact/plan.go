package compact

import (
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Fold is a run of view items to be replaced by one summary.
type Fold struct {
	From, To int // the indices of the first item and of the one after the last
	Kind     summary.Kind
	Depth    int
	Tokens   int // of the items
	Target   int // length of the summary's text
	// Pressure says that the view is above the hard limit.
	Pressure bool
}

// Step is the next action on a view. The zero Step is no action.
type Step struct {
	// Stubs are the indices of messages that no folding can make room for:
	// they are to be shown as references.
	Stubs []int
	// Fold is the next fold, or nil.
	Fold *Fold
	// Exhausted says why nothing more can be folded although the view is
	// above the threshold.
	Exhausted string
}

// Why a view that is above a threshold is not folded further.
const (
	exhaustedSoft = "everything outside the fresh tail is folded as far as the soft threshold asks for"
	exhaustedHard = "the fresh tail and the newest user message leave no room; nothing else is left to fold"
	exhaustedFew  = "too little is outside the fresh tail for a fold that pays; it is folded at the hard threshold"
)

// pays reports whether a run in the background is worth its cost: a fold changes the
// beginning of the view, and the provider has to cache it again. The messages before
// the tail, and the summaries beyond their share, must have half as many tokens as lie
// between the soft and the low threshold.
func pays(v store.View, lim Limits, pol Policy) bool {
	if !lim.hasLow() || v.Skipped > 0 || v.Tokens >= lim.Hard {
		return true
	}
	tokens := -pol.scaled(lim).SummaryPrefixTokens
	messages := 0
	for _, it := range v.Items[:assemble.Tail(v, pol.Policy, lim.Hard)] {
		if it.IsSummary() {
			tokens += it.Tokens
		} else {
			messages += it.Tokens
		}
	}
	return messages+max(tokens, 0) >= (lim.Soft-lim.Low)/2
}

// Plan decides the next action of a run on a view: none below the low
// threshold, then the oldest and shallowest fold that the policy allows, and above
// the hard limit any fold that makes the view smaller. Its result depends on
// nothing but its arguments. A run begins at the soft threshold.
//
// A view that was read in part may be planned for; no fold spans the gap. If
// overlapping calls and results form one run of more than half the hard limit, Plan
// may part a call from its result, once nothing else is left to fold.
func Plan(v store.View, lim Limits, pol Policy) Step {
	lim = lim.withDefaults()
	if v.Tokens < lim.Low {
		return Step{}
	}
	pol = pol.withDefaults()
	if pol.FreshTailTokens <= 0 {
		pol.FreshTailTokens = lim.freshTail()
	}
	pressure := v.Tokens >= lim.Hard
	scaled := pol.scaled(lim)
	if lim.hasLow() { // a leaf that is larger than needed leaves room of the view unused
		scaled.LeafChunkTokens = min(scaled.LeafChunkTokens, max(scaled.minLeaf(), (v.Tokens-lim.Low)/2))
	}
	for _, reach := range assemble.Reaches() {
		p := planner{View: v, pol: scaled, pressure: pressure, cuts: assemble.CutsWithin(v, reach), pin: assemble.Pinned(v)}
		// Tail and pinned message must leave room within the hard limit, not
		// the budget.
		p.tail = assemble.TailAt(v, p.cuts, pol.Policy, lim.Hard)
		p.regions = p.foldable(p.preamble(lim.Hard / 8))
		step := Step{Fold: p.next()}
		if pressure {
			step.Stubs = p.stubs(lim)
		}
		if pressure && step.Fold == nil && len(step.Stubs) == 0 {
			p.regions = p.foldable(0)
			step.Fold = p.next()
		}
		if step.Fold != nil || len(step.Stubs) > 0 {
			return step
		}
		if !pressure {
			return Step{Exhausted: exhaustedSoft}
		}
		if p.largestPiece() <= lim.Hard/2 {
			break // it is not for want of cuts
		}
	}
	return Step{Exhausted: exhaustedHard}
}

type planner struct {
	store.View
	pol      Policy
	pressure bool
	cuts     []bool
	pin      int
	tail     int
	regions  []region
}

// largestPiece is the cost of the largest run of items that calls and results hold
// together.
func (p *planner) largestPiece() int {
	largest, piece := 0, 0
	for i, it := range p.Items {
		if p.cuts[i] {
			piece = 0
		}
		piece += it.Tokens
		largest = max(largest, piece)
	}
	return largest
}

// region is a run of items that may be folded together.
type region struct{ from, to int }

// preamble is how many system messages the view begins with, as far as they
// cost little: instructions stay in force, and a summary would
// weaken them. They are folded only if nothing else is left.
func (p *planner) preamble(limit int) int {
	tokens := 0
	for i, it := range p.Items {
		if it.IsSummary() || it.Role != llms.RoleSystem || p.Skipped > 0 && i >= p.Gap {
			return i
		}
		if tokens += it.Tokens; tokens > limit {
			return i
		}
	}
	return len(p.Items)
}

// foldable returns the regions before the tail, from an item on. The pinned
// message and the gap part them, and they begin and end at legal cuts.
func (p *planner) foldable(from int) []region {
	var regions []region
	end := func(to int) {
		for from < to && !p.cuts[from] {
			from++
		}
		for from < to && !p.cuts[to] {
			to--
		}
		if from < to {
			regions = append(regions, region{from, to})
		}
	}
	for i := from; i < p.tail; i++ {
		if p.Skipped > 0 && i == p.Gap {
			end(i)
			from = i
		}
		if i == p.pin {
			end(i)
			from = i + 1
		}
	}
	end(p.tail)
	return regions
}

// next returns the fold to make, or nil if there is none.
func (p *planner) next() *Fold {
	var f *Fold
	try := func(candidate *Fold) bool {
		if f == nil {
			f = candidate
		}
		return f != nil
	}
	// Summaries beyond their share of the window are condensed first: recent
	// messages are worth more than old detail. Then a full chunk saves most;
	// folding a few messages at a time would change the prompt in every turn
	// for little.
	crowded := p.summaryTokens() > p.pol.SummaryPrefixTokens
	switch {
	case crowded && try(p.condense(p.pol.Fanout, p.minCondensed())):
	case crowded && try(p.condense(fanoutHard, p.minCondensed())):
	case try(p.leaf(p.pol.LeafChunkTokens / 2)):
	case try(p.leaf(p.pol.minLeaf())):
	case crowded && try(p.neighbours()):
	case try(p.condense(p.pol.Fanout, p.minCondensed())):
	case !p.pressure:
	case try(p.condense(fanoutHard, 0)):
	case try(p.leaf(2 * p.pol.SummaryFloor)):
	case try(p.neighbours()):
	case try(p.largest()):
	}
	return f
}

// fanoutHard is how many summaries are condensed together where too few have the fan-out.
const fanoutHard = 2

// summaryTokens is the cost of the summaries before the tail.
func (p *planner) summaryTokens() int {
	tokens := 0
	for _, it := range p.Items[:p.tail] {
		if it.IsSummary() {
			tokens += it.Tokens
		}
	}
	return tokens
}

// fold describes the fold of items from to to-1, or returns nil if it cannot
// make the view smaller.
func (p *planner) fold(from, to int) *Fold {
	f := Fold{From: from, To: to, Kind: summary.Leaf, Pressure: p.pressure, Target: p.pol.TargetTokens}
	for _, it := range p.Items[from:to] {
		f.Tokens += it.Tokens
		if it.IsSummary() {
			f.Kind = summary.Condensed
			f.Depth = max(f.Depth, it.Depth+1)
		}
	}
	room := f.Tokens - p.floor(f.Kind, to-from) - 1
	if room < 0 {
		return nil
	}
	f.Target = min(f.Target, max(f.Tokens*35/100, minTarget), max(room, minTarget))
	return &f
}

// minTarget is the shortest text that is asked for.
const minTarget = 24

// floor is the cost of the shortest summary of n items.
func (p *planner) floor(kind summary.Kind, n int) int {
	if kind == summary.Leaf {
		return p.pol.SummaryFloor
	}
	return p.pol.SummaryFloor + min(n, maxListed)*p.pol.SourceFloor
}

// maxListed bounds how many sources a rendered summary lists.
const maxListed = 16

// stubs returns the messages that do not fit the view even when everything else
// is folded. The pinned message is shown in part only if it
// does not fit alone.
func (p *planner) stubs(lim Limits) []int {
	var large []int
	for i, it := range p.Items {
		limit := lim.Hard - lim.Hard/8
		if i == p.pin {
			limit = lim.Hard
		}
		if !it.IsSummary() && !it.Stub && it.Tokens > limit && (i >= p.tail || i == p.pin) {
			large = append(large, i)
		}
	}
	return large
}
