package search

import (
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// A question that asks for work finds the user's standing instructions although
// it shares no word with them; another question does not.
func TestInstructions(t *testing.T) {
	texts := []string{
		"Always use tabs and never leave trailing blanks.", // the user's
		"I always forget the password.",
		"Always look on the bright side.", // the assistant's
		"The parser reads one line after the other.",
		"The weather was fine in the morning.",
	}
	var docs []segment.Doc
	for i, text := range texts {
		role := uint8(1)
		if i == 2 {
			role = 2
		}
		docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: int64(i + 1), Role: role, Text: []byte(text)})
	}
	ix, fetch := indexOf(t, docs)
	for query, want := range map[string][]int64{
		"write a parser":               {4, 1},
		"which parser did we write":    {4},
		"+parser please":               {4}, // what is required is required
		"could you explain the parser": {4, 1},
	} {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, h := range res.Hits {
			got = append(got, h.ID)
			if h.Instruction != (h.ID == 1) || h.Matched != (h.ID == 4) {
				t.Errorf("%s: %+v", query, h)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", query, got, want)
		}
		if res.Matched != 1 || res.Ranked != 1 {
			t.Errorf("%s: %d matched, %d ranked, want 1", query, res.Matched, res.Ranked)
		}
	}
}
