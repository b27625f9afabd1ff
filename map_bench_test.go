package lcm_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

// BenchmarkMap is the cost of an item whose model costs nothing.
func BenchmarkMap(b *testing.B) {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	engine, err := lcm.New(db)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := errors.Join(engine.Close(ctx), db.Close()); err != nil {
			b.Error(err)
		}
	}()
	model := llmtest.New(func(llms.Request) llmtest.Reply { return llmtest.Say(`{"letters": 7}`) })
	const items = 10_000
	n, before := 0, processorTime()
	for b.Loop() {
		job := lcm.MapJob{Key: fmt.Sprint("job ", n), Prompt: "Count the letters.", Model: model}
		for i := range items {
			job.Items = append(job.Items, fmt.Sprintf("item %d of job %d, about as long as a line of text usually is", i, n))
		}
		for _, err := range lcm.MapInto[size](ctx, engine.Session("bench"), job) {
			if err != nil {
				b.Fatal(err)
			}
		}
		n++
	}
	b.ReportMetric(float64((processorTime()-before).Microseconds())/1000/float64(n*items), "cpu-ms/item")
}
