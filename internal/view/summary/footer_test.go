package summary

import (
	"strings"
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
	got := EnsureFooter("The tide gauge at the northern pier reports nonsense.", r)
	if !HasFooter(got) || !strings.Contains(got, "calibration table") || !strings.Contains(got, "(#9)") {
		t.Errorf("the footer does not name what the text leaves out: %q", got)
	}
	footer := got[strings.LastIndexByte(got, '\n'):]
	if strings.Contains(footer, "tide") || strings.Contains(footer, "pier") {
		t.Errorf("the footer names what the text says: %q", footer)
	}
	if got := EnsureFooter("", Request{}); !HasFooter(got) {
		t.Errorf("no footer without sources: %q", got)
	}
}

func TestNothingDropped(t *testing.T) {
	r := Request{Kind: Leaf, Target: 200, Sources: []Source{
		{Seq: 12, Role: llms.RoleUser, Text: "The harbour opens at six.\n" + strings.Repeat("ok. ", 60)},
		{Seq: 40, Role: llms.RoleAssistant, Text: "The crane on the pier is blue."},
	}}
	got, err := NewExtractive().Summarise(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := "user#12: The harbour opens at six.\nassistant#40: The crane on the pier is blue.\n" + Footer + "the exact wording of #12–#40"
	if got.Text != want {
		t.Errorf("got\n%s\nwant\n%s", got.Text, want)
	}
}

func TestTinyTargets(t *testing.T) {
	r := Request{Kind: Leaf, Target: 24, Sources: talk(2000)}
	got, err := NewExtractive().Summarise(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if n := llms.Estimate.Count(got.Text); n > 24 || !HasFooter(got.Text) {
		t.Errorf("%d tokens: %q", n, got.Text)
	}
}
