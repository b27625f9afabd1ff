package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// alsoOf searches texts, divided into two segments, and returns the words that
// were taken for words of the query.
func alsoOf(t *testing.T, query string, w *Weights, texts ...string) (map[string][]string, Result) {
	t.Helper()
	var docs []segment.Doc
	for i, text := range texts {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: 1, Time: int64(i), Text: []byte(text)})
	}
	var all []Result
	for _, at := range []int{len(docs), len(docs) / 2} {
		ix, fetch := indexOf(t, docs[:at])
		if at < len(docs) {
			rest, fetchRest := indexOf(t, docs[at:])
			ix.Segments, fetch = append(ix.Segments, rest.Segments...), both(fetch, fetchRest)
		}
		ctx := t.Context()
		if w != nil {
			ctx = WithWeights(ctx, *w)
		}
		res, err := ix.Search(ctx, Request{Query: parsed(t, query)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		res.Read = 0
		all = append(all, res)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Errorf("%s: the division into segments changes the answer:\n%s", query, diff)
	}
	out := make(map[string][]string)
	for _, term := range all[0].Terms {
		if len(term.Also) > 0 {
			out[term.Word] = term.Also
		}
	}
	return out, all[0]
}

func TestAlternatives(t *testing.T) {
	texts := []string{
		"the databases are slow", "a database of birds", "the data base", "forms of the form", "from here on",
		"we proceed during the aria", "commit 3f9a1c7d0e4b58a6", "the Datenbankverbindung", "volunteering is fun", "it runs in a loop and breaks",
	}
	for query, want := range map[string]map[string][]string{
		"databse":         {"databse": {"database"}}, // nearest
		"database":        {},                        // known words stand as they are
		"+databse birds":  {},                        // a required word is required
		"birds -databse":  {},
		`"databse birds"`: {},
		"frm":             {}, // too short to be a mistake
		"3f9a1c7":         {"3f9a1c7": {"3f9a1c7d0e4b58a6"}},
		"datenbank":       {"datenbank": {"datenbankverbindung"}},
		"birdsong":        {}, // of which only one part is known
		"x7y8z9w0":        {},
		"rounding":        {}, // not run, which is two mistakes from its stem
		"broker":          {}, // not broke, and so break
		"pinned":          {}, // not in
		"procedure":       {}, // a known word of the language is not during
		"pricing":         {}, // and not proceed
		"maria":           {}, // of which the first letter is right
		"basefrom":        {}, // of which one part is a function word
	} {
		got, res := alsoOf(t, query, nil, texts...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		for _, term := range res.Terms {
			if len(term.Also) > 0 && term.Passages > 0 {
				t.Errorf("%s: %d passages are said to hold %s", query, term.Passages, term.Word)
			}
		}
	}
	if got, _ := alsoOf(t, "databse", &Weights{}, texts...); len(got) > 0 {
		t.Errorf("without a weight, %v stand for a word", got)
	}
}

// A German question finds the other forms of its words, also of those that the record has.
func TestGermanForms(t *testing.T) {
	texts := []string{"die Artikel werden kaufmännisch gerundet", "bei Artikeln fehlt der Preis", "der Artikelstamm ist leer"}
	for query, want := range map[string]map[string][]string{
		"wie haben wir Artikeln runden wollen und nicht": {"artikeln": {"artikel"}, "runden": {"gerundet"}},
		"artikeln kaufmännisch":                          {}, // not known to be German
	} {
		got, _ := alsoOf(t, query, nil, texts...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// An excerpt shows the words that were taken for words of the query.
func TestExcerptOfAlternatives(t *testing.T) {
	q := parsed(t, "databse")
	text := []byte("it is in the database")
	if e := q.Excerpt(text, 100); len(e.Ranges) > 0 {
		t.Errorf("the query alone marks %v", e.Ranges)
	}
	e := q.With([]Term{{Word: "databse", Also: []string{"database"}}}).Excerpt(text, 100)
	if len(e.Ranges) != 1 || string(text[e.Ranges[0][0]:e.Ranges[0][1]]) != "database" {
		t.Errorf("marked %v, want the database", e.Ranges)
	}
}

// A walk through the dictionary reads few blocks of it, however large it is.
func TestVocabularyIsBounded(t *testing.T) {
	var docs []segment.Doc
	for i := range 400 {
		var text strings.Builder
		for j := range 500 {
			n := i*500 + j
			fmt.Fprintf(&text, "%c%c%c%c%cing ", 'a'+n%26, 'a'+n/26%26, 'a'+n/676%26, 'a'+n/17576%26, 'a'+n*7%26)
		}
		docs = append(docs, segment.Doc{ID: int64(i + 1), Text: []byte(text.String())})
	}
	ix, fetch := indexOf(t, docs)
	read := func(query string) int64 {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		return res.Read
	}
	total := int64(0)
	for _, s := range ix.Segments {
		total += s.Info().WordBytes
	}
	read("qqwertyuiopp") // finds out the languages of the segment, once
	if got := read("qqwertyuiopp"); got > total/4 {
		t.Errorf("an unknown word read %d of %d bytes of the word index", got, total)
	}
}
