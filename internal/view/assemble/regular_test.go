package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// TestRegularGroupsNeedNoRepair: calls of new ids and then their results, in any
// order, come back from a repair as they were.
func TestRegularGroupsNeedNoRepair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "calls")[:rapid.IntRange(1, 3).Draw(t, "how many")]
		messages := [][]llms.Part{{{Kind: llms.PartText, Text: "said"}}}
		for _, id := range calls {
			messages[0] = append(messages[0], llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "read", Arguments: "{}"}})
		}
		for _, id := range rapid.Permutation(calls).Draw(t, "results") {
			messages = append(messages, llms.Result(id, "read", "output", false).Parts)
		}
		var group []entry
		for i, parts := range messages {
			group = append(group, entry{item: i, msg: llms.Message{Role: llms.RoleUser, Parts: parts}})
		}
		got, notes := repair(group, newNamer())
		if len(notes) > 0 {
			t.Fatalf("a repair changes a regular group: %v", notes)
		}
		if diff := cmp.Diff(group, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Fatalf("(-as it was +repaired):\n%s", diff)
		}
	})
}
