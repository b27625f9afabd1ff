package search_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// phrasePieces are words of several languages and scripts, forms of one stem,
// identifiers, accents, emoji, and characters that fold to nothing.
var phrasePieces = strings.Fields(`
	query queries queried querying Query's the the is it not ran run running don't
	subProcess sub_process subprocess process HTTPServer store/sqlite.go v1.2.3 a.b user_id 0a1b2c3d
	déjà Straße STRASSE größe naïve Ångström вопрос Вопросы запрос العربية שלום
	配置 配置文件 データベース 데이터 연결 ข้อมูล 🙂 🙂🙂 ﬁle ́ _ __x__`)

var phraseGaps = []string{" ", " ", " ", " ", "", ", ", ". ", "\n", "-", " — ", "(", "'", "’", "\t\t", "_"}

func randomPhraseText(rng *rand.Rand, words int) string {
	var b strings.Builder
	last := ""
	for range words {
		if last == "" || rng.IntN(6) > 0 { // one word in six stands twice
			last = phrasePieces[rng.IntN(len(phrasePieces))]
		}
		b.WriteString(last + phraseGaps[rng.IntN(len(phraseGaps))])
	}
	return b.String()
}

// A phrase is answered by positions, and by reading texts where parts of texts are searched,
// as a scan of the texts with the same analysis answers it: random texts and
// phrases, segments that were built and held in a tail, and phrases that
// are required and excluded.
func TestPhrasesEqualAScan(t *testing.T) {
	const queries = 300
	found := 0
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 21))
		var docs []segment.Doc
		var texts [][]string
		for i := range 400 {
			words := rng.IntN(12)
			if i%20 == 0 {
				words = 100 + rng.IntN(400)
			}
			docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: int64(rng.IntN(4)), Text: []byte(randomPhraseText(rng, words))})
			texts = append(texts, analysis.PlainWords(docs[i].Text))
		}
		l := newLibrary(t, docs, 110) // and a tail
		for range queries {
			required, excluded := randomPhraseText(rng, 1+rng.IntN(3)), ""
			if rng.IntN(2) == 0 { // one that some text has
				text := strings.Fields(string(docs[rng.IntN(len(docs))].Text))
				if len(text) > 0 {
					at := rng.IntN(len(text))
					required = strings.Join(text[at:min(len(text), at+1+rng.IntN(4))], " ")
				}
			}
			query := `"` + strings.ReplaceAll(required, `"`, "") + `"`
			if rng.IntN(4) == 0 {
				excluded = randomPhraseText(rng, 1+rng.IntN(2))
				query += ` -"` + strings.ReplaceAll(excluded, `"`, "") + `"`
			}
			q, err := search.ParseQuery(query)
			if err != nil {
				continue // it has no words
			}
			run, not := wordsOf(required), wordsOf(excluded)
			var want []int64
			for i, d := range slices.Backward(docs) {
				if hasRun(texts[i], run) && (len(not) == 0 || !hasRun(texts[i], not)) {
					want = append(want, d.ID)
				}
			}
			res, err := l.ix.Search(t.Context(), search.Request{Query: q, Sort: search.ByRecency, Limit: len(docs)}, l.fetch)
			if err != nil {
				t.Fatal(err)
			}
			if got := newestIDs(res); !slices.Equal(got, want) || res.Matched != len(want) || res.AtLeast {
				t.Fatalf("seed %d, %s: %d texts of %d, a scan finds %d: %v, %v", seed, query, len(got), res.Matched, len(want), got, want)
			}
			if len(want) > 0 {
				found++
			}
		}
	}
	if found < queries/2 {
		t.Errorf("only %d of the phrases stand in a text", found)
	}
}

// A phrase is required although the query has so many words before it that its
// own words are no terms of the query.
func TestPhraseAfterTooManyWords(t *testing.T) {
	var words []string
	for i := range 70 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	docs := []segment.Doc{
		{ID: 1, Text: []byte("word1 word2 word3 crossing a zebra")},
		{ID: 2, Text: []byte("word1 at the zebra crossing")},
		{ID: 3, Text: []byte("word1 word2 nothing")},
	}
	query := strings.Join(words, " ") + ` +"zebra crossing"`
	l := newLibrary(t, docs, len(docs))
	if got := newestIDs(l.search(t, query, search.Request{})); !slices.Equal(got, []int64{2}) {
		t.Errorf("documents %v, want the second", got)
	}
}

// hasRun reports whether words have others among them, one after the other.
func hasRun(words, run []string) bool {
	for i := range words {
		if i+len(run) <= len(words) && slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// wordsOf are the words of a phrase as a query has them: without the last rune of
// a run of an unspaced script, which is only looked for when it is all there is.
func wordsOf(phrase string) (words []string) {
	for _, t := range analysis.QueryTokens(phrase) {
		if !t.Whole() {
			words = append(words, t.Plain)
		}
	}
	return words
}

// Positions are those of the words of the texts.
func TestOccurrences(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	var docs []segment.Doc
	for i := range 300 {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: int64(rng.IntN(5)), Text: []byte(randomPhraseText(rng, rng.IntN(300)))})
	}
	seg := seal(t, docs)
	// In a segment the passages are in order of conversations.
	slices.SortStableFunc(docs, func(x, y segment.Doc) int { return cmp.Compare(x.Conversation, y.Conversation) })
	type form struct{ term, word string }
	want := map[form][]uint64{}
	at := uint64(0)
	for _, d := range docs {
		for _, w := range analysis.RawWords(d.Text) {
			f := form{w.Term(), analysis.PlainForm(w)}
			want[f] = append(want[f], at)
			at++
		}
		at = (at/segment.PassageWords + 1) * segment.PassageWords
		if n := len(analysis.RawWords(d.Text)); n > 0 && n%segment.PassageWords == 0 {
			at -= segment.PassageWords
		}
	}
	r := seg.Reader(t.Context())
	all := []segment.PassageRange{{To: seg.Passages()}}
	for f, places := range want {
		e, ok, err := r.Lookup(f.term)
		if err != nil || !ok {
			t.Fatal(f, ok, err)
		}
		got, err := r.Occurrences(nil, e, f.word, all)
		if err != nil || !slices.Equal(got, places) {
			t.Fatalf("%v: %d places, %d in the texts, %v", f, len(got), len(places), err)
		}
		some := []segment.PassageRange{{From: 3, To: 9}, {From: 40, To: 41}, {From: seg.Passages() - 2, To: seg.Passages()}}
		inside := slices.DeleteFunc(slices.Clone(places), func(p uint64) bool {
			return !slices.ContainsFunc(some, func(r segment.PassageRange) bool {
				return uint32(p/segment.PassageWords) >= r.From && uint32(p/segment.PassageWords) < r.To
			})
		})
		if got, err = r.Occurrences(nil, e, f.word, some); err != nil || !slices.Equal(got, inside) {
			t.Fatalf("%v: %v in some passages, %v in the texts, %v", f, got, inside, err)
		}
	}
	e, ok, err := r.Lookup("subprocess")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got, err := r.Occurrences(nil, e, "subprocesses", all); err != nil || len(got) > 0 {
		t.Errorf("no text has subprocesses: %v, %v", got, err)
	}
}
