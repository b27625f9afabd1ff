package summary

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// readTranscript reads messages, each after a line "== role".
func readTranscript(t *testing.T, name string) []Source {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []Source
	for part := range strings.SplitSeq(string(data), "== ") {
		role, text, ok := strings.Cut(part, "\n")
		if !ok {
			continue
		}
		out = append(out, Source{Seq: int64(len(out) + 1), Role: llms.Role(role), Text: strings.TrimSuffix(text, "\n")})
	}
	return out
}

// TestGolden shows what leaves of two sessions look like, and what is left of them one
// level up.
func TestGolden(t *testing.T) {
	for _, name := range []string{"coding", "cjk"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "golden", name)
			sources := readTranscript(t, path+".in")
			leaf, err := NewExtractive().Summarise(t.Context(), Request{Kind: Leaf, Sources: sources})
			if err != nil {
				t.Fatal(err)
			}
			half, err := NewExtractive().Summarise(t.Context(), Request{
				Kind: Condensed, Depth: 1,
				Sources: []Source{{Kind: Leaf, Seq: 1, Text: leaf.Text}},
			})
			if err != nil && !errors.Is(err, ErrIncompressible) {
				t.Fatal(err)
			}
			got := leaf.Text + "\n\n-- condensed --\n\n" + half.Text + "\n"
			if *update {
				if err := os.WriteFile(path+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
