package dates

import (
	"strings"
	"sync"
)

// word is the meaning of a word in a date. It may have several meanings: "mai",
// "week".
type word struct {
	month    int // 1 to 12
	weekday  int // 1 Sunday to 7
	day      int // days from today, plus one hundred; see today
	unit     unit
	relation relation
	between  bool
}

type unit uint8

const (
	noUnit unit = iota
	dayUnit
	weekUnit
	monthUnit
	yearUnit
	weekendUnit
	seasonUnit // and the three after it
)

type relation uint8

const (
	noRelation relation = iota
	lastOne
	thisOne
	nextOne
	agoWord
)

// today is the day of "today" in word.day, which is zero for no day.
const today = 100

// vocabulary has the words of dates. A name may be written in several ways, separated by
// a stroke.
var vocabulary = sync.OnceValue(func() map[string]word {
	v := make(map[string]word)
	set := func(names string, change func(w *word, place int)) {
		for i, alike := range strings.Fields(names) {
			for name := range strings.SplitSeq(alike, "|") {
				w := v[name]
				change(&w, i)
				v[name] = w
			}
		}
	}
	set("january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sep|sept october|oct november|nov december|dec",
		func(w *word, i int) { w.month = i + 1 })
	set("sunday monday tuesday|tues wednesday thursday|thurs friday saturday", func(w *word, i int) { w.weekday = i + 1 })
	set("yesterday today|tonight tomorrow", func(w *word, i int) { w.day = today + i - 1 })
	set("day|days week|weeks month|months year|years weekend|weekends winter spring summer fall|autumn", func(w *word, i int) { w.unit = dayUnit + unit(i) })
	set("last|past|previous this|current next|coming|upcoming ago", func(w *word, i int) { w.relation = lastOne + relation(i) })
	set("of the in", func(w *word, _ int) { w.between = true })
	return v
})

// Name reports whether a word names a month or a day of the week, and which month.
func Name(text string) (month int, ok bool) {
	w := vocabulary()[strings.ToLower(text)]
	return w.month, w.month > 0 || w.weekday > 0
}

// numbers are the English words for small numbers and ordinals.
var numbers = sync.OnceValue(func() map[string]int {
	m := map[string]int{"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
	for i, w := range strings.Fields("one two three four five six seven eight nine ten eleven twelve") {
		m[w] = i + 1
	}
	for i, w := range strings.Fields("first second third fourth fifth") {
		m[w] = i + 1
	}
	return m
})

// parts name the third of a month, season or year.
var parts = map[string]int{
	"early": 1, "beginning": 1, "start": 1,
	"mid": 2, "middle": 2,
	"late": 3, "end": 3,
}
