package retention_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/bench/retention"
	"github.com/lossless-context/lcm/internal/proof/sample"
)

func ExampleMeasure() {
	report, err := retention.Measure(context.Background(), retention.FromMessages(sample.Messages()), retention.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	leaves := report.Depths[0]
	fmt.Println("every sentence is verbatim:", leaves.Fidelity == 1)
	fmt.Println("beats head truncation:", leaves.Prose.Share() > leaves.Prose.HeadShare())
	// Output:
	// every sentence is verbatim: true
	// beats head truncation: true
}
