package tiktoken

import (
	"container/heap"
	"math"
)

// vocabulary maps each token to its rank. Byte-pair encoding merges the pair
// with the lowest rank first.
type vocabulary map[string]uint32

// noRank marks a pair that is not a token.
const noRank = math.MaxUint32

// count returns the number of tokens that piece is encoded into.
func (v vocabulary) count(piece string) int {
	if _, ok := v[piece]; ok {
		return 1
	}
	// Finding the next pair with a scan is quadratic. It beats the heap on
	// pieces as short as most are.
	if len(piece) < 100 {
		return v.countByScan(piece)
	}
	return v.countByHeap(piece)
}

// rank returns the rank of piece[from:to], or noRank.
func (v vocabulary) rank(piece string, from, to int) uint32 {
	if to <= len(piece) {
		if rank, ok := v[piece[from:to]]; ok {
			return rank
		}
	}
	return noRank
}

func (v vocabulary) countByScan(piece string) int {
	var storage [101]struct {
		start int
		rank  uint32 // of the token that this part and the next would make
	}
	parts := storage[:len(piece)+1]
	for i := range parts {
		parts[i].start, parts[i].rank = i, v.rank(piece, i, i+2)
	}
	rank := func(i int) uint32 { // of parts i and i+1
		if i+2 >= len(parts) {
			return noRank
		}
		return v.rank(piece, parts[i].start, parts[i+2].start)
	}
	for {
		lowest := 0
		for i := range parts {
			if parts[i].rank < parts[lowest].rank {
				lowest = i
			}
		}
		if parts[lowest].rank == noRank {
			return len(parts) - 1
		}
		parts = append(parts[:lowest+1], parts[lowest+2:]...)
		parts[lowest].rank = rank(lowest)
		if lowest > 0 {
			parts[lowest-1].rank = rank(lowest - 1)
		}
	}
}

func (v vocabulary) countByHeap(piece string) int {
	n := len(piece)
	next, prev, ranks := make([]int, n+1), make([]int, n+1), make([]uint32, n+1)
	pairs := make(pairHeap, 0, n)
	for i := range next {
		next[i], prev[i], ranks[i] = i+1, i-1, v.rank(piece, i, i+2)
		if ranks[i] != noRank {
			pairs = append(pairs, pair{ranks[i], i})
		}
	}
	heap.Init(&pairs)
	tokens := n
	for len(pairs) > 0 {
		lowest := heap.Pop(&pairs).(pair)
		i := lowest.start
		if ranks[i] != lowest.rank {
			continue // one of its parts was merged with another
		}
		ranks[next[i]] = noRank
		next[i] = next[next[i]]
		prev[next[i]] = i
		tokens--
		for _, j := range [...]int{i, prev[i]} {
			if j < 0 {
				continue
			}
			ranks[j] = noRank
			if next[j] < n {
				ranks[j] = v.rank(piece, j, next[next[j]])
			}
			if ranks[j] != noRank {
				heap.Push(&pairs, pair{ranks[j], j})
			}
		}
	}
	return tokens
}

// pair is a possible merge of the part at start with the one after it.
type pair struct {
	rank  uint32
	start int
}

// pairHeap has the pair with the lowest rank on top, the leftmost of equal ones.
type pairHeap []pair

func (h pairHeap) Len() int      { return len(h) }
func (h pairHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(p any)   { *h = append(*h, p.(pair)) }
func (h pairHeap) Less(i, j int) bool {
	return h[i].rank < h[j].rank || h[i].rank == h[j].rank && h[i].start < h[j].start
}

func (h *pairHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
