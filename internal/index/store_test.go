package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/index"
	"github.com/lossless-context/lcm/internal/index/internal/corpus"
)

// The tail answers for every document as soon as it was added, and lets go of
// what a stored segment took over.
func TestTail(t *testing.T) {
	tail := index.NewTail(index.Options{})
	l := &library{}
	for i := range 60 {
		d := index.Doc{ID: int64(i + 1), Time: int64(i) * 3_600_000, Text: fmt.Appendf(nil, "note number n%d", i)}
		l.docs = append(l.docs, d)
		if err := tail.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		l.ix.Segments = tail.Segments()
		res := l.search(t, fmt.Sprintf("n%d", i), index.Request{})
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
	if err := tail.Add(t.Context(), index.Doc{ID: 9}, index.Doc{ID: 9}); err == nil {
		t.Error("the same id was accepted twice")
	}
}

// Merging as planned keeps segments few and every document in exactly one.
func TestPlanMerge(t *testing.T) {
	var infos []index.Info
	written, next := 0, int64(1)
	const seals = 700
	for range seals {
		infos = append(infos, index.Info{Docs: index.SealDocs, FirstID: next, LastID: next + index.SealDocs - 1})
		next += index.SealDocs
		written += index.SealDocs
		for from, to, ok := index.PlanMerge(infos); ok; from, to, ok = index.PlanMerge(infos) {
			sum := index.Info{FirstID: infos[from].FirstID, LastID: infos[to-1].LastID}
			for _, i := range infos[from:to] {
				sum.Docs += i.Docs
			}
			written += sum.Docs
			infos = slices.Replace(infos, from, to, sum)
		}
		if len(infos) > 35 {
			t.Fatalf("%d segments", len(infos))
		}
	}
	total := 0
	for i, info := range infos {
		total += info.Docs
		if i > 0 && info.FirstID != infos[i-1].LastID+1 {
			t.Errorf("segment %d begins at %d", i, info.FirstID)
		}
	}
	if total != seals*index.SealDocs || written > 3*total {
		t.Errorf("%d documents, written %.2f times over", total, float64(written)/float64(total))
	}
}

// countingBlobs counts what reaches the store.
type countingBlobs struct {
	index.Blobs
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
	b := index.NewBuilder(index.Options{})
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
	seg, err := index.Open(t.Context(), newCache(counting, 8<<20), 1)
	if err != nil {
		t.Fatal(err)
	}
	l.ix.Segments = []*index.Segment{seg}
	first := l.search(t, source.Word(20_000)+" "+source.Word(3000), index.Request{Filter: index.Filter{Conversations: []int64{3}}})
	if counting.reads > len(sealed.Sections)/8 {
		t.Errorf("%d of %d sections were read", counting.reads, len(sealed.Sections))
	}
	before := counting.reads
	again := l.search(t, source.Word(20_000)+" "+source.Word(3000), index.Request{Filter: index.Filter{Conversations: []int64{3}}})
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
		q, err := index.ParseQuery(query)
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
	q, err := index.ParseQuery("absent mast everywhere zeppelin")
	if err != nil {
		t.Fatal(err)
	}
	if e := q.Excerpt(text, 60); !slices.Equal(e.Terms, []int{1, 3}) {
		t.Errorf("the terms in %q are %v", text[e.Start:e.End], e.Terms)
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := index.NewBuilder(index.Options{})
	if _, err := b.Seal(); err == nil {
		t.Error("an empty segment was sealed")
	}
	b = index.NewBuilder(index.Options{})
	if err := b.Add(index.Doc{ID: 5}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{5, 4, 5 + 1<<33} {
		if err := b.Add(index.Doc{ID: id}); err == nil {
			t.Errorf("document %d was accepted after 5", id)
		}
	}
	a, z := seal(t, []index.Doc{{ID: 1}, {ID: 3}}), seal(t, []index.Doc{{ID: 2}})
	if _, err := index.Merge(t.Context(), []*index.Segment{a, z}); err == nil {
		t.Error("overlapping segments were merged")
	}
}

// Whatever is sealed, live or in bulk, of short texts or of long ones, is merged
// as far as memory allows, and no further.
func TestPlanMergeBoundsMemory(t *testing.T) {
	const most = 16 << 20
	for _, seal := range []struct{ docs, bytes int }{
		{1024, 100}, {1024, 350}, {1024, 2000}, {1024, 4100}, {1024, 8100}, {2000, 350}, {4096, 350}, {5000, 350}, {6143, 350}, {12288, 440}, {12288, 460}, {300, 60_000},
	} {
		var infos []index.Info
		written, total := 0, 0
		for total < 1_000_000 {
			infos = append(infos, index.Info{Docs: seal.docs, WordBytes: int64(seal.docs * seal.bytes)})
			total += seal.docs
			for from, to, ok := index.PlanMerge(infos); ok; from, to, ok = index.PlanMerge(infos) {
				var sum index.Info
				for _, i := range infos[from:to] {
					sum.Docs += i.Docs
					sum.WordBytes += i.WordBytes
				}
				if sum.WordBytes > most || sum.Docs > 36*index.SealDocs {
					t.Fatalf("%+v: %d to %d are %d documents, %d bytes", seal, from, to, sum.Docs, sum.WordBytes)
				}
				written += sum.Docs
				infos = slices.Replace(infos, from, to, sum)
			}
		}
		// Each is at least a third of what one may hold.
		if few := 3 * (30 + total/(36*index.SealDocs) + total*seal.bytes/most); len(infos) > few || written > 2*total {
			t.Errorf("%+v: %d segments, more than %d, and written %.2f times over", seal, len(infos), few, float64(written)/float64(total))
		}
	}
}
