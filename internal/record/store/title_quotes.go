package store

import (
	"strings"
	"unicode/utf8"
)

// titleRun is how many characters of a title make a quote.
const titleRun = 16

// TitleQuotes finds the titles that quote a text. A title quotes a text if it has a
// run of 16 characters from it, or all of its own if they are fewer. Upper and lower
// case, white space and an ellipsis at the end of the title make no difference. Hosts
// name a session by its first prompt, so the title must go when the prompt is erased.
type TitleQuotes struct {
	runs  map[string][]func()
	short map[string][]func() // whole titles
}

// Add adds a title. Look calls found if the title quotes its text.
func (q *TitleQuotes) Add(title string, found func()) {
	if q.runs == nil {
		q.runs, q.short = map[string][]func(){}, map[string][]func(){}
	}
	title = titleWords(strings.TrimRight(title, "…. "))
	if title != "" && utf8.RuneCountInString(title) < titleRun {
		q.short[title] = append(q.short[title], found)
	}
	eachRun(title, func(run string) { q.runs[run] = append(q.runs[run], found) })
}

// Look calls the functions of the titles that quote a text, each at least once.
func (q *TitleQuotes) Look(text string) {
	if len(q.runs)+len(q.short) == 0 {
		return
	}
	text = titleWords(text)
	for title, found := range q.short {
		if strings.Contains(text, title) {
			callAll(found)
		}
	}
	if len(q.runs) > 0 {
		eachRun(text, func(run string) { callAll(q.runs[run]) })
	}
}

func callAll(all []func()) {
	for _, f := range all {
		f()
	}
}

func titleWords(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// eachRun calls fn with each run of titleRun characters.
func eachRun(text string, fn func(run string)) {
	from := 0
	for n, to := 1, 0; to < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
		if n >= titleRun {
			fn(text[from:to])
			_, size = utf8.DecodeRuneInString(text[from:])
			from += size
		}
	}
}
