package compact

import "github.com/lossless-context/lcm/internal/view/assemble"

// Limits are the sizes of a view, in tokens, between which compaction works.
// Soft and Hard are 75 and 95 percent of Budget if they are not set.
type Limits struct {
	Budget int
	Soft   int
	Hard   int
	// Low is the low threshold. A run that begins at Soft folds down to Low and
	// shows all its folds together, so that the beginning of the view stays the
	// same until the view has grown to Soft again. If Low is not below Soft, a run
	// stops below Soft and shows each fold when it is made.
	Low int
}

// DefaultBudget is the budget of Limits that do not set one.
const DefaultBudget = 128_000

func (l Limits) withDefaults() Limits {
	if l.Budget <= 0 {
		l.Budget = DefaultBudget
	}
	if l.Soft <= 0 {
		l.Soft = l.Budget * 75 / 100
	}
	if l.Hard <= 0 {
		l.Hard = l.Budget * 95 / 100
	}
	l.Hard = max(l.Hard, l.Soft)
	if l.Low <= 0 {
		l.Low = l.Soft
	}
	l.Low = min(l.Low, l.Soft)
	return l
}

// hasLow reports whether there is a low threshold below the soft threshold.
func (l Limits) hasLow() bool { return l.Low < l.Soft }

// freshTail is the size of the fresh tail where the policy does not set one: two fifths of the
// low threshold, so that the rest is left for summaries; without one, half the budget. Real
// work needs the notes of all turns more than the last results word for word.
func (l Limits) freshTail() int {
	if l.hasLow() {
		return min(l.Budget, l.Low) * 2 / 5
	}
	return l.Budget / 2
}

// Policy says how a view is folded. Fields that are zero have the defaults
// given with them, which suit a budget of 128,000 tokens; smaller budgets use
// proportionally smaller chunks and targets.
type Policy struct {
	assemble.Policy
	LeafChunkTokens int // source tokens of a leaf summary: 12,000
	TargetTokens    int // length of a summary that a model writes: 2,000
	Fanout          int // summaries that are condensed together: 4
	// SummaryPrefixTokens is the total cost of summaries above which
	// condensing them is preferred to folding more messages. 0 stands for nine tenths of
	// what the fresh tail leaves of the low threshold.
	SummaryPrefixTokens int
	// SummaryFloor is the cost of the shortest rendered summary, and
	// SourceFloor the cost of each source that it lists. They depend on the
	// token counter; a Runner sets them itself.
	SummaryFloor int
	SourceFloor  int
}

func (p Policy) withDefaults() Policy {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&p.LeafChunkTokens, 12_000},
		{&p.TargetTokens, 2_000},
		{&p.Fanout, 4},
		{&p.SummaryFloor, 120},
		{&p.SourceFloor, 18},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return p
}

// scaled fits chunks, targets and fan-outs to a budget: with the defaults, a
// window of 4,000 tokens could not hold even one leaf.
func (p Policy) scaled(l Limits) Policy {
	p.LeafChunkTokens = min(p.LeafChunkTokens, max(l.Hard/4, 4*p.SummaryFloor))
	p.TargetTokens = min(p.TargetTokens, max(p.TargetTokens*l.Budget/DefaultBudget, p.SummaryFloor))
	if p.SummaryPrefixTokens <= 0 {
		p.SummaryPrefixTokens = (l.Low - l.freshTail()) * 9 / 10
	}
	p.Fanout = min(p.Fanout, max(fanoutHard, (p.SummaryPrefixTokens+p.TargetTokens)/(p.TargetTokens+p.SummaryFloor)))
	return p
}

// SummaryShare is how many tokens summaries may have together before they are condensed.
func (p Policy) SummaryShare(l Limits) int {
	return p.withDefaults().scaled(l.withDefaults()).SummaryPrefixTokens
}

// minLeaf is the least size of a run of messages that is folded by itself below
// the hard limit. Smaller runs between summaries are folded with those.
func (p Policy) minLeaf() int {
	return min(p.LeafChunkTokens, max(p.LeafChunkTokens/8, 3*p.SummaryFloor))
}
