//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
)

// share says how many of the characters of a result are content.
type share struct{ characters, content int }

// quoted is the words of a record, to find quotations in.
type quoted struct {
	texts [][]string
	at    map[[3]string][]place // where three words in a row stand
}

type place struct{ text, word int }

// word is a run of letters and digits, and where it is in a text.
type word struct {
	text       string
	start, end int
}

func wordsOf(text string) []word {
	var words []word
	start := -1
	for i, r := range text + " " {
		switch in := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'; {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			words = append(words, word{strings.ToLower(text[start:i]), start, i})
			start = -1
		}
	}
	return words
}

func newQuoted(texts []string) *quoted {
	q := &quoted{at: map[[3]string][]place{}}
	for _, t := range texts {
		var plain []string
		for _, w := range wordsOf(t) {
			plain = append(plain, w.text)
		}
		for i := 0; i+3 <= len(plain); i++ {
			k := [3]string{plain[i], plain[i+1], plain[i+2]}
			q.at[k] = append(q.at[k], place{len(q.texts), i})
		}
		q.texts = append(q.texts, plain)
	}
	return q
}

// measure counts the characters of a result that are quoted from the record:
// runs of at least three words that stand there in a row, from the first
// letter to the last, with the marks and spaces between them. What is quoted a
// second time in the same result is not content. In a result that is JSON,
// quotations are looked for within its strings.
func (q *quoted) measure(result string) share {
	parts := jsonStrings(result)
	if parts == nil {
		parts = []string{result}
	}
	s := share{characters: utf8.RuneCountInString(result)}
	seen := map[place]bool{}
	for _, part := range parts {
		words := wordsOf(part)
		for i := 0; i+3 <= len(words); {
			n, from := q.longest(words[i:])
			if n == 0 {
				i++
				continue
			}
			first := -1
			for j := range n { // the stretch that was not quoted before
				at := place{from.text, from.word + j}
				if !seen[at] && first < 0 {
					first = j
				}
				if first >= 0 && (seen[at] || j == n-1) {
					last := j
					if seen[at] {
						last = j - 1
					}
					s.content += utf8.RuneCountInString(part[words[i+first].start:words[i+last].end])
					first = -1
				}
				seen[at] = true
			}
			i += n
		}
	}
	return s
}

// longest finds the longest run of words that begins here and stands in the
// record.
func (q *quoted) longest(words []word) (n int, from place) {
	for _, at := range q.at[[3]string{words[0].text, words[1].text, words[2].text}] {
		have := q.texts[at.text][at.word:]
		k := 0
		for k < len(words) && k < len(have) && words[k].text == have[k] {
			k++
		}
		if k > n {
			n, from = k, at
		}
	}
	return n, from
}

// shares measures each result against the record as it is now.
func (m *questionMachine) shares(all []asked) []share {
	m.Helper()
	var texts []string
	m.each(func(msg store.Message) {
		if msg.Flags&store.FlagEcho == 0 {
			texts = append(texts, msg.Body.SearchText())
		}
	})
	q := newQuoted(texts)
	out := make([]share, len(all))
	for i, a := range all {
		out[i] = q.measure(a.result)
	}
	return out
}

func TestShareOfContent(t *testing.T) {
	q := newQuoted([]string{"The harbour gate opens with a key.", "Low tide is at nine."})
	for _, test := range []struct {
		result  string
		content string
	}{
		{"nothing of that", ""},
		{"1. msg_1 (claude): The harbour **gate** opens with a key.", "The harbour **gate** opens with a key"},
		{`{"id":"msg_1","snippet":"the harbour gate opens\nwith a key.","score":12.34}`, "the harbour gate opens\nwith a key"},
		{"Low tide is at nine. Low tide is at nine.", "Low tide is at nine"},
		{"tide is at nine, low tide is at nine", "tide is at ninelow"},
	} {
		want := share{utf8.RuneCountInString(test.result), utf8.RuneCountInString(test.content)}
		if got := q.measure(test.result); got != want {
			t.Errorf("%q: %+v, want %+v", test.result, got, want)
		}
	}
}
