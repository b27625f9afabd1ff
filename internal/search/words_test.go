package search

import (
	"os"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// mustRankFirst is how many of the queries of words.txt must find their message
// first. A few ask for more than spelling can tell.
const mustRankFirst = 0.95

// The queries of testdata/words.txt find their message first, although they
// have typing mistakes, other forms, other scripts or parts of its words.
func TestWords(t *testing.T) {
	data, err := os.ReadFile("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	type query struct{ want, text string }
	var docs []segment.Doc
	var names []string
	var queries []query
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, text, ok := strings.Cut(line, " < "); ok {
			queries = append(queries, query{name, text})
		} else if name, text, ok := strings.Cut(line, ": "); ok {
			id := int64(len(docs) + 1)
			names = append(names, name)
			docs = append(docs, segment.Doc{ID: id, Conversation: id, Time: id * 2 * segment.SessionGap, Text: []byte(text)})
		}
	}
	ix, fetch := indexOf(t, docs)
	first := 0
	for _, q := range queries {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, q.text)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range res.Hits[:min(3, len(res.Hits))] {
			got = append(got, names[h.ID-1])
		}
		if len(got) > 0 && got[0] == q.want {
			first++
			continue
		}
		var also []string
		for _, term := range res.Terms {
			also = append(also, term.Word+"="+strings.Join(term.Also, ","))
		}
		t.Logf("%s < %s: found %v; words %s", q.want, q.text, got, strings.Join(also, " "))
	}
	t.Logf("%d of %d first", first, len(queries))
	if len(queries) < 78 || float64(first) < mustRankFirst*float64(len(queries)) {
		t.Errorf("%d of %d queries found their message first, want %g of at least 78", first, len(queries), mustRankFirst)
	}
}
