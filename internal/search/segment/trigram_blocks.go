package segment

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// Costs that decide whether one more list is worth decoding: reading the texts
// of a block costs about as much as decoding this many entries.
const blockCost = 16000

// maxLookups bounds the grams of one conjunction that are looked up; a long
// literal has far more than are needed to find it.
const maxLookups = 24

// blocksOf evaluates a query over the segment: the blocks whose texts may
// match, or all of them.
func (r *Reader) blocksOf(q *analysis.TrigramQuery) (blocks []uint32, all bool, err error) {
	switch {
	case q == nil:
		return nil, true, nil
	case q.Never:
		return nil, false, nil
	}
	entries, err := r.lookups(q.All)
	if err != nil {
		return nil, false, err
	}
	all = true
	for _, e := range entries {
		if e.df == 0 {
			return nil, false, nil
		}
		if !all && !worth(len(blocks), e, r.Segment.blocks) {
			continue
		}
		list, err := r.gramList(nil, e)
		if err != nil {
			return nil, false, err
		}
		if all {
			blocks, all = list, false
		} else {
			blocks = intersect(blocks, list)
		}
	}
	for _, group := range q.AnyOf {
		if !all && len(blocks) == 0 {
			break
		}
		list, every, err := r.blocksOfAny(group)
		if err != nil {
			return nil, false, err
		}
		switch {
		case every:
		case all:
			blocks, all = list, false
		default:
			blocks = intersect(blocks, list)
		}
	}
	return blocks, all, nil
}

func (r *Reader) blocksOfAny(group []*analysis.TrigramQuery) (blocks []uint32, all bool, err error) {
	for _, option := range group {
		list, every, err := r.blocksOf(option)
		if err != nil || every {
			return nil, every, err
		}
		blocks = append(blocks, list...)
	}
	slices.Sort(blocks)
	return slices.Compact(blocks), false, nil
}

// lookups finds the lists of grams, rarest first.
func (r *Reader) lookups(grams []analysis.Trigram) ([]gramEntry, error) {
	step := max(1, len(grams)/maxLookups)
	var entries []gramEntry
	for i := 0; i < len(grams); i += step {
		e, err := r.gram(grams[i])
		if err != nil {
			return nil, err
		}
		if e.df == 0 {
			return []gramEntry{e}, nil
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(x, y gramEntry) int {
		return cmp.Or(cmp.Compare(x.df, y.df), cmp.Compare(x.gram, y.gram))
	})
	return entries, nil
}

// worth reports whether a list rules out enough of the blocks to pay for
// decoding it.
func worth(have int, e gramEntry, total uint32) bool {
	ruledOut := float64(have) * (1 - float64(e.df)/float64(total))
	return ruledOut*blockCost > float64(e.df)
}

func intersect(x, y []uint32) []uint32 {
	out := x[:0]
	j := 0
	for _, b := range x {
		for j < len(y) && y[j] < b {
			j++
		}
		if j == len(y) {
			break
		}
		if y[j] == b {
			out = append(out, b)
		}
	}
	return out
}

// Candidates yields the documents whose blocks may hold the trigrams of the
// query, newest first.
func (r *Reader) Candidates(q *analysis.TrigramQuery, yield func(doc uint32) error) error {
	blocks, all, err := r.blocksOf(q)
	if err != nil {
		return err
	}
	if all {
		blocks = make([]uint32, r.Segment.blocks)
		for i := range blocks {
			blocks[i] = uint32(i)
		}
	}
	for _, block := range slices.Backward(blocks) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if block%64 == 0 {
			runtime.Gosched() // let writers run
		}
		first, err := r.uint32At(streamBlocks, block)
		if err != nil {
			return err
		}
		end := uint32(r.Segment.info.Docs)
		if block+1 < r.Segment.blocks {
			if end, err = r.uint32At(streamBlocks, block+1); err != nil {
				return err
			}
		}
		for doc := int64(end) - 1; doc >= int64(first); doc-- {
			if err := yield(uint32(doc)); err != nil {
				return err
			}
		}
	}
	// A filter that was cut off accepts nothing.
	return r.ctx.Err()
}
