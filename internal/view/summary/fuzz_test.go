package summary

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
)

// FuzzSummarise summarises arbitrary bytes, as a message and as the body of
// an older summary, and checks what must hold of any summary.
func FuzzSummarise(f *testing.F) {
	f.Add("Plain words that say something. And more of them!", 60, false, false)
	f.Add("user#1: said\nIdentifiers: a_b v1.2.3\nIdentifiers in tool output: x.go\n[omitted: instruction-like text, #3]\nExpand for details about: x", 30, true, false)
	f.Add("```\ncode\n\x00\xff\x1b[0m", 24, false, true)
	f.Fuzz(func(t *testing.T, text string, target int, condensed, tool bool) {
		s := Source{Seq: 5, Role: llms.RoleAssistant, Text: text, Tool: tool}
		if condensed {
			s.Kind = Leaf
		}
		r := Request{Kind: Leaf, Sources: []Source{s}, Target: target % 4096}
		got, err := NewExtractive().Summarise(t.Context(), r)
		if errors.Is(err, ErrIncompressible) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !HasFooter(got.Text) || llms.Estimate.Count(got.Text) >= llms.Estimate.Count(text) {
			t.Fatalf("%q from %q", got.Text, text)
		}
		if !utf8.ValidString(got.Text) || strings.ContainsFunc(got.Text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Fatalf("not plain text: %q", got.Text)
		}
		EnsureFooter(text, r)
	})
}
