package search

import (
	"cmp"
	"slices"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// A document must have every required word. The rarest of them names the
// documents that can match. Of the longer lists only the blocks that touch those
// are decoded, so that "the" in a phrase costs little.

// narrow lists the passages of the share's documents that hold every required
// word, a range for each document, in order. Without a required word it is the
// whole share. Documents are also left out by phrases. A document that holds an
// excluded phrase may be asked for one of its parts that does not.
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
		return live, err
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
	first, err := sh.postings(required[0])
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
