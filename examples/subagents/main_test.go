package main

import (
	"strings"
	"testing"
)

// The sub-agent reads, the caller gets a short answer with checked citations.
func TestSubAgents(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"delegated: Two minutes, because the lease on a parcel is 150 seconds.\n", "  msg_13 says ", "tokens of the record were read for it", "evidence: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "sum_0000000000000000") {
		t.Error("a citation of something that was never read is printed")
	}
}
