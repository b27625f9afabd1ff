package assemble_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

var update = flag.Bool("update", false, "rewrite testdata/decisions.golden")

// somePart returns a part of a message, sound or not.
func somePart(r *rand.Rand) llms.Part {
	text := strings.Repeat([]string{"word ", "漢字", "é ", "🚀", "\u2000", " "}[r.IntN(6)], r.IntN(60))
	image := llms.Part{Kind: llms.PartBlob, Ref: &llms.Ref{ID: fmt.Sprint("file_", r.IntN(4)), MIME: "image/png", Bytes: 9, Tokens: 50 << r.IntN(6)}}
	id := []string{"", "c1", "c2", "c3", "c4", "c5"}[r.IntN(6)]
	switch r.IntN(14) {
	case 0, 1, 2:
		return llms.Part{Kind: llms.PartText, Text: text}
	case 3:
		return []llms.Part{{Kind: llms.PartReasoning, Text: text}, {Kind: llms.PartReasoning, Signature: "x"}, {Kind: llms.PartReasoning, Extra: []byte("{}")}, {Kind: llms.PartReasoning}}[r.IntN(4)]
	case 4, 5, 6:
		return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "sh", Arguments: `{"a":"` + strings.Repeat("x", []int{9, 392, 393, 900}[r.IntN(4)]) + `"}`}}
	case 7, 8, 9:
		output := []llms.Part{{Kind: llms.PartText, Text: text}}
		if r.IntN(4) == 0 {
			output = append(output, image)
		}
		if r.IntN(4) == 0 {
			output = []llms.Part{{Kind: llms.PartText, Text: "[no result was recorded for this call: it may have taken effect]"}}
		}
		return llms.Part{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: id, Name: "sh", Output: output}}
	case 10:
		return []llms.Part{{Kind: llms.PartToolCall}, {Kind: llms.PartToolResult}, {Kind: llms.PartBlob}, {Kind: llms.PartOther}, {Kind: llms.PartOther, Extra: []byte("{}")}}[r.IntN(5)]
	case 11:
		return llms.Part{Kind: llms.PartText, Ref: image.Ref}
	}
	image.Blob = []*llms.Blob{nil, {MIME: "image/gif", Name: "a.gif"}}[r.IntN(2)]
	return image
}

// someHistory returns an input, sound or broken in the ways that hosts and windows break one.
func someHistory(r *rand.Rand) *history {
	h := newHistory(100 << r.IntN(7))
	h.in.Payloads = map[store.PayloadID][]byte{"file_0": []byte("0"), "file_1": []byte("1"), "file_2": []byte("2")}
	h.in.Counted = r.IntN(2) == 0
	for range r.IntN(3) {
		h.summary(words(r.IntN(40)))
	}
	for i := range 1 + r.IntN(12) {
		m := llms.Message{Role: []llms.Role{llms.RoleUser, llms.RoleUser, llms.RoleAssistant, llms.RoleAssistant, llms.RoleTool, llms.RoleSystem}[r.IntN(6)], Time: when}
		if r.IntN(2) == 0 {
			m.ID, m.Raw = fmt.Sprint("m", i), llms.Raw{Format: llms.FormatLCM, Bytes: []byte{byte(i)}}
		}
		for range r.IntN(4) {
			m.Parts = append(m.Parts, somePart(r))
		}
		if h.add(m); r.IntN(8) == 0 {
			h.stub(len(h.in.View.Items) - 1)
		}
		if r.IntN(12) == 0 {
			h.summary(words(r.IntN(40)))
		}
	}
	if n := len(h.in.View.Items); n > 3 && r.IntN(3) == 0 {
		from := r.IntN(n - 1)
		h.skip(from, from+1+r.IntN(n-1-from))
	}
	return h
}

// TestDecisions: what a model is shown changes only on purpose. Histories of all kinds become the messages
// that testdata/decisions.golden counts, and providers take all of them.
func TestDecisions(t *testing.T) {
	var got strings.Builder
	for seed := range uint64(8) {
		r, sum := rand.New(rand.NewPCG(seed, 9)), fnv.New32a()
		messages, tokens, dropped, repairs, refused := 0, 0, 0, 0, 0
		for range 250 {
			h := someHistory(r)
			policy := assemble.Policy{FreshTail: r.IntN(9), FreshTailTokens: r.IntN(300)}
			fmt.Fprintln(sum, assemble.Wanted(h.in), assemble.Pinned(h.in.View), assemble.Tail(h.in.View, policy, h.in.Budget))
			out, err := assemble.Build(h.in)
			if err != nil {
				refused++
			} else if err := checkValid(out.Messages); err != nil {
				t.Errorf("invalid: %v\n%s", err, transcript(out.Messages))
			}
			messages, tokens, dropped, repairs = messages+len(out.Messages), tokens+out.Tokens, dropped+len(out.Dropped), repairs+len(out.Repairs)
			fmt.Fprintln(sum, out.Tokens, out.Items, out.Dropped, out.Repairs, err)
			for _, m := range out.Messages {
				fmt.Fprintln(sum, m.Role, m.ID, m.Time, m.Raw.Bytes, m.Render(), m.ToolCalls())
			}
		}
		fmt.Fprintf(&got, "%d messages of %d tokens, %d items dropped, %d repairs, %d too large, %08x\n", messages, tokens, dropped, repairs, refused, sum.Sum32())
	}
	const path = "testdata/decisions.golden"
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
