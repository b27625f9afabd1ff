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
		Kind: summary.Leaf, Sources: sources,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Text)
	// Output:
	// user#1: The upload fails for files over 2 GB. Please find out why, we need it fixed by 2026-04-01.
	// assistant#4: The root cause is an int32 in api/upload.go:88: contentLength() overflows. There is also a comment about a proxy that nobody remembers. I would change it to int64.
	// Expand for details about: the exact words of #1–#4
}
