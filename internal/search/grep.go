package search

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// GrepRequest is a search by pattern.
type GrepRequest struct {
	Pattern *Pattern
	Filter  Filter
	Below   int64 // only documents with lower ids, for paging; zero: all
	// Readers is how many goroutines may call fetch at once. With more than
	// one, reading is spread over the cores along with matching; zero is one.
	Readers int
}

// GrepResult is an account of a search by pattern.
type GrepResult struct {
	Candidates int  // documents that the index could not rule out
	Read       int  // texts that were read
	Matched    int  // texts that matched, as far as the search went
	Complete   bool // every candidate was read
}

// Grep yields the documents that match, newest first, until yield returns
// false. It is exact: the index only spares reading texts that cannot match.
// When ctx ends first it returns its error, whatever the filter and fetch made
// of that.
func (ix Index) Grep(ctx context.Context, req GrepRequest, fetch Fetch, yield func(id int64) bool) (GrepResult, error) {
	res := GrepResult{Complete: true}
	with := &matchers{pattern: req.Pattern}
	// The first answers are wanted soon, the rest at speed.
	size := 64
	for n := len(ix.Segments) - 1; n >= 0; n-- {
		seg := ix.Segments[n]
		if req.Filter.outside(seg) || req.Below != 0 && seg.Info().FirstID >= req.Below {
			continue
		}
		r := seg.Reader(ctx)
		ids, err := req.candidates(r)
		res.Candidates += len(ids)
		for err == nil && len(ids) > 0 {
			part := ids[:min(size, len(ids))]
			ids = ids[len(part):]
			size = min(2*size, 16*partDocs)
			var more bool
			if more, err = req.part(ctx, part, with, fetch, yield, &res); err == nil && !more {
				res.Complete = false
				return res, nil
			}
		}
		if err != nil {
			res.Complete = false
			return res, err
		}
	}
	return res, nil
}

// part reads and matches one run of candidates, and yields in their order.
func (req GrepRequest) part(ctx context.Context, ids []int64, with *matchers, fetch Fetch, yield func(int64) bool, res *GrepResult) (bool, error) {
	hits, read, err := req.match(ctx, ids, with, fetch)
	res.Read += read
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if !hits[id] {
			continue
		}
		res.Matched++
		if !yield(id) {
			return false, nil
		}
	}
	return true, nil
}

// match returns the candidates that match and how many texts were read.
func (req GrepRequest) match(ctx context.Context, ids []int64, with *matchers, fetch Fetch) (hits map[int64]bool, read int, err error) {
	parts := slices.Collect(slices.Chunk(ids, partDocs))
	found, counts := make([][]int64, len(parts)), make([]int, len(parts))
	workers := 0
	err = inParallel(len(parts), req.Readers, func() func(int) error {
		m := with.at(workers)
		workers++
		return func(i int) error {
			return fetch(ctx, parts[i], func(id int64, text []byte) bool {
				counts[i]++
				if ctx.Err() == nil && m.match(text) {
					found[i] = append(found[i], id)
				}
				return ctx.Err() == nil
			})
		}
	})
	hits = make(map[int64]bool)
	for i := range parts {
		for _, id := range found[i] {
			hits[id] = true
		}
		read += counts[i]
	}
	return hits, read, err
}

// candidates lists the documents of a segment that may match, newest first.
func (req GrepRequest) candidates(r *segment.Reader) ([]int64, error) {
	accept := req.acceptor(r)
	var ids []int64
	err := r.Candidates(req.Pattern.query, func(doc uint32) error {
		id, ok, err := accept(doc)
		if ok {
			ids = append(ids, id)
		}
		return err
	})
	return ids, err
}

// acceptor tells whether the request asks for a document. It reads more than
// the id only when there is something to filter by.
func (req GrepRequest) acceptor(r *segment.Reader) func(doc uint32) (int64, bool, error) {
	scope := make(map[int64]bool, len(req.Filter.Conversations))
	for _, c := range req.Filter.Conversations {
		scope[c] = true
	}
	plain := req.Filter.plain(r.Segment)
	return func(doc uint32) (int64, bool, error) {
		id, err := r.DocID(doc)
		if err != nil || req.Below != 0 && id >= req.Below {
			return 0, false, err
		}
		if len(scope) > 0 {
			row, err := r.Doc(doc)
			if err != nil || !scope[row.Conversation] {
				return 0, false, err
			}
		}
		if plain {
			return id, true, nil
		}
		ok, err := req.Filter.passes(r, doc)
		return id, ok, err
	}
}
