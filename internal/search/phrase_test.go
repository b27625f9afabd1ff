package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// phraseWords are from common to rare; no two but those of parcel and list
// share a stem.
var phraseWords = strings.Fields("the of a to is parcel parcels list lists queue carrier window minute table config retry fault lane scan merge")

func phraseWord(rng *rand.Rand) string {
	f := rng.Float64()
	return phraseWords[int(f*f*float64(len(phraseWords)))]
}

// phraseDocs are texts of these words. One in thirty is several passages long,
// some have dashes, ideographs and letters with marks.
func phraseDocs(n int) []segment.Doc {
	rng := rand.New(rand.NewPCG(3, 5))
	gaps := []string{" ", " ", " ", " ", " ", ", ", "\n", "-", " — ", " (", "… "}
	docs := make([]segment.Doc, n)
	for i := range docs {
		words := 3 + rng.IntN(25)
		if rng.IntN(30) == 0 {
			words += 400
		}
		var b strings.Builder
		for range words {
			w := phraseWord(rng)
			if rng.IntN(20) == 0 {
				w = strings.ToUpper(w)
			}
			b.WriteString(w + gaps[rng.IntN(len(gaps))])
		}
		if rng.IntN(20) == 0 {
			b.WriteString(" déjà 配置")
		}
		docs[i] = segment.Doc{
			ID: int64(2*i + 3), Conversation: int64(1 + rng.IntN(5)), Time: int64(i) * 60_000,
			Role: uint8(rng.IntN(3)), Flags: uint8(rng.IntN(8) / 7), Text: []byte(b.String()),
		}
	}
	return docs
}

// holds is a phrase as a loop over the text sees it.
func holds(text []byte, phrase string) bool {
	words := strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.Contains(" "+strings.Join(words, " ")+" ", " "+phrase+" ")
}

type phraseCase struct {
	phrase, also, not string // also and not may be empty
	filter            search.Filter
}

func (c phraseCase) query() string {
	q := `"` + c.phrase + `"`
	if c.also != "" {
		q += " +" + c.also
	}
	if c.not != "" {
		q += ` -"` + c.not + `"`
	}
	return q
}

// expected loops over all texts, newest first.
func (c phraseCase) expected(docs []segment.Doc) []int64 {
	f := c.filter
	var ids []int64
	for _, d := range slices.Backward(docs) {
		if holds(d.Text, c.phrase) && (c.also == "" || holds(d.Text, c.also)) && (c.not == "" || !holds(d.Text, c.not)) &&
			(len(f.Conversations) == 0 || slices.Contains(f.Conversations, d.Conversation)) &&
			(len(f.Roles) == 0 || slices.Contains(f.Roles, d.Role)) &&
			(f.Since == 0 || d.Time >= f.Since) && (f.Before == 0 || d.Time < f.Before) && d.Flags&f.Without == 0 &&
			(f.Through == 0 || d.ID <= f.Through) && (f.Accept == nil || f.Accept(d.ID)) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func phraseCases(docs []segment.Doc) []phraseCase {
	middle, end := docs[len(docs)/2], docs[len(docs)*4/5]
	filters := []search.Filter{
		{}, {Conversations: []int64{4, 2}}, {Since: middle.Time}, {Before: end.Time, Roles: []uint8{1, 2}}, {Without: 1},
		{Through: end.ID}, {Conversations: []int64{3}, Through: middle.ID}, {Accept: func(id int64) bool { return id%3 != 0 }},
	}
	rng := rand.New(rand.NewPCG(11, 13))
	cases := []phraseCase{{phrase: "the the of"}, {phrase: "the of"}, {phrase: "merge scan lane fault"}, {phrase: "the of a to is parcel list"}}
	for i := range 40 {
		words := make([]string, 2+rng.IntN(2))
		for j := range words {
			words[j] = phraseWord(rng)
		}
		c := phraseCase{phrase: strings.Join(words, " "), filter: filters[i%len(filters)]}
		if i%5 == 1 {
			c.also = "carrier"
		}
		if i%7 == 2 {
			c.not = "the a"
		}
		cases = append(cases, c)
	}
	return cases
}

// A phrase finds and counts the texts that a loop over all texts finds, and shows them
// page by page however many they are. How many goroutines read and how the
// documents are divided into segments shows in nothing. A search in parts of texts,
// which are then read, finds the same, and counts until enough is found.
func TestPhrasesAreExact(t *testing.T) {
	docs := phraseDocs(3500)
	l, one := newLibrary(t, docs, 1500), newLibrary(t, docs, len(docs))
	complete, many, none := 0, 0, 0
	for _, c := range phraseCases(docs) {
		t.Run(fmt.Sprintf("%s/%v", c.query(), c.filter.Conversations), func(t *testing.T) {
			want := c.expected(docs)
			res := l.search(t, c.query(), search.Request{Filter: c.filter})
			others := []search.Result{l.search(t, c.query(), search.Request{Filter: c.filter, Readers: 4})}
			if c.filter.Since == 0 && c.filter.Before == 0 { // a segment outside of the times is not counted
				others = append(others, one.search(t, c.query(), search.Request{Filter: c.filter, Readers: 2}))
			}
			for _, other := range others {
				other.Read = res.Read
				if diff := cmp.Diff(res, other); diff != "" {
					t.Fatalf("another answer with other readers or segments:\n%s", diff)
				}
			}
			got := newestIDs(res)
			if res.AtLeast || res.Matched != len(want) {
				t.Errorf("%d texts are counted, at least: %v; a loop finds %d", res.Matched, res.AtLeast, len(want))
			}
			if len(want) <= 400 {
				complete++
				if !slices.Equal(got, want) {
					t.Errorf("%d hits, a loop finds %d", len(got), len(want))
				}
			} else {
				many++
				if len(got) < 400 || slices.ContainsFunc(got, func(id int64) bool { return !slices.Contains(want, id) }) {
					t.Errorf("%d hits, or one does not hold the phrase", len(got))
				}
			}
			if len(want) == 0 {
				none++
			}
			if pages := l.pages(t, c, 37); !slices.Equal(pages, want) {
				t.Errorf("pages have %d hits, a loop finds %d", len(pages), len(want))
			}
		})
	}
	if complete < 10 || many < 3 || none < 1 {
		t.Errorf("%d complete, %d many, %d without a match: the cases cover too little", complete, many, none)
	}
}

// newestIDs are the documents of an answer, newest first.
func newestIDs(res search.Result) (ids []int64) {
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	slices.SortFunc(ids, func(x, y int64) int { return int(y - x) })
	return ids
}

// pages turns all pages, newest first.
func (l *library) pages(t *testing.T, c phraseCase, limit int) (ids []int64) {
	t.Helper()
	req := search.Request{Filter: c.filter, Sort: search.ByRecency, Limit: limit, Readers: 3}
	for {
		res := l.search(t, c.query(), req)
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
		if len(res.Hits) < limit {
			return ids
		}
		req.Below = ids[len(ids)-1]
	}
}

// The words of a phrase may stand on both sides of where a passage ends.
func TestPhraseAcrossPassages(t *testing.T) {
	var docs []segment.Doc
	for i, words := range []string{"needle haystack", "haystack needle"} {
		for before := 120; before <= 135; before++ {
			text := strings.Repeat("filler ", before) + words + strings.Repeat(" filler", 300)
			docs = append(docs, segment.Doc{ID: int64(100*i + before), Conversation: 1, Text: []byte(text)})
		}
	}
	docs = append(docs, segment.Doc{ID: 900, Conversation: 1, Text: []byte("haystack")}) // needle is the rarer
	l := newLibrary(t, docs, len(docs))
	for _, phrase := range []string{"needle haystack", "haystack needle"} {
		c := phraseCase{phrase: phrase}
		if got, want := l.pages(t, c, 5), c.expected(docs); len(want) != 16 || !slices.Equal(got, want) {
			t.Errorf("%s: found %v, a loop finds %v", phrase, got, want)
		}
	}
}
