package index_test

import (
	"testing"

	"github.com/lossless-context/lcm/index"
	"github.com/lossless-context/lcm/index/internal/corpus"
)

// BenchmarkBuild indexes and seals one segment; ns/doc is the cost that every
// document adds to ingest.
func BenchmarkBuild(b *testing.B) {
	source := corpus.New(1, 4)
	docs := make([]index.Doc, index.SealDocs)
	var bytes int64
	for i := range docs {
		docs[i] = source.Next()
		bytes += int64(len(docs[i].Text))
	}
	b.SetBytes(bytes)
	for b.Loop() {
		builder := index.NewBuilder(index.Options{Docs: index.SealDocs})
		for _, d := range docs {
			if err := builder.Add(d); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := builder.Seal(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(docs)), "ns/doc")
}
