package search

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/variants"
)

// Absence says which words of a question no text of its scope has.
type Absence struct {
	Words []string // as they were typed
	All   bool     // no word that carries the question is in the scope
}

// Bounds of what is said.
const (
	maxAbsent = 4 // words that are named
	// shortQuestion is how many words, function words aside, a question has that is about
	// nothing but its absent words. A longer one may tell in other words what the record
	// tells in its own.
	shortQuestion = 3
	// fewAbsent is how many ordinary words of a question are named. With more of them it
	// tells in other words what the record tells in its own.
	fewAbsent = 2
)

// Absent decides whether a question asks for something that was never said, from the
// counts of its words, whatever their case. Numbers, dates and common words do not count,
// and many ordinary words that are absent are a paraphrase. A name counts always: a word with
// a capital letter inside an English sentence, or an identifier. German writes every noun so:
// there, one noun counts if all others are in the scope.
func Absent(question string, terms []Term) Absence {
	known := make(map[string]Term, len(terms))
	for _, t := range terms {
		known[t.Word] = t
	}
	german, titled := language(question)
	var a Absence
	var names, nouns, others, common, present int
	begins := true // a sentence
	fields := strings.Fields(question)
	for _, field := range fields {
		word := strings.TrimFunc(field, notInWord)
		if word == "" || strings.HasPrefix(field, "-") || strings.HasSuffix(field, "*") {
			continue
		}
		has, absent := inScope(word, known, german)
		switch plain := strings.Join(analysis.PlainWords([]byte(word)), ""); {
		case has:
			present++
		case len(absent) == 0 && utf8.RuneCountInString(plain) > 3 && !analysis.IsStopWord(plain):
			common++
		}
		for _, w := range absent {
			capital := unicode.IsUpper([]rune(w)[0]) && !begins && !titled
			switch {
			case shaped(w) || capital && !german:
				names++
			case capital:
				nouns++
			case german: // a verb or an adjective: not named, but a sign of other words
				others++
				continue
			default:
				others++
			}
			if !slices.Contains(a.Words, w) {
				a.Words = append(a.Words, w)
			}
		}
		begins = strings.ContainsAny(field[len(field)-1:], ".!?:")
	}
	a.All = present == 0 && (names+nouns+others+common <= shortQuestion || len(a.Words) == len(fields)) // a list of keywords
	few := nouns == 1 && others <= 1
	if !german {
		few = others <= fewAbsent
	}
	if len(a.Words) == 0 || names == 0 && !a.All && !few {
		return Absence{}
	}
	a.Words = a.Words[:min(len(a.Words), maxAbsent)]
	return a
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// inScope reports whether the scope has a word that tells something, and returns the
// parts of it, or the whole, that may be what the question is about and are not there.
func inScope(word string, known map[string]Term, german bool) (has bool, absent []string) {
	name, missing := "", false // of an identifier in camelCase
	for _, t := range analysis.QueryTokens(word) {
		term := known[t.Plain]
		there := term.Passages > 0 || term.Part || len(term.Also) > 0 && (!term.Guessed || plausible(string(t.Raw), term.Also, german))
		switch {
		case t.Whole() && there:
			return true, nil
		case t.Kind == analysis.NameToken:
			name = string(t.Raw)
		case t.Whole() || analysis.IsCommon(t.Plain) || calendar()[t.Plain]:
		case there:
			has = true
		case t.Kind != analysis.WordToken || term.Word == "" || unicode.IsDigit([]rune(t.Plain)[0]):
		case name != "":
			missing = true
		case utf8.RuneCountInString(t.Plain) > 2:
			absent = append(absent, string(t.Raw))
		}
	}
	if missing {
		return false, []string{name}
	}
	return has, absent
}

// calendar are the names of months and days.
var calendar = sync.OnceValue(func() map[string]bool {
	return analysis.WordSet(`january february march april june july august september october november december
jan feb apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
januar februar marz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag`)
})

// shaped reports a word that nobody would write in prose: with a capital after the first
// letter, or a digit.
func shaped(word string) bool {
	return strings.ContainsFunc(word[1:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) })
}

// language reports a question in German, and one that writes most of its words with a
// capital.
func language(question string) (german, titled bool) {
	words := analysis.PlainWords([]byte(question))
	upper := 0
	fields := strings.Fields(question)
	for _, f := range fields {
		if r, _ := utf8.DecodeRuneInString(f); unicode.IsUpper(r) {
			upper++
		}
	}
	return analysis.IsGerman(words), len(fields) > 3 && 2*upper > len(fields)+2
}

// plausible reports that one of other words is a form of a word, made of it, or a
// misspelling: a short word is a letter away from many that are not meant.
func plausible(word string, also []string, german bool) bool {
	typed := strings.Join(analysis.PlainWords([]byte(word)), "")
	letters := utf8.RuneCountInString(typed)
	stem := analysis.LightStem
	if !german {
		stem = func(w string) string { return string(analysis.PlainTerm([]byte(w))) } // "strip" is no form of "stripe"
	}
	made, parts := 0, 0
	for _, w := range also {
		if strings.Contains(typed, w) {
			made, parts = made+len(w), parts+1
		}
		near := variants.Near(typed, 2).Distance([]byte(w))
		switch {
		case stem(w) == stem(typed), letters >= 4 && strings.Contains(w, typed):
			return true
		case strings.HasPrefix(typed, w): // "plan" is no misspelling of "planter"
		case letters >= 6 && near == 1, letters >= 8 && near == 2, near == 1 && sameLetters(typed, w):
			return true
		case 3*shared(typed, w) >= 2*max(len(typed), len(w)) && shared(typed, w) >= 5:
			return true
		}
	}
	return german && parts > 1 && made+1 >= len(typed) // a compound
}

// shared is how many bytes two words begin with alike.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// sameLetters reports words of the same letters, in another order or doubled.
func sameLetters(a, b string) bool {
	set := func(s string) string {
		runes := []rune(s)
		slices.Sort(runes)
		return string(slices.Compact(runes))
	}
	return set(a) == set(b)
}
