package summary

import (
	"testing"

	"github.com/lossless-context/lcm/llms"
)

func TestHasFooter(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                    false,
		"Text.":                               false,
		Footer + "caches":                     true,
		"Text.\n" + Footer + "caches \n\n":    true,
		"Text.\n" + Footer:                    false,
		Footer + "caches\nand then more text": false,
		"See: " + Footer + "caches":           false,
	} {
		if got := HasFooter(text); got != want {
			t.Errorf("HasFooter(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestEnsureFooter(t *testing.T) {
	r := Request{Target: 400, Sources: []Source{
		{Seq: 7, Role: llms.RoleUser, Text: "The tide gauge at the northern pier reports nonsense since Tuesday."},
		{Seq: 9, Role: llms.RoleAssistant, Text: "The calibration table was replaced, and the loader swaps two columns."},
	}}
	for _, tc := range []struct{ name, in, want string }{
		{"kept as it is", "Text.\n" + Footer + "the gauge", "Text.\n" + Footer + "the gauge"},
		{"emphasis put right", "Text.\n**Expand for details about:** the gauge", "Text.\n" + Footer + "the gauge"},
		{"case put right", "Text.\nexpand for details about: the gauge\n", "Text.\n" + Footer + "the gauge"},
	} {
		if got := EnsureFooter(tc.in, r); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got, want := EnsureFooter("Text.", r), "Text.\n"+Footer+"northern, nonsense, calibration, replaced, the exact words of #7–#9"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := EnsureFooter("", Request{}); !HasFooter(got) {
		t.Errorf("no footer without sources: %q", got)
	}
}
