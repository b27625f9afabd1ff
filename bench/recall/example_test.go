package recall_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/bench/recall"
)

func ExampleRun() {
	d, err := recall.Parse([]byte(`
{"id": "trip", "sessions": [{"id": "monday", "messages": [
  {"id": "m1", "role": "user", "time": "2026-01-05T09:00:00Z", "text": "We leave from platform nine."},
  {"id": "m2", "role": "assistant", "time": "2026-01-05T09:01:00Z", "text": "Noted."}]}]}
{"conversation": "trip", "question": "Which platform do we leave from?", "evidence": ["m1"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := recall.Run(context.Background(), d, recall.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range report.Systems {
		fmt.Printf("%s: r@5 %.2f\n", s.Name, s.All.R5.Mean)
	}
	// Output:
	// lcm: r@5 1.00
	// FTS5 AND: r@5 0.00
	// FTS5 OR, porter, no function words: r@5 1.00
}
