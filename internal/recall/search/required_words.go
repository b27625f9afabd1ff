package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/search/segment"
)

// A document must have every required word. The rarest of them names the
// documents that can match. Of the longer lists only the blocks that touch those
// are decoded, so that "the" in a phrase costs little.

// narrow lists the passages of the share's documents that hold every required
// word, a range for each document, in order. Without a required word it is the
// whole share. Documents are also left out by phrases, as far as the segment has
// the positions of its words.
func (p *search) narrow(n int, chosen []int) ([]segment.PassageRange, error) {
	sh := p.shares[n]
	required, ok := p.requiredIn(n, chosen)
	if !ok {
		return nil, nil
	}
	live, required, err := p.firstRequired(n, required)
	var list []segment.Posting
	for _, e := range required {
		if err != nil || len(live) == 0 {
			break
		}
		if list, err = sh.r.PostingsAmong(list[:0], e, live); err == nil {
			live = withPosting(live, list)
		}
	}
	if err != nil {
		return nil, err
	}
	return sh.withoutPhrases(p.query, live)
}

// firstRequired lists the documents that hold the required phrases, or the first
// of the required words if there is no phrase, or all if nothing is required. It
// also returns the words that are still to be looked for.
func (p *search) firstRequired(n int, required []segment.DictEntry) ([]segment.PassageRange, []segment.DictEntry, error) {
	sh := p.shares[n]
	// The terms of a phrase may be past the most that a query has, so that none is
	// required.
	if live, ok, err := sh.withPhrases(p.query); ok || err != nil {
		required = slices.DeleteFunc(required, func(e segment.DictEntry) bool { return p.query.inPhrase(e.Term()) })
		return live, required, err
	}
	if len(required) == 0 {
		return sh.ranges, nil, nil
	}
	first, err := p.phrasePostings(n)
	if first == nil && err == nil {
		first, err = sh.postings(required[0])
	}
	if err != nil {
		return nil, nil, err
	}
	live, err := sh.documents(first)
	return live, required[1:], err
}

// requiredIn finds the lists of the required words, the shortest first; false
// says that a word does not occur. Required beginnings of words, which have
// several lists, are checked later against the texts.
func (p *search) requiredIn(n int, chosen []int) ([]segment.DictEntry, bool) {
	var out []segment.DictEntry
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
	slices.SortStableFunc(out, func(x, y segment.DictEntry) int { return cmp.Compare(x.DF, y.DF) })
	return out, true
}

// postings lists the postings of a word in the share.
func (sh *share) postings(e segment.DictEntry) (list []segment.Posting, err error) {
	for _, within := range sh.ranges {
		if list, err = sh.r.PostingsIn(list, e, within); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// phrasePostings lists the postings of the rarest word of a required phrase that
// have the other words in the same passage or beside it. It is nil if the query
// has no such phrase. To look for the documents of all postings took half of the
// time of a phrase in a million messages.
func (p *search) phrasePostings(n int) ([]segment.Posting, error) {
	var words []segment.DictEntry
	for _, ph := range p.query.phrases {
		if ph.must && len(ph.terms) > max(1, len(words)) && len(ph.words) <= segment.PassageWords {
			words = words[:0]
			for _, t := range ph.terms {
				words = append(words, p.lists[t].entries[n]...)
			}
		}
	}
	if len(words) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(words, func(x, y segment.DictEntry) int { return cmp.Compare(x.DF, y.DF) })
	sh := p.shares[n]
	list, err := sh.postings(words[0])
	if err != nil {
		return nil, err
	}
	around := make([]segment.PassageRange, len(list))
	for i, post := range list {
		around[i] = segment.PassageRange{From: max(post.Passage, 1) - 1, To: post.Passage + 2}
	}
	var other []segment.Posting
	for _, e := range words[1:] {
		if other, err = sh.r.PostingsAmong(other[:0], e, around); err != nil {
			return nil, err
		}
		around = withPosting(around, other)
	}
	near := make([]segment.Posting, len(around))
	for i, r := range around {
		near[i].Passage = r.To - 2
	}
	return near, nil
}

// documents lists the passages of the documents of postings.
func (sh *share) documents(list []segment.Posting) ([]segment.PassageRange, error) {
	docs := sh.r.PassageDocs()
	out := make([]segment.PassageRange, 0, len(list))
	for _, post := range list {
		if len(out) > 0 && post.Passage < out[len(out)-1].To {
			continue
		}
		of, err := docs.Range(post.Passage)
		if err != nil {
			return nil, err
		}
		out = append(out, of)
	}
	return out, nil
}

// withPosting keeps the ranges that hold at least one of the postings.
func withPosting(ranges []segment.PassageRange, list []segment.Posting) []segment.PassageRange {
	out := ranges[:0]
	for _, within := range ranges {
		for len(list) > 0 && list[0].Passage < within.From {
			list = list[1:]
		}
		if len(list) > 0 && list[0].Passage < within.To {
			out = append(out, within)
		}
	}
	return out
}

// phrasePairs are the words that a required phrase has side by side, at most 64
// pairs.
func (q *Query) phrasePairs() []pair {
	var out []pair
	for _, ph := range q.phrases {
		for i := 1; ph.must && i < len(ph.terms) && len(out) < 64; i++ {
			out = append(out, pair{ph.terms[i-1], ph.terms[i]})
		}
	}
	return out
}

// nearness checks, passage by passage of a document, that the words of each pair
// are in one passage or in two that follow each other. Words that are farther
// apart do not make a phrase, and the text need not be read.
type nearness struct {
	pairs  []pair
	seen   uint64 // pairs
	last   uint32 // passage
	before uint64 // terms of the last passage
}

func (n *nearness) see(passage uint32, terms uint64) {
	if passage != n.last+1 {
		n.before = 0
	}
	for i, p := range n.pairs {
		if terms&(1<<p.second) != 0 && (terms|n.before)&(1<<p.first) != 0 {
			n.seen |= 1 << i
		}
	}
	n.last, n.before = passage, terms
}

func (n *nearness) all() bool { return bits.OnesCount64(n.seen) == len(n.pairs) }
