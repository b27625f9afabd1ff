package lookup

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/internal/recall/search/analysis"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// withOtherWords is how many matches are shown of a question with words that no text of
// its scope has.
const withOtherWords = 3

// absence finds the words of a question that no text of its scope has. It says nothing
// where only a part of the texts was searched, and where a text was found by its meaning.
func (s *Service) absence(ctx context.Context, q *query, lanes []*lane) (search.Absence, error) {
	narrow := q.search
	if q.words == nil || !narrow.Since.IsZero() || !narrow.Before.IsZero() || narrow.Tool != "" || len(narrow.Roles) > 0 || len(narrow.Only) > 0 {
		return search.Absence{}, nil
	}
	var terms []search.Term
	for _, l := range lanes {
		if l.found.Unfinished || slices.ContainsFunc(l.found.Hits, func(h store.Hit) bool { return h.Meaning }) {
			return search.Absence{}, nil
		}
		for i, w := range l.found.Words {
			if i == len(terms) {
				terms = append(terms, search.Term{Word: w.Text, Passages: w.Passages, Also: w.Also, Guessed: w.Guessed})
			} else if terms[i].Passages += w.Passages; len(terms[i].Also) == 0 {
				terms[i].Also, terms[i].Guessed = w.Also, w.Guessed
			}
		}
	}
	a := search.Absent(q.search.Pattern, terms)
	for _, word := range a.Words {
		in, err := s.insideWords(ctx, q, word)
		if err != nil {
			return search.Absence{}, err
		}
		if at := slices.IndexFunc(terms, func(t search.Term) bool { return t.Word == plain(word) }); in && at >= 0 {
			terms[at].Passages = 1 // a compound is a form of the word
			a = search.Absent(q.search.Pattern, terms)
		}
	}
	return a, nil
}

func plain(word string) string { return strings.Join(analysis.PlainWords([]byte(word)), "") }

// insideWords reports whether a text of the scope has a word, without its ending, as a
// part of a longer word, or abbreviated ("cert"), which names are not. A short word is
// inside of many by chance: it must begin them.
func (s *Service) insideWords(ctx context.Context, q *query, word string) (bool, error) {
	stem := analysis.LightStem(plain(word))
	letters := utf8.RuneCountInString(stem)
	pattern := umlauts.Replace(regexp.QuoteMeta(stem))
	switch {
	case letters < 4:
		return false, nil
	case letters < 6:
		as := []rune(word)
		pattern = `\b` + regexp.QuoteMeta(string(as[:min(letters, len(as))]))
	case word == strings.ToLower(word):
		var short []string
		for n, as := leastAbbreviation, []rune(word); n < len(as); n++ {
			short = append(short, regexp.QuoteMeta(string(as[:n])))
		}
		pattern += `|(?:^|[^\pL])(?:` + strings.Join(short, "|") + `)s?(?:[^\pL]|$)`
	}
	other := q.search
	other.Mode, other.Sort, other.Pattern, other.Limit, other.CountTo = store.Regex, store.ByRecency, "(?i)"+pattern, 1, 0
	found, err := s.store.Search(ctx, other)
	return len(found.Hits) > 0 || found.Unfinished, err // a scan that ran out of time proves nothing
}

// leastAbbreviation is how many letters of a word its abbreviation has.
const leastAbbreviation = 4

// umlauts turns a folded word into a pattern that matches it as it is written.
var umlauts = strings.NewReplacer("ss", "(?:ss|ß)", "a", "[aä]", "o", "[oö]", "u", "[uü]")

// noMatch is an answer in which no word that carries the question was found.
func noMatch(a recall.GrepAnswer) recall.GrepAnswer {
	a.Matches, a.Total, a.InSummaries, a.TotalIsLowerBound, a.NextCursor = []recall.Match{}, 0, 0, false, ""
	return a
}
