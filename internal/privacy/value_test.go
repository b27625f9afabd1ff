package privacy

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

// TestValues: which values count as random, as words, as ids changes only on purpose. The words of
// many texts, each with small changes, are taken as testdata/values.golden says.
func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var values [][]byte
	for _, name := range []string{"formats", "near", "innocents"} {
		for _, f := range redacttest.Read(t, "testdata/"+name+".txt") {
			text, _ := f.Fill(rng)
			for _, word := range bytes.FieldsFunc([]byte(text), func(r rune) bool { return r < 256 && betweenWords[r] }) {
				values = append(values, word, []byte(redacttest.Edit(rng, string(word))))
			}
		}
	}
	for _, alphabet := range []string{"0123456789abcdef", digits + letters, letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "aeinorst", digits + letters + "-_/+!.", "aX3"} {
		for n := range 130 { // of all lengths
			value := make([]byte, n+1)
			for i := range value {
				value[i] = alphabet[rng.IntN(len(alphabet))]
			}
			values = append(values, value)
		}
	}
	decisions := map[string]func([]byte) bool{
		"isCamel": isCamel, "isCacheKey": isCacheKey, "isCode": isCode, "isDense": isDense, "isFile": isFile, "isGibberish": isGibberish, "isHash": isHash,
		"isIdentifier": isIdentifier, "isKebab": isKebab, "isPath": isPath, "isPlaceholder": isPlaceholder, "isReference": isReference,
		"isStrong": isStrong, "isTime": isTime, "isULID": isULID, "isUUID": isUUID, "isUniform": isUniform, "isWords": isWords, "random": random,
		"isPassword":           func(v []byte) bool { return assignment{value: v}.isPassword() },
		"isPassword of a line": func(v []byte) bool { return assignment{value: v, line: true}.isPassword() },
		"isPassword, quoted":   func(v []byte) bool { return assignment{value: v, quoted: true}.isPassword() },
		"isPassword, tight":    func(v []byte) bool { return assignment{value: v, tight: true}.isPassword() },
		"isKey, quoted":        func(v []byte) bool { return assignment{value: v, quoted: true}.isKey() },
		"isShortKey":           func(v []byte) bool { return assignment{value: v}.isShortKey() },
		"isShortKey, comma":    func(v []byte) bool { return assignment{value: v, comma: true, quoted: true}.isShortKey() },
	}
	for name, check := range checks {
		decisions["check "+name] = check
	}
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(decisions)) {
		n, sum := 0, fnv.New32a()
		for i, v := range values {
			if decisions[name](v) {
				n++
				fmt.Fprintln(sum, i)
			}
		}
		fmt.Fprintf(&got, "%s: %d of %d values, %08x\n", name, n, len(values), sum.Sum32())
	}
	const path = "testdata/values.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got.String()); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got; -update writes it):\n%s", path, err, diff)
	}
}
