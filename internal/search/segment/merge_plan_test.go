package segment_test

import (
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// Merging as planned keeps segments few and every document in exactly one.
func TestPlanMerge(t *testing.T) {
	var infos []segment.Info
	written, next := 0, int64(1)
	const seals = 700
	for range seals {
		infos = append(infos, segment.Info{Docs: segment.SealDocs, FirstID: next, LastID: next + segment.SealDocs - 1})
		next += segment.SealDocs
		written += segment.SealDocs
		for from, to, ok := segment.PlanMerge(infos); ok; from, to, ok = segment.PlanMerge(infos) {
			sum := segment.Info{FirstID: infos[from].FirstID, LastID: infos[to-1].LastID}
			for _, i := range infos[from:to] {
				sum.Docs += i.Docs
			}
			written += sum.Docs
			infos = slices.Replace(infos, from, to, sum)
		}
		if len(infos) > 75 {
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
	if total != seals*segment.SealDocs || written > 2*total {
		t.Errorf("%d documents, written %.2f times over", total, float64(written)/float64(total))
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := segment.NewBuilder(segment.Options{})
	if _, err := b.Seal(); err == nil {
		t.Error("an empty segment was sealed")
	}
	b = segment.NewBuilder(segment.Options{})
	if err := b.Add(segment.Doc{ID: 5}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{5, 4, 5 + 1<<33} {
		if err := b.Add(segment.Doc{ID: id}); err == nil {
			t.Errorf("document %d was accepted after 5", id)
		}
	}
}

// Whatever is sealed, live or in bulk, of short texts or of long ones, is merged
// as far as memory allows, and no further.
func TestPlanMergeBoundsMemory(t *testing.T) {
	const most = 8 << 20
	for _, seal := range []struct{ docs, bytes int }{
		{1024, 100}, {1024, 350}, {1024, 2000}, {1024, 4100}, {1024, 8100}, {2000, 350}, {4096, 350}, {5000, 350}, {6143, 350}, {12288, 440}, {12288, 460}, {300, 60_000},
	} {
		var infos []segment.Info
		written, total := 0, 0
		for total < 1_000_000 {
			infos = append(infos, segment.Info{Docs: seal.docs, WordBytes: int64(seal.docs * seal.bytes)})
			total += seal.docs
			for from, to, ok := segment.PlanMerge(infos); ok; from, to, ok = segment.PlanMerge(infos) {
				var sum segment.Info
				for _, i := range infos[from:to] {
					sum.Docs += i.Docs
					sum.WordBytes += i.WordBytes
				}
				if sum.WordBytes > most || sum.Docs > 12*segment.SealDocs {
					t.Fatalf("%+v: %d to %d are %d documents, %d bytes", seal, from, to, sum.Docs, sum.WordBytes)
				}
				written += sum.Docs
				infos = slices.Replace(infos, from, to, sum)
			}
		}
		// Each is at least a third of what one may hold.
		if few := 3 * (30 + total/(12*segment.SealDocs) + total*seal.bytes/most); len(infos) > few || written > 2*total {
			t.Errorf("%+v: %d segments, more than %d, and written %.2f times over", seal, len(infos), few, float64(written)/float64(total))
		}
	}
}

// Two or three segments that fill one are left alone, also where a fourth would fit
// after the first is left out.
func TestPlanMergeLeavesFew(t *testing.T) {
	for _, c := range []struct {
		mb       []int64
		from, to int
	}{
		{mb: []int64{4, 4, 4, 4}},
		{mb: []int64{3, 3, 2, 3, 3, 2}},
		{[]int64{2, 2, 2, 2, 2}, 0, 4},
		{[]int64{7, 2, 2, 2, 2, 2}, 1, 5},
		{[]int64{3, 3, 2, 2, 1, 3}, 1, 5},
	} {
		var infos []segment.Info
		for _, mb := range c.mb {
			infos = append(infos, segment.Info{Docs: 900, WordBytes: mb << 20})
		}
		if from, to, ok := segment.PlanMerge(infos); from != c.from || to != c.to || ok != (to > 0) {
			t.Errorf("of %v the plan joins %d to %d (%v), not %d to %d", c.mb, from, to, ok, c.from, c.to)
		}
	}
}
