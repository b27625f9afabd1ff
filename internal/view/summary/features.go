package summary

import "math"

// Weights of features, before frequency is taken into account.
const (
	identifierWeight     = 6.0
	nameWeight           = 2.5
	bigramWeight         = 0.35
	repeatedBigramWeight = 1.0
)

type featureKind uint8

const (
	stemFeature featureKind = iota
	bigramFeature
	nameFeature
	identFeature
)

// features numbers and weighs the words, names and identifiers of units. Numbers follow
// the order of first appearance, so that nothing depends on map order.
type features struct {
	index  map[uint64]int32
	kind   []featureKind
	tf, df []int32
	last   []int32 // the unit that counted the feature last, plus one
	weight []int64 // in 1/1024: whole numbers sum the same on every machine
	arena  []int32
}

func newFeatures(sizeHint int) *features {
	return &features{index: make(map[uint64]int32, sizeHint)}
}

// add counts a feature for unit u and puts it in the arena once.
func (f *features) add(u int, kind featureKind, key uint64) {
	key = key*31 + uint64(kind)
	id, ok := f.index[key]
	if !ok {
		id = int32(len(f.kind))
		f.index[key] = id
		f.kind = append(f.kind, kind)
		f.tf = append(f.tf, 0)
		f.df = append(f.df, 0)
		f.last = append(f.last, 0)
	}
	f.tf[id]++
	if f.last[id] == int32(u)+1 {
		return
	}
	f.last[id] = int32(u) + 1
	f.df[id]++
	f.arena = append(f.arena, id)
}

// has returns the number of a feature that was counted before.
func (f *features) has(kind featureKind, key uint64) (int32, bool) {
	id, ok := f.index[key*31+uint64(kind)]
	return id, ok
}

// describe counts the words of unit u: its stems, its pairs of neighbouring
// content words, its names.
func (f *features) describe(u int, text string) {
	w := wordScanner{text: text}
	var prev uint64
	prevEnd, first := -1, true
	for w.next() {
		if w.stop {
			first = false
			prevEnd = -1
			continue
		}
		f.add(u, stemFeature, w.key)
		if prevEnd >= 0 && !w.glued && w.start-prevEnd <= 2 {
			f.add(u, bigramFeature, hashPair(prev, w.key))
		}
		if w.capital && !first && w.end-w.start > 2 {
			f.add(u, nameFeature, w.key)
		}
		prev, prevEnd, first = w.key, w.end, false
	}
}

// weigh fixes the weight of every feature once all n units were counted.
func (f *features) weigh(n int) {
	f.weight = make([]int64, len(f.kind))
	for id, kind := range f.kind {
		w := 0.0
		switch kind {
		case stemFeature:
			w = math.Log(1 + float64(n)/float64(f.df[id]))
		case bigramFeature:
			w = bigramWeight
			if f.tf[id] > 1 {
				w = repeatedBigramWeight
			}
		case nameFeature:
			w = nameWeight
		case identFeature:
			w = identifierWeight
		}
		f.weight[id] = fixed(w * math.Min(2, math.Sqrt(float64(f.tf[id]))))
	}
}

// fixed turns a weight into a whole number of 1/1024.
func fixed(w float64) int64 { return int64(math.Round(w * 1024)) }
