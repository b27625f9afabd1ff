package shortanswer

import (
	"strings"
	"testing"
)

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"EGM96 it is":                            true,
		"sunday 3 am then":                       true,
		"then daily + model":                     true,
		"b. And use concurrently":                true,
		"the second one":                         true,
		"let's take the token bucket":            true,
		"2":                                      true,
		"which one is it?":                       false,
		"is it the second one then?":             false,
		"write the changelog":                    false,
		"":                                       false,
		"go with " + strings.Repeat("x ", 200):   false,
		"the test fails on CI but not at home":   false,
		"can you look at what the pool is doing": false,
	} {
		if got := Is(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
