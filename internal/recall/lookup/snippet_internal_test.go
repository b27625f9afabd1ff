package lookup

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/recall"
)

// Whatever the text and the words, a snippet is a piece of the text, its marks lie in it in
// order, and a text that has the words has its first mark.
func TestSnippetsMarkWhatTheyShow(t *testing.T) {
	pieces := []string{"alpha", "beta", "alphabet", "to be or not to be", "é", "字", "。", ". ", ", ", " ", "\n", "! And", "\xff", "x_y", strings.Repeat("o", 70)}
	words := []*query{{re: regexp.MustCompile("alpha")}, {re: regexp.MustCompile(`beta[^b]*|$`)}}
	for _, pattern := range []string{"alpha", "alpha beta", `"not to be" 字`, "alph*"} {
		w, err := search.ParseQuery(pattern)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, &query{words: w})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(strings.Repeat(pieces[random.IntN(len(pieces))]+" ", 1+random.IntN(8)))
		}
		text, q := []byte(b.String()), *words[random.IntN(len(words))]
		q.runes = 1 + random.IntN(400)
		e, found := q.excerpt(text)
		var m recall.Match
		show(&m, text, e)
		if !strings.Contains(valid(text), m.Snippet) || found != (len(m.MatchRanges) > 0) {
			t.Fatalf("%d characters of %q: %q, found %v, marks %v", q.runes, text, m.Snippet, found, m.MatchRanges)
		}
		last, runes := 0, utf8.RuneCountInString(m.Snippet)
		for _, r := range m.MatchRanges {
			if r[0] < last || r[1] < r[0] || r[1] > runes {
				t.Fatalf("%d characters of %q: marks %v lie outside %q", q.runes, text, m.MatchRanges, m.Snippet)
			}
			last = r[1]
		}
	}
}

// Every word of the query that a snippet shows is marked, also in the sentences around the
// densest group of words.
func TestSnippetsMarkEveryWord(t *testing.T) {
	words, err := search.ParseQuery("pool proxy timeout budget")
	if err != nil {
		t.Fatal(err)
	}
	text := "The pool is small and it was chosen a long while ago by somebody else here. Then the proxy and its timeout: a budget, since the proxy waits for it, and more words follow so that the line is long enough. The pool again."
	q := query{words: words, runes: 300}
	e, _ := q.excerpt([]byte(text))
	var m recall.Match
	show(&m, []byte(text), e)
	want := regexp.MustCompile("pool|proxy|timeout|budget").FindAllStringIndex(m.Snippet, -1)
	if len(want) != 6 || len(m.MatchRanges) != len(want) {
		t.Fatalf("%q has %d words, marked are %v", m.Snippet, len(want), m.MatchRanges)
	}
	for i, r := range m.MatchRanges {
		if r[0] != want[i][0] || r[1] != want[i][1] {
			t.Errorf("mark %d is %v, want %v", i, r, want[i])
		}
	}
}
