package segment_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// Any bytes make a header or an error, never a panic, and never a claim that a
// reader follows out of bounds.
func FuzzHeader(f *testing.F) {
	b := segment.NewBuilder(segment.Options{})
	for i := range int64(40) {
		if err := b.Add(segment.Doc{ID: i + 1, Conversation: i % 3, Text: []byte("some words to find again, number " + strings.Repeat("x", int(i)))}); err != nil {
			f.Fatal(err)
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		f.Fatal(err)
	}
	header := sealed.Sections[0]
	f.Add(header[:len(header)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		damaged := segment.Sealed{Sections: slices.Clone(sealed.Sections)}
		damaged.Sections[0] = segment.SealSection(slices.Clone(data))
		seg, err := damaged.Segment(t.Context())
		if err != nil || seg.Passages() > 1<<20 || segment.Blocks(seg) > 1<<20 {
			return
		}
		nothing := func(_ context.Context, _ []int64, _ func(int64, []byte) bool) error { return nil }
		ix := search.Index{Segments: []*segment.Segment{seg}}
		for _, query := range []string{"words again numb*", `"some words" -"find x"`} {
			q, err := search.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = ix.Search(t.Context(), search.Request{Query: q}, nothing)
		}
		p, err := search.ParsePattern("again|find")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = ix.Grep(t.Context(), search.GrepRequest{Pattern: p}, nothing, func(int64) bool { return true })
	})
}

func TestDamageIsReported(t *testing.T) {
	b := segment.NewBuilder(segment.Options{})
	for i := range int64(500) {
		if err := b.Add(segment.Doc{ID: i + 1, Text: binary.AppendUvarint([]byte("plain words "), uint64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	q, err := search.ParseQuery(`"plain words"`)
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for n := range sealed.Sections {
		damaged := segment.Sealed{Sections: slices.Clone(sealed.Sections)}
		damaged.Sections[n] = slices.Clone(damaged.Sections[n])
		damaged.Sections[n][len(damaged.Sections[n])/2] ^= 4
		seg, err := damaged.Segment(t.Context())
		if err == nil {
			_, err = search.Index{Segments: []*segment.Segment{seg}}.Search(t.Context(), search.Request{Query: q},
				func(context.Context, []int64, func(int64, []byte) bool) error { return nil })
		}
		if err != nil {
			reported++
		}
	}
	if reported == 0 {
		t.Error("no damage was noticed")
	}
}
