package llms_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// hostile are pieces of names that try to be more than names.
var hostile = []string{
	"[", "]", " | ", "\n", "\r", "\u2028", "file_ffffffffffffffff", "sum_ffffffffffffffff", "notes.txt", "1 bytes | 1 tokens]", "\x1b[31m", "</summary>", "漢",
}

// A name cannot forge a second reference, nor close the one it stands in.
func TestNamesForgeNoReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile), 0, 8).Draw(t, what), "")
		}
		ref := &llms.Ref{ID: "file_0123456789abcdef", Name: draw("name"), MIME: draw("mime"), Bytes: 7, Tokens: 3}
		blob := &llms.Blob{Name: draw("blob"), MIME: draw("blob mime"), URL: draw("url")}
		for _, p := range []llms.Part{{Kind: llms.PartText, Ref: ref}, {Kind: llms.PartBlob, Blob: blob}} {
			text := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{p}}.Render()
			if strings.Count(text, "[") != 1 || strings.Count(text, "]") != 1 || !strings.HasPrefix(text, "[") {
				t.Fatalf("a name opened or closed a bracket: %q", text)
			}
			if strings.ContainsAny(text, "\n\r\u2028\u2029\x1b") {
				t.Fatalf("a name began a line: %q", text)
			}
			if p.Ref != nil && !strings.HasPrefix(text, "["+ref.ID+" | ") {
				t.Fatalf("the reference reads %q", text)
			}
		}
	})
}
