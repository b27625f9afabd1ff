package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// TestRegularGroupsNeedNoRepair holds the short way against the long one: a
// group that is taken as regular comes back from a repair as it was.
func TestRegularGroupsNeedNoRepair(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", ""})
		part := rapid.Custom(func(t *rapid.T) llms.Part {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				return llms.Part{Kind: llms.PartText, Text: rapid.SampledFrom([]string{"said", " "}).Draw(t, "text")}
			case 1, 2:
				return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: ids.Draw(t, "call"), Name: "read", Arguments: "{}"}}
			default:
				return llms.Result(ids.Draw(t, "result"), "read", "output", false).Parts[0]
			}
		})
		var messages [][]llms.Part
		if rapid.Bool().Draw(t, "as hosts write it") {
			calls := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "calls")[:rapid.IntRange(1, 3).Draw(t, "how many")]
			messages = [][]llms.Part{{{Kind: llms.PartText, Text: "said"}}}
			for _, id := range calls {
				messages[0] = append(messages[0], llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "read", Arguments: "{}"}})
			}
			for _, id := range rapid.Permutation(calls).Draw(t, "results") {
				messages = append(messages, llms.Result(id, "read", "output", false).Parts)
			}
		} else {
			messages = rapid.SliceOfN(rapid.SliceOfN(part, 0, 3), 1, 4).Draw(t, "messages")
		}
		var group []entry
		for i, parts := range messages {
			group = append(group, entry{item: i, msg: llms.Message{Role: llms.RoleUser, Parts: parts}})
		}
		used := rapid.SliceOfN(ids, 0, 2).Draw(t, "used")
		names, others := newNamer(), newNamer()
		for _, id := range used {
			names.name(id)
			others.name(id)
		}
		if !regular(group, names) {
			return
		}
		seen++
		got, _ := repair(group, names)
		want, notes := mend(group, others)
		if len(notes) > 0 {
			t.Fatalf("a repair changes a regular group: %v", notes)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{}, namer{})); diff != "" {
			t.Fatalf("(-repaired +regular):\n%s", diff)
		}
		if diff := cmp.Diff(others, names, cmp.AllowUnexported(namer{})); diff != "" {
			t.Fatalf("other names are taken (-repaired +regular):\n%s", diff)
		}
	})
	if seen == 0 {
		t.Error("no group was regular")
	}
}
