package search

import (
	"cmp"
	"slices"
)

// scoredDoc is a candidate that was looked at.
type scoredDoc struct {
	found
	id   int64
	text textScore
	read bool // text is its score
}

// passed is a candidate of a list whose text passes.
type passed struct {
	at int // its place in the list
	scoredDoc
}

// read takes candidates in batches and keeps those whose text passes, until it
// has as many as are wanted; all says that none was left. It reads ahead, since
// texts are read faster in order of their ids than in order of their scores. It
// ignores the texts behind the batch that sufficed, so that reading ahead does
// not change an answer.
func (p *search) read(list []found, want int, fetch Fetch, res *Result) (docs []scoredDoc, all bool, err error) {
	size := candidateCount
	read := 0
	for read < len(list) {
		window := list[read:min(read+size, len(list))]
		got, err := p.readWindow(window, fetch)
		if err != nil {
			return nil, false, err
		}
		res.Verified += len(window)
		for end := 0; end < len(window); {
			if len(docs) >= want {
				return docs, false, nil
			}
			end = min(end+candidateCount, len(window))
			for len(got) > 0 && got[0].at < end {
				p.scorer.count(got[0].text)
				docs = append(docs, got[0].scoredDoc)
				got = got[1:]
			}
		}
		read += len(window)
		if len(docs) >= want {
			return docs, read == len(list), nil
		}
		size = ahead(size, want, len(docs), read)
	}
	return docs, true, nil
}

// counts stands for the number of times that a document has each term, of which
// the postings only tell that it has it.
func (f found) counts(terms int) []float64 {
	out := make([]float64, terms)
	for i := range out {
		if f.terms&(1<<i) != 0 {
			out[i] = 1
		}
	}
	return out
}

// unread adds candidates with the score of their postings.
func (p *search) unread(docs []scoredDoc, rest []found) ([]scoredDoc, error) {
	for _, f := range rest {
		id, err := p.shares[f.share].r.DocID(f.doc)
		if err != nil {
			return nil, err
		}
		docs = append(docs, scoredDoc{found: f, id: id})
	}
	return docs, nil
}

// ahead is how many candidates are read next: as many as will be needed if as
// few pass as did so far, in whole batches, but not many more than before.
func ahead(size, want, have, read int) int {
	need := (want - have) * read / max(1, have)
	batches := min(need/candidateCount+1, 4*size/candidateCount)
	return batches * candidateCount
}

// readWindow reads candidates, on several goroutines if they are many, and
// returns those that pass, in the order of the list.
func (p *search) readWindow(list []found, fetch Fetch) ([]passed, error) {
	ids := make([]int64, len(list))
	at := make(map[int64]int, len(list))
	for i, f := range list {
		id, err := p.shares[f.share].r.DocID(f.doc)
		if err != nil {
			return nil, err
		}
		ids[i] = id
		at[id] = i
	}
	slices.Sort(ids) // rows that lie together are read together
	parts := slices.Collect(slices.Chunk(ids, partDocs))
	out := make([][]passed, len(parts))
	err := inParallel(len(parts), p.readers, func() func(int) error {
		sc := p.scorer.clone()
		return func(i int) (err error) {
			out[i], err = p.readPart(parts[i], list, at, sc, fetch)
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(out...)
	slices.SortFunc(all, func(x, y passed) int { return cmp.Compare(x.at, y.at) })
	return all, nil
}

// readPart reads the texts of some candidates and keeps those that pass.
func (p *search) readPart(ids []int64, list []found, at map[int64]int, sc *scorer, fetch Fetch) ([]passed, error) {
	var out []passed
	err := fetch(p.ctx, ids, func(id int64, text []byte) bool {
		i, ok := at[id]
		if ok && (!p.verify || p.query.satisfied(text)) {
			d := scoredDoc{found: list[i], id: id}
			if d.scored && len(text) <= scoreTextBytes {
				d.text, d.read = sc.score(text), true
			}
			out = append(out, passed{i, d})
		}
		return p.ctx.Err() == nil
	})
	if err == nil {
		err = p.ctx.Err()
	}
	return out, err
}
