package summary

import (
	"cmp"
	"container/heap"
	"context"
)

// secondCover divides the weight of a feature the second time it occurs. A third
// occurrence counts nothing.
const secondCover = 4

// selection chooses units by weighted coverage: each step takes the unit that
// says the most not yet said, for its length. Gains only ever shrink, so a
// unit whose gain is re-evaluated and still tops the heap is the best one
// (Minoux's lazy greedy), and few units are re-evaluated at all.
type selection struct {
	m       *material
	f       *features
	covered []uint8
	heap    gainHeap
	skipped []candidate // did not fit when their turn came
	taken   []int       // in the order they were chosen
	chosen  []bool
}

type candidate struct {
	unit int
	gain int64
}

func newSelection(m *material, f *features) *selection {
	s := &selection{m: m, f: f, covered: make([]uint8, len(f.kind)), chosen: make([]bool, len(m.units))}
	s.heap = make(gainHeap, 0, len(m.units))
	for u := range m.units {
		s.heap = append(s.heap, candidate{u, s.gain(u)})
	}
	heap.Init(&s.heap)
	return s
}

// gain is the value that unit u would add, for its cost.
func (s *selection) gain(u int) int64 {
	unit := &s.m.units[u]
	sum := int64(0)
	for _, id := range s.f.arena[unit.lo:unit.hi] {
		switch s.covered[id] {
		case 0:
			sum += s.f.weight[id]
		case 1:
			sum += s.f.weight[id] / secondCover
		}
	}
	return sum * unit.prior / unit.length
}

// fill takes units while they fit in budget.
func (s *selection) fill(ctx context.Context, budget int, price func(u int) int) error {
	s.heap = append(s.heap, s.skipped...)
	s.skipped = s.skipped[:0]
	heap.Init(&s.heap)
	for steps := 0; len(s.heap) > 0 && budget > 0; steps++ {
		if steps%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		top := s.heap[0]
		if now := s.gain(top.unit); now < top.gain {
			s.heap[0].gain = now
			heap.Fix(&s.heap, 0)
			continue
		}
		heap.Pop(&s.heap)
		if top.gain <= 0 || s.chosen[top.unit] {
			continue
		}
		cost := price(top.unit)
		if cost > budget {
			s.skipped = append(s.skipped, top)
			continue
		}
		budget -= cost
		s.take(top.unit)
	}
	return nil
}

// The material repeats itself where the words of its most typical sentence
// stand, on average, in this share of all messages and in this many.
const (
	repetitiveShare    = 0.5
	repetitiveMessages = 2
)

// lead takes the sentence that most messages support, where the material repeats
// itself. There the rarest sentence has the highest gain, and alone it would stand
// for a session about something else. It returns the cost of the sentence, 0 for none.
func (s *selection) lead(budget int, price func(u int) int) int {
	messages := s.messages()
	best, most := -1, 0.0
	least := max(repetitiveMessages, repetitiveShare*float64(len(s.m.docs)))
	for u := range s.m.units {
		if s.m.units[u].origin > fromAssistant { // said by nobody
			continue
		}
		if support := s.support(u, messages); support >= least && support > most {
			best, most = u, support
		}
	}
	if best < 0 || price(best) > budget {
		return 0
	}
	s.take(best)
	return price(best)
}

// messages counts, for each feature, the messages that it stands in.
func (s *selection) messages() []int32 {
	count, last := make([]int32, len(s.f.kind)), make([]int32, len(s.f.kind))
	for _, unit := range s.m.units {
		for _, id := range s.f.arena[unit.lo:unit.hi] {
			if last[id] != int32(unit.doc)+1 {
				last[id] = int32(unit.doc) + 1
				count[id]++
			}
		}
	}
	return count
}

// support is in how many messages the words of unit u stand, on average.
func (s *selection) support(u int, messages []int32) float64 {
	unit := &s.m.units[u]
	sum, words := 0, 0
	for _, id := range s.f.arena[unit.lo:unit.hi] {
		if s.f.kind[id] == stemFeature {
			sum += int(messages[id])
			words++
		}
	}
	if words == 0 {
		return 0
	}
	return float64(sum) / float64(words)
}

func (s *selection) take(u int) {
	s.taken = append(s.taken, u)
	s.chosen[u] = true
	unit := &s.m.units[u]
	for _, id := range s.f.arena[unit.lo:unit.hi] {
		if s.covered[id] < 2 {
			s.covered[id]++
		}
	}
}

// drop gives back the unit taken last: the one with the lowest gain.
func (s *selection) drop() {
	u := s.taken[len(s.taken)-1]
	kept := s.taken[:len(s.taken)-1]
	s.chosen[u] = false
	clear(s.covered)
	s.taken = s.taken[:0]
	for _, k := range kept {
		s.take(k)
	}
}

// gainHeap orders candidates by gain, then by place in the source.
type gainHeap []candidate

func (h gainHeap) Len() int { return len(h) }
func (h gainHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].gain, h[i].gain), cmp.Compare(h[i].unit, h[j].unit)) < 0
}
func (h gainHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *gainHeap) Push(x any)   { *h = append(*h, x.(candidate)) }
func (h *gainHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
