package search

import (
	"cmp"
	"slices"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// A segment has the positions of its words and answers a phrase without a text.

// withPhrases lists the passages of the documents that hold every required phrase,
// a range for each document. It returns false if no phrase is required.
func (sh *share) withPhrases(q *Query) (live []segment.PassageRange, ok bool, err error) {
	for _, ph := range q.phrases {
		if ph.not {
			continue
		}
		if !ok {
			live = sh.ranges
		}
		starts, err := sh.phraseStarts(ph, live)
		if err != nil {
			return nil, false, err
		}
		if ok {
			live = withPosting(live, starts)
		} else if live, err = sh.documents(starts); err != nil {
			return nil, false, err
		}
		ok = true
	}
	return live, ok, nil
}

// withoutPhrases leaves the documents out that hold an excluded phrase.
func (sh *share) withoutPhrases(q *Query, live []segment.PassageRange) ([]segment.PassageRange, error) {
	for _, ph := range q.phrases {
		if !ph.not {
			continue
		}
		starts, err := sh.phraseStarts(ph, live)
		if err != nil {
			return nil, err
		}
		without, err := sh.documents(starts)
		if err != nil {
			return nil, err
		}
		live = subtract(live, without)
	}
	return live, nil
}

// inPhrase reports a term that a required phrase has.
func (q *Query) inPhrase(term string) bool {
	return slices.ContainsFunc(q.phrases, func(ph phrase) bool { return !ph.not && slices.Contains(ph.keys, term) })
}

// phraseStarts lists the passages in which the phrase begins, among some. The
// rarest word comes first: of the others only the places beside it are looked at.
func (sh *share) phraseStarts(ph phrase, among []segment.PassageRange) ([]segment.Posting, error) {
	type word struct {
		at int // in the phrase
		segment.DictEntry
	}
	var words []word
	for i, term := range ph.keys {
		e, ok, err := sh.r.Lookup(term)
		if err != nil || !ok {
			return nil, err
		}
		words = append(words, word{i, e})
	}
	slices.SortStableFunc(words, func(x, y word) int { return cmp.Compare(x.DF, y.DF) })
	var starts, places []uint64
	for n, w := range words {
		if n > 0 {
			among = passagesAt(starts, uint64(w.at))
		}
		var err error
		if places, err = sh.r.Occurrences(places[:0], w.DictEntry, ph.words[w.at], among); err != nil {
			return nil, err
		}
		if n == 0 {
			starts, places = startsOf(places, uint64(w.at)), nil
		} else {
			starts = startsWith(starts, places, uint64(w.at))
		}
		if len(starts) == 0 {
			return nil, nil
		}
	}
	return sh.inOneDocument(starts, uint64(len(words)))
}

// startsOf are the places where a phrase would begin whose word number at stands
// at the places. It overwrites the places.
func startsOf(places []uint64, at uint64) []uint64 {
	out := places[:0]
	for _, place := range places {
		if place >= at {
			out = append(out, place-at)
		}
	}
	return out
}

// startsWith keeps the starts after which word number at stands at one of the
// places.
func startsWith(starts, places []uint64, at uint64) []uint64 {
	out := starts[:0]
	for _, start := range starts {
		for len(places) > 0 && places[0] < start+at {
			places = places[1:]
		}
		if len(places) > 0 && places[0] == start+at {
			out = append(out, start)
		}
	}
	return out
}

// passagesAt are the passages of word number at of the phrases that begin at
// starts.
func passagesAt(starts []uint64, at uint64) []segment.PassageRange {
	out := make([]segment.PassageRange, 0, len(starts))
	for _, start := range starts {
		passage := uint32((start + at) / segment.PassageWords)
		if n := len(out); n > 0 && out[n-1].To > passage {
			continue
		} else if n > 0 && out[n-1].To == passage {
			out[n-1].To++
		} else {
			out = append(out, segment.PassageRange{From: passage, To: passage + 1})
		}
	}
	return out
}

// inOneDocument returns the passages of the starts whose phrase does not go on
// into the next document.
func (sh *share) inOneDocument(starts []uint64, words uint64) ([]segment.Posting, error) {
	docs := sh.r.PassageDocs()
	out := make([]segment.Posting, 0, len(starts))
	for _, start := range starts {
		first, last := uint32(start/segment.PassageWords), uint32((start+words-1)/segment.PassageWords)
		if n := len(out); n > 0 && out[n-1].Passage == first {
			continue
		}
		if in, err := docs.InOneDocument(first, last); err != nil {
			return nil, err
		} else if in {
			out = append(out, segment.Posting{Passage: first})
		}
	}
	return out, nil
}

// subtract cuts ranges out of others. Both are in order, and each that is cut out
// lies within one of the others.
func subtract(ranges, without []segment.PassageRange) []segment.PassageRange {
	var out []segment.PassageRange
	for _, r := range ranges {
		for len(without) > 0 && without[0].From < r.To {
			if r.From < without[0].From {
				out = append(out, segment.PassageRange{From: r.From, To: without[0].From})
			}
			r.From, without = without[0].To, without[1:]
		}
		if r.From < r.To {
			out = append(out, r)
		}
	}
	return out
}
