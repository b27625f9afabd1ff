package compact

import "github.com/lossless-context/lcm/internal/view/assemble"

// leaf returns the oldest run of messages that holds at least least tokens, up
// to the size of a chunk, or nil.
func (p *planner) leaf(least int) *Fold {
	for _, r := range p.regions {
		for from := r.from; from < r.to; {
			to := p.messages(from, r.to)
			for from < to && !p.cuts[from] {
				from++
			}
			if p.tokens(from, to) >= least {
				if f := p.fold(from, p.chunk(from, to)); f != nil {
					return f
				}
			}
			from = to
			for from < r.to && p.Items[from].IsSummary() {
				from++
			}
		}
	}
	return nil
}

// messages returns the end of the run of messages that begins at from.
func (p *planner) messages(from, end int) int {
	for from < end && !p.Items[from].IsSummary() {
		from++
	}
	return from
}

func (p *planner) tokens(from, to int) int {
	tokens := 0
	for _, it := range p.Items[from:to] {
		tokens += it.Tokens
	}
	return tokens
}

// chunk returns where the first chunk of a run of messages ends: at the last end of a
// turn before it grows too large or, in a longer turn, at the last legal cut, but not
// before the first. A rest that is too small for a leaf of its own is included, unless it
// will grow. A large message counts as a quarter of a chunk at most: it is an output or a file,
// of which notes say little, and alone it would make a leaf that says nothing.
func (p *planner) chunk(from, end int) int {
	to, tokens, taken := from, 0, 0
	turn := from // the last end of a turn
	for i := from; i < end; i++ {
		tokens += min(p.Items[i].Tokens, p.pol.LeafChunkTokens/4)
		if !p.cuts[i+1] {
			continue
		}
		// A few small messages before a very large one go along with it: a
		// leaf of theirs alone would save next to nothing.
		if tokens > p.pol.LeafChunkTokens && taken >= p.pol.minLeaf() {
			break
		}
		to, taken = i+1, tokens
		if i+1 < len(p.Items) && assemble.StartsTurn(p.Items[i+1]) && taken >= p.pol.LeafChunkTokens/2 {
			turn = to
		}
		if tokens > p.pol.LeafChunkTokens {
			break
		}
	}
	if turn > from {
		return turn
	}
	if end != p.tail && end != p.Gap && p.cuts[end] && p.tokens(to, end) < p.pol.minLeaf() {
		return end
	}
	return to
}

// minCondensed is the least size of a run that is condensed below the hard limit.
func (p *planner) minCondensed() int {
	return max(p.pol.TargetTokens, p.pol.LeafChunkTokens/10)
}

// condense returns the oldest run of the shallowest depth that has enough
// summaries, or nil. Shallower summaries and small runs of messages that are
// stranded between them go along: they have no neighbours of their own kind.
func (p *planner) condense(fanout, least int) *Fold {
	for depth := 0; depth <= p.deepest(); depth++ {
		for _, r := range p.regions {
			for from := r.from; from < r.to; {
				to := p.stretch(from, r.to, depth)
				if to == from {
					from = p.unit(from, r.to)
					continue
				}
				end := p.group(from, to, depth, fanout)
				if end > from && p.cuts[from] && p.cuts[end] && p.tokens(from, end) >= least {
					if f := p.fold(from, end); f != nil {
						return f
					}
				}
				from = to
			}
		}
	}
	return nil
}

func (p *planner) deepest() int {
	deepest := -1
	for _, r := range p.regions {
		for _, it := range p.Items[r.from:r.to] {
			if it.IsSummary() {
				deepest = max(deepest, it.Depth)
			}
		}
	}
	return deepest
}

// unit returns the end of the summary or of the run of messages at from.
func (p *planner) unit(from, end int) int {
	if p.Items[from].IsSummary() {
		return from + 1
	}
	return p.messages(from, end)
}

// stretch returns the end of the longest run from from on that holds no
// summary deeper than depth and no messages that make a leaf of their own.
func (p *planner) stretch(from, end, depth int) int {
	for from < end {
		to := p.unit(from, end)
		if p.Items[from].IsSummary() {
			if p.Items[from].Depth > depth {
				break
			}
		} else if p.tokens(from, to) >= p.pol.minLeaf() {
			break
		}
		from = to
	}
	return from
}

// group returns the end of the run that begins at from and holds at least
// fanout summaries of a depth, and more while they fit a chunk; from if there
// are too few. It ends with a summary of that depth, because later items may
// still get neighbours of their kind.
func (p *planner) group(from, to, depth, fanout int) int {
	end, count, tokens := from, 0, 0
	for i, it := range p.Items[from:to] {
		tokens += it.Tokens
		if !it.IsSummary() || it.Depth != depth {
			continue
		}
		if count++; count >= fanout && (end == from || tokens <= p.pol.LeafChunkTokens) {
			end = from + i + 1
		}
	}
	return end
}

// neighbours returns two neighbouring summaries or runs of messages, the
// shallowest and oldest whose fold makes the view smaller.
func (p *planner) neighbours() *Fold {
	var best *Fold
	for _, r := range p.regions {
		for from := r.from; from < r.to; {
			middle := p.unit(from, r.to)
			if middle == r.to {
				break
			}
			to := p.unit(middle, r.to)
			if p.cuts[from] && p.cuts[to] {
				if f := p.fold(from, to); f != nil && (best == nil || f.Depth < best.Depth) {
					best = f
				}
			}
			from = middle
		}
	}
	return best
}

// largest returns the summary or run of messages that costs the most, to be
// written again at half its length. Above the hard limit, when nothing else is
// left, detail in a summary is worth less than a context that can be sent.
func (p *planner) largest() *Fold {
	var best *Fold
	for _, r := range p.regions {
		for from := r.from; from < r.to; {
			to := p.unit(from, r.to)
			if f := p.fold(from, to); f != nil && p.cuts[from] && p.cuts[to] && (best == nil || f.Tokens > best.Tokens) {
				best = f
			}
			from = to
		}
	}
	if best == nil || best.Tokens < p.floor(best.Kind, best.To-best.From)*5/4 {
		return nil
	}
	best.Target = max(minTarget, min(best.Target, best.Tokens/2-p.floor(best.Kind, best.To-best.From)))
	return best
}
