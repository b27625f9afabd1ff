package mcpserver

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/recall"
)

// A list of ids is cut above forty, and the note says how many there are and which is the last.
func TestShorten(t *testing.T) {
	for n, kept := range map[int]int{0: 0, maxIDs - 1: maxIDs - 1, maxIDs: maxIDs, maxIDs + 1: maxIDs, 100: maxIDs} {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i
		}
		var a recall.DescribeAnswer
		if shorten(&a, "ids", &ids, "the rest"); len(ids) != kept || (len(a.Notes) > 0) != (n > kept) {
			t.Errorf("of %d ids %d are left, notes %q", n, len(ids), a.Notes)
		}
		if n == 100 && !strings.Contains(strings.Join(a.Notes, ""), "40 of 100 ids, the last one is 99; the rest") {
			t.Errorf("%q", a.Notes)
		}
	}
}
