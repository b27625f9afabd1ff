package lcm_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// BenchmarkReading measures what a reader waits for: a context, and searches
// with the texts of what they found. Run against two versions, one after the
// other, it tells what checking costs; processor time is less noisy than time.
func BenchmarkReading(b *testing.B) {
	ctx := b.Context()
	db, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	conversation, err := db.Open(ctx, store.NewConversation{Key: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	in, err := ingest.New(db, nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	for round := range 20 {
		var all []llms.Message
		for _, line := range bytes.Split(bytes.TrimSpace(sample.JSONL()), []byte("\n")) {
			m, err := wire.Decode(llms.FormatOpenAI, "", line)
			if err != nil {
				b.Fatal(err)
			}
			m.ID = fmt.Sprintf("%d-%s-%d", round, m.ID, len(all))
			all = append(all, m)
		}
		if _, err := in.Append(ctx, conversation.ID, ingest.Messages(all...)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Reindex(ctx); err != nil {
		b.Fatal(err)
	}
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("context", func(b *testing.B) {
		before := processorTime()
		for b.Loop() {
			s, err := engine.Resume(ctx, conversation.ID) // a new session has nothing in memory
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Preview(ctx, 200_000); err != nil {
				b.Fatal(err)
			}
		}
		perOperation(b, before)
	})
	svc, err := lookup.New(db)
	if err != nil {
		b.Fatal(err)
	}
	for name, r := range map[string]recall.GrepRequest{
		"full_text": {Pattern: "why does the poller not back off", Mode: store.FullText},
		"regex":     {Pattern: `backoff\w*`, Mode: store.Regex},
	} {
		r.AllConversations = true
		b.Run(name, func(b *testing.B) {
			before := processorTime()
			for b.Loop() {
				if _, err := svc.Grep(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
			perOperation(b, before)
		})
	}
}

func perOperation(b *testing.B, before time.Duration) {
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
