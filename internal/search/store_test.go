package search_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/internal/corpus"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// The tail answers for every document as soon as it was added, and lets go of
// the documents that a stored segment took over.
func TestTail(t *testing.T) {
	tail := segment.NewTail(segment.Options{})
	l := &library{}
	for i := range 60 {
		d := segment.Doc{ID: int64(i + 1), Time: int64(i) * 3_600_000, Text: fmt.Appendf(nil, "note number n%d", i)}
		l.docs = append(l.docs, d)
		if err := tail.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		l.ix.Segments = tail.Segments()
		res := l.search(t, fmt.Sprintf("n%d", i), search.Request{})
		if len(res.Hits) != 1 || res.Hits[0].ID != d.ID {
			t.Fatalf("document %d is not found: %+v", d.ID, res.Hits)
		}
		if n := len(l.ix.Segments); n > 7 {
			t.Fatalf("%d segments for %d documents", n, i+1)
		}
	}
	if tail.LastID() != 60 {
		t.Errorf("last id %d", tail.LastID())
	}
	boundary := tail.Segments()[0].Info().LastID
	if tail.Forget(boundary) || tail.Segments()[0].Info().FirstID != boundary+1 {
		t.Error("forgetting a whole segment lost more")
	}
	if !tail.Forget(boundary+1) || len(tail.Segments()) != 0 || tail.LastID() != 0 {
		t.Error("forgetting part of a segment must empty the tail and say so")
	}
	if err := tail.Add(t.Context(), segment.Doc{ID: 9}, segment.Doc{ID: 9}); err == nil {
		t.Error("the same id was accepted twice")
	}
}

// countingBlobs counts the reads that reach the store.
type countingBlobs struct {
	segment.Blobs
	reads int
}

func (c *countingBlobs) Get(ctx context.Context, segment, section int64) ([]byte, error) {
	c.reads++
	return c.Blobs.Get(ctx, segment, section)
}

// A query reads a small part of a segment, and with a cache nothing twice.
func TestReadsLittle(t *testing.T) {
	source := corpus.New(2, 6)
	l := &library{}
	b := segment.NewBuilder(segment.Options{})
	for range 6000 {
		d := source.Next()
		l.docs = append(l.docs, d)
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingBlobs{Blobs: sealed}
	seg, err := segment.Open(t.Context(), newCache(counting, 8<<20), 1)
	if err != nil {
		t.Fatal(err)
	}
	l.ix.Segments = []*segment.Segment{seg}
	first := l.search(t, source.Word(20_000)+" "+source.Word(3000), search.Request{Filter: search.Filter{Conversations: []int64{3}}})
	if counting.reads > len(sealed.Sections)/6 { // also the roles of the candidates
		t.Errorf("%d of %d sections were read", counting.reads, len(sealed.Sections))
	}
	before := counting.reads
	again := l.search(t, source.Word(20_000)+" "+source.Word(3000), search.Request{Filter: search.Filter{Conversations: []int64{3}}})
	if counting.reads != before {
		t.Errorf("the second search read %d sections", counting.reads-before)
	}
	if diff := cmp.Diff(first.Hits, again.Hits); diff != "" {
		t.Error(diff)
	}
}

func TestExcerpt(t *testing.T) {
	text := []byte("Nothing here. " + "Later on, the Zeppelin's mooring mast fell; the mast was old. Ünïcödé follows ünïcödé everywhere, at length.")
	for query, want := range map[string][]string{
		"mast zeppelin": {"Zeppelin's", "mast", "mast"},
		"unicode":       {"Ünïcödé", "ünïcödé"},
		"moor*":         {"mooring"},
		"absent":        nil,
	} {
		q, err := search.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		e := q.Excerpt(text, 60)
		var got []string
		for _, r := range e.Ranges {
			if r[0] < e.Start || r[1] > e.End {
				t.Errorf("%s: %v lies outside of [%d, %d)", query, r, e.Start, e.End)
			}
			got = append(got, string(text[r[0]:r[1]]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s in %q: %s", query, text[e.Start:e.End], diff)
		}
		if e.End-e.Start > 64 {
			t.Errorf("%s: %d bytes", query, e.End-e.Start)
		}
	}
	q, err := search.ParseQuery("absent mast everywhere zeppelin")
	if err != nil {
		t.Fatal(err)
	}
	if e := q.Excerpt(text, 60); !slices.Equal(e.Terms, []int{1, 3}) {
		t.Errorf("the terms in %q are %v", text[e.Start:e.End], e.Terms)
	}
}
