package index

import (
	"cmp"
	"slices"
)

// A document must have every required word. The rarest of them names the
// documents that can match, and of the longer lists only the blocks that touch
// those are decoded: "the" of a phrase costs what the phrase's other words leave
// of it.

// narrow lists the passages of the share's documents that hold every required
// word, a range for each document, in order. Without a required word it is the
// whole share.
func (p *phase) narrow(n int, chosen []int) ([]passageRange, error) {
	sh := p.shares[n]
	required, ok := p.requiredIn(n, chosen)
	if !ok {
		return nil, nil
	}
	if len(required) == 0 {
		return sh.ranges, nil
	}
	live, err := sh.holders(required[0])
	var list []posting
	for _, e := range required[1:] {
		if err != nil || len(live) == 0 {
			break
		}
		if list, err = sh.r.postingsAmong(list[:0], e, live); err == nil {
			live = withPosting(live, list)
		}
	}
	return live, err
}

// requiredIn finds the lists of the required words, the shortest first; false
// says that a word does not occur. Required beginnings of words, which have
// several lists, are left to be checked with what is found.
func (p *phase) requiredIn(n int, chosen []int) ([]dictEntry, bool) {
	var out []dictEntry
	for _, i := range chosen {
		if t := p.query.terms[i]; !t.must || t.prefix != "" {
			continue
		}
		entries := p.lists[i].entries[n]
		if len(entries) == 0 {
			return nil, false
		}
		out = append(out, entries...)
	}
	slices.SortStableFunc(out, func(x, y dictEntry) int { return cmp.Compare(x.df, y.df) })
	return out, true
}

// holders lists the passages of the documents that hold a word. The passages
// of a document lie side by side.
func (sh *share) holders(e dictEntry) ([]passageRange, error) {
	var list []posting
	var err error
	for _, within := range sh.ranges {
		if list, err = sh.r.postingsIn(list, e, within); err != nil {
			return nil, err
		}
	}
	docs := docColumn{r: sh.r}
	out := make([]passageRange, 0, len(list))
	for _, post := range list {
		if len(out) > 0 && post.passage < out[len(out)-1].to {
			continue
		}
		doc, err := docs.at(post.passage)
		if err != nil {
			return nil, err
		}
		same := func(passage uint32) bool {
			var d uint32
			d, err = docs.at(passage)
			return err == nil && d == doc
		}
		of := passageRange{post.passage, post.passage + 1}
		for of.from > 0 && same(of.from-1) {
			of.from--
		}
		for err == nil && of.to < sh.r.seg.Passages() && same(of.to) {
			of.to++
		}
		if err != nil {
			return nil, err
		}
		out = append(out, of)
	}
	return out, nil
}

// withPosting keeps the ranges that hold at least one of the postings.
func withPosting(ranges []passageRange, list []posting) []passageRange {
	out := ranges[:0]
	for _, within := range ranges {
		for len(list) > 0 && list[0].passage < within.from {
			list = list[1:]
		}
		if len(list) > 0 && list[0].passage < within.to {
			out = append(out, within)
		}
	}
	return out
}
