package lookup

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/search"
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
	for range 5_000 {
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

// A sentence begins after the end of another one and a space, or on a new line.
func TestBeginsSentence(t *testing.T) {
	for text, want := range map[string][]int{
		"One. Two": {0, 5, 8}, "one. two": {0, 8}, "One.Two": {0, 7}, "A? B! C: D; E": {0, 3, 6, 9, 13}, "a\nb": {0, 2, 3}, "字。字": {0, 6, 9}, "One.  Two": {0, 6, 9},
	} {
		var got []int
		for at := range len(text) + 1 {
			if beginsSentence([]byte(text), at) {
				got = append(got, at)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: at %v, want %v", text, got, want)
		}
	}
}

// A snippet has the sentence of its match, as much as fits of the next ones, and then of those before; words are
// cut only where they are very long.
func TestSnippetsAreSentences(t *testing.T) {
	const text = "Alpha came first. Beta was late. The match stands here. Gamma follows it. Delta ends."
	for runes, want := range map[int]string{
		200: text, 24: "The match stands here.", 40: "Beta was late. The match stands here.", 41: "The match stands here. Gamma follows it.", 10: "The match",
		66: "The match stands here. Gamma follows it. Delta ends.", 67: "Beta was late. The match stands here. Gamma follows it. Delta ends.",
	} {
		q := query{re: regexp.MustCompile("match"), runes: runes}
		var m recall.Match
		e, found := q.excerpt([]byte(text))
		show(&m, []byte(text), e)
		if got := strings.TrimSpace(m.Snippet); got != want || !found || m.CutBefore != (e.start > 0) || m.CutAfter != !strings.HasSuffix(got, "ends.") || m.Truncated != (runes < 200) {
			t.Errorf("%d characters: %q, before %v, after %v", runes, got, m.CutBefore, m.CutAfter)
		}
	}
	long := strings.Repeat("x", 200)
	if s, cut := opening(strings.Repeat("word ", 51) + long); len(s) != snippetRunes || !cut {
		t.Errorf("%d characters, cut %v", len(s), cut)
	}
	if s, cut := opening(strings.Repeat("words ", 51)); len(s) != 299 || !cut {
		t.Errorf("%d characters, cut %v", len(s), cut)
	}
	if s, cut := opening(long); s != long || cut {
		t.Errorf("%q, cut %v", s, cut)
	}
}

// The matches behind the first one are marked as far as they begin in the snippet; one that the end of what was
// looked at made is not.
func TestFurtherMatches(t *testing.T) {
	q := query{re: regexp.MustCompile("ab+")}
	for name, c := range map[string]struct {
		text string
		end  int
		want int
	}{
		"before the end": {"ab ab ab", 7, 2}, "at the end": {"ab ab ab", 6, 1}, "the first fills it": {"ab ab ab", 2, 0},
		"torn": {"ab a" + strings.Repeat("b", 5000), 10, 0}, "whole": {"ab a" + strings.Repeat("b", 90), 10, 1},
	} {
		if got := q.further([]byte(c.text), []int{0, 2}, c.end); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
