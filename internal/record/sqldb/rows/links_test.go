package rows

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Whatever the ids of tool calls hold, they come back.
func TestLinksComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_0-9]{1,20}`), rapid.SampledFrom([]string{"", "]", "null", `"`, "],[", "\\"}))
		calls, results := rapid.SliceOfN(id, 0, 4).Draw(rt, "calls"), rapid.SliceOfN(id, 0, 4).Draw(rt, "results")
		encoded, err := linksOf(calls, results)
		if err != nil {
			rt.Fatal(err)
		}
		if encoded == nil {
			return
		}
		gotCalls, gotResults, err := parseLinks(encoded.(string))
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff([][]string{calls, results}, [][]string{gotCalls, gotResults}, cmpopts.EquateEmpty()); d != "" {
			rt.Fatalf("%s: %s", encoded, d)
		}
	})
}
