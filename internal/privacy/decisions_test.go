package privacy_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

// TestDecisions: what is masked changes only on purpose. Texts with and without secrets, each with small
// changes, are masked as testdata/decisions.golden says: a rule that takes other values changes a line of it.
func TestDecisions(t *testing.T) {
	texts := map[string][]string{"odd tags": oddTags()}
	for _, c := range secretTexts() {
		texts["secrets"] = append(texts["secrets"], c.text)
	}
	for _, c := range privateTexts() {
		texts["private"] = append(texts["private"], c.text)
	}
	edits := map[string]int{"secrets": 24, "private": 40, "odd tags": 24}
	for _, name := range []string{"formats", "near", "innocents"} {
		edits[name] = 6
		for i, f := range redacttest.Read(t, "testdata/"+name+".txt") {
			text, _ := f.Fill(rand.New(rand.NewPCG(uint64(i), 3)))
			texts[name] = append(texts[name], text)
		}
	}
	carriers := slices.Sorted(maps.Keys(redacttest.Carriers))
	var got strings.Builder
	for _, name := range []string{"secrets", "private", "odd tags", "formats", "near", "innocents"} {
		random, sum := rand.New(rand.NewPCG(1, 2)), fnv.New32a()
		all, counts := 0, privacy.Counts{}
		for _, text := range texts[name] {
			for i := range edits[name] {
				carried := text
				if i%2 == 1 {
					carried = redacttest.Carriers[carriers[random.IntN(len(carriers))]](text)
				}
				out, n := privacy.Redactor{Secrets: true}.Text([]byte(redacttest.Edit(random, carried)))
				all, counts.Secrets, counts.Private = all+1, counts.Secrets+n.Secrets, counts.Private+n.Private
				fmt.Fprintf(sum, "%q", out)
			}
		}
		fmt.Fprintf(&got, "%s: %d texts, %d secrets, %d private blocks, %08x\n", name, all, counts.Secrets, counts.Private, sum.Sum32())
	}
	golden(t, "decisions", got.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".golden"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got; -update writes it):\n%s", path, err, diff)
	}
}
