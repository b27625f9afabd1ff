package summary

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// talk makes up about n tokens of a coding session: half prose, half tool
// output, with names that come up again.
func talk(n int) []Source {
	rng := rand.New(rand.NewPCG(3, 5))
	words := strings.Fields(`cache index shard replica lease queue parser token buffer window retry budget writer reader cursor segment
		merge flush compact expire rotate publish consume balance measure ledger digest anchor branch commit deploy rollback`)
	pick := func() string { return words[rng.IntN(len(words))] }
	var out []Source
	for tokens, i := 0, 0; tokens < n; i++ {
		var b strings.Builder
		role := []llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleTool}[i%3]
		if role == llms.RoleTool {
			for l := range 30 {
				fmt.Fprintf(&b, "%s/%s.go:%d: %s %s took %d ms\n", pick(), pick(), l*7, pick(), pick(), rng.IntN(900))
			}
		} else {
			for range 12 {
				fmt.Fprintf(&b, "We should %s the %s before the %s can %s, because %s_%s in %s/%s.go holds the %s for %d ms. ",
					pick(), pick(), pick(), pick(), pick(), pick(), pick(), pick(), pick(), rng.IntN(900))
			}
		}
		out = append(out, Source{ID: fmt.Sprintf("msg_%d", i), Seq: int64(i + 1), Role: role, Text: b.String()})
		tokens += llms.Estimate.Count(b.String())
	}
	return out
}

// BenchmarkLeaf summarises a leaf of the default size, 20,000 tokens.
func BenchmarkLeaf(b *testing.B) {
	sources := talk(20_000)
	size := 0
	for _, s := range sources {
		size += len(s.Text)
	}
	e := NewExtractive()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Summarise(b.Context(), Request{Kind: Leaf, Target: 2400, Sources: sources}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLong shows that the work grows with the material, not its square.
func BenchmarkLong(b *testing.B) {
	for _, n := range []int{20_000, 80_000, 320_000} {
		sources := talk(n)
		b.Run(fmt.Sprintf("%dk", n/1000), func(b *testing.B) {
			for b.Loop() {
				if _, err := NewExtractive().Summarise(b.Context(), Request{Kind: Leaf, Target: 2400, Sources: sources}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIdentifiers(b *testing.B) {
	var text strings.Builder
	for _, s := range talk(20_000) {
		text.WriteString(s.Text)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		Identifiers(text.String())
	}
}

// BenchmarkRunOn summarises one message of a megabyte without a line break or
// a full stop.
func BenchmarkRunOn(b *testing.B) {
	r := Request{Kind: Leaf, Target: 2400, Sources: []Source{{Seq: 1, Role: llms.RoleUser, Text: strings.Repeat("words that never end, ", 1<<20/22)}}}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := NewExtractive().Summarise(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
