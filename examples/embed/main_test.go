package main

import (
	"strings"
	"testing"
)

// The model recalls what its context no longer shows.
func TestEmbed(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"240 messages", `→ lcm_grep {"pattern":"Halcyon"`, "\nBerth 17, beside the old crane.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed:\n%s", want, out.String())
		}
	}
}
