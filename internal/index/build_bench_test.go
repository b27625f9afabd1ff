package index_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/index"
	"github.com/lossless-context/lcm/internal/index/internal/corpus"
)

// BenchmarkBuild indexes and seals segments of several sizes; ns/doc is the
// cost that every document adds to ingest.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{index.SealDocs, 12 * index.SealDocs} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			docs := benchDocs(n)
			for b.Loop() {
				if _, err := index.Build(b.Context(), docs, index.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/doc")
		})
	}
}

// BenchmarkMerge merges twelve segments into one.
func BenchmarkMerge(b *testing.B) {
	docs := benchDocs(12 * index.SealDocs)
	var segments []*index.Segment
	for part := range slices.Chunk(docs, index.SealDocs) {
		segments = append(segments, seal(b, part))
	}
	for b.Loop() {
		if _, err := index.Merge(b.Context(), segments); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(docs)), "ns/doc")
}

func benchDocs(n int) []index.Doc {
	source := corpus.New(1, 4)
	docs := make([]index.Doc, n)
	for i := range docs {
		docs[i] = source.Next()
	}
	return docs
}
