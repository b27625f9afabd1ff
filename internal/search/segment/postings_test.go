package segment

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRiceRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfDistinct(rapid.Uint32Range(0, 5000), rapid.ID).Draw(t, "blocks")
		slices.Sort(blocks)
		total := uint32(5001)
		if len(blocks) > 0 && rapid.Bool().Draw(t, "tight") {
			total = blocks[len(blocks)-1] + 1
		}
		b := appendRice(nil, blocks, total)
		got, err := decodeRice(nil, b, uint32(len(blocks)), total)
		if err != nil || !slices.Equal(got, blocks) {
			t.Fatalf("%v → %v, %v", blocks, got, err)
		}
	})
}

func TestPostingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 700).Draw(t, "n")
		step := rapid.IntRange(1, 400).Draw(t, "step")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var list []Posting
		var written []listed
		p := uint32(rng.IntN(5))
		for range n {
			list = append(list, Posting{p, uint8(1 + rng.IntN(3))})
			written = append(written, listed{Posting: list[len(list)-1]})
			p += 1 + uint32(rng.IntN(step))
		}
		w := dictWriter{}
		w.add([]byte("before"), written[:1], nil, nil)
		w.add([]byte("term"), written, nil, nil)
		seg := &Segment{header: header{terms: w.blocks}}
		seg.streams[streamTerms] = streamPlace{1, w.terms.size()}
		seg.streams[streamPostings] = streamPlace{1000, w.postings.size()}
		blobs := streamBlobs{1: unsealed(&w.terms), 1000: unsealed(&w.postings)}
		seg.blobs = blobs
		r := seg.Reader(t.Context())
		e, ok, err := r.Lookup("term")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		from := rapid.Uint32Range(0, p).Draw(t, "from")
		to := rapid.Uint32Range(from, p+1).Draw(t, "to")
		got, err := r.PostingsIn(nil, e, PassageRange{from, to})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(list), func(p Posting) bool { return p.Passage < from || p.Passage >= to })
		if !slices.Equal(got, want) {
			t.Fatalf("[%d,%d): %v, want %v", from, to, got, want)
		}
	})
}
