package segment_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/search/internal/corpus"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// BenchmarkBuild indexes and seals segments of several sizes; ns/doc is the
// cost that every document adds to ingest.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{segment.SealDocs, 12 * segment.SealDocs} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			docs := benchDocs(n)
			for b.Loop() {
				if _, err := segment.Build(b.Context(), docs, segment.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/doc")
		})
	}
}

func benchDocs(n int) []segment.Doc {
	source := corpus.New(1, 4)
	docs := make([]segment.Doc, n)
	for i := range docs {
		docs[i] = source.Next()
	}
	return docs
}
