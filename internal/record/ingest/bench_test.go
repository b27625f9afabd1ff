package ingest_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/record/ingest"
)

// The cost of finding that a whole history is stored, as at every turn.
func BenchmarkSync(b *testing.B) {
	for _, size := range []int{100, 1000, 4000, 20_000} {
		for _, ids := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/ids=%v", size, ids), func(b *testing.B) {
				bed := newBed(b, 0)
				all := history(size)
				if ids {
					all = named(all)
				}
				if _, err := bed.Sync(b.Context(), bed.id, ingest.Messages(all...)); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					done, err := bed.Sync(b.Context(), bed.id, ingest.Messages(all...))
					if err != nil || len(done.Stored) > 0 {
						b.Fatal(len(done.Stored), err)
					}
				}
			})
		}
	}
}
