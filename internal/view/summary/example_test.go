package summary_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

func ExampleExtractive() {
	sources := []summary.Source{
		{Seq: 1, Role: llms.RoleUser, Text: "The upload fails for files over 2 GB. Please find out why, we need it fixed by 2026-04-01."},
		{Seq: 2, Role: llms.RoleAssistant, Text: "Let me look at the handler.\n→ read({\"path\":\"api/upload.go\"})"},
		{Seq: 3, Role: llms.RoleTool, Text: "← read: package api\n" + strings.Repeat("// a long file\n", 40)},
		{Seq: 4, Role: llms.RoleAssistant, Text: "The root cause is an int32 in api/upload.go:88: contentLength() overflows. " +
			"There is also a comment about a proxy that nobody remembers. I would change it to int64."},
	}
	got, err := summary.NewExtractive().Summarise(context.Background(), summary.Request{
		Kind: summary.Leaf, Target: 90, Sources: sources,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Text)
	// Output:
	// user#1: The upload fails for files over 2 GB.
	// assistant#4: The root cause is an int32 in api/upload.go:88: contentLength() overflows.
	// assistant#4: I would change it to int64.
	// Identifiers: 2026-04-01
	// Expand for details about: nobody remembers (#4), find (#1), fixed (#1), comment (#4)
}

func ExampleIdentifiers() {
	for _, id := range summary.Identifiers("See store/fold.go:118, released with v1.2.0 on 2026-03-01; retryLimit is now 250 ms.") {
		fmt.Println(id.Class, id.Text)
	}
	// Output:
	// path store/fold.go:118
	// version v1.2.0
	// date 2026-03-01
	// symbol retryLimit
	// number 250 ms
}
