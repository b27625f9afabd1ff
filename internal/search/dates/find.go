package dates

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// yearsBack is how many years a date without a year may lie back.
const yearsBack = 5

// maxBytes bounds a question. A longer one is a text that holds dates of its own.
const maxBytes = 2 << 10

// Find returns the spans of time that a question names, as seen from now and in
// its zone. A month or a day without a year is that of each of the last years.
// With a zero now only dates with a year are found.
func Find(question string, now time.Time) []Span {
	spans, _ := find(question, now)
	return spans
}

// Cut is Find, and returns the question without the words that name the times.
// Dates in digits such as 2026-02-18 stay: texts have them as well.
func Cut(question string, now time.Time) (spans []Span, rest string) {
	spans, words := find(question, now)
	if len(spans) == 0 {
		return nil, question
	}
	fields := slices.DeleteFunc(strings.Fields(question), func(field string) bool {
		tokens := splitField(field)
		return len(tokens) > 0 && !slices.ContainsFunc(tokens, func(t token) bool { return !words[t.text] })
	})
	return spans, strings.Join(fields, " ")
}

// find returns the spans of a question and the words that name them.
func find(question string, now time.Time) ([]Span, map[string]bool) {
	if len(question) > maxBytes {
		return nil, nil
	}
	p := &parser{now: now, zone: time.UTC, words: split(question)}
	if !now.IsZero() {
		p.zone = now.Location()
	}
	for i := 0; i < len(p.words); {
		d, n := p.date(i)
		if n == 0 {
			i++
			continue
		}
		d.first, d.end = i, i+n
		p.dates = append(p.dates, d)
		i += n
	}
	p.joinRanges()
	var out []Span
	words := make(map[string]bool)
	for _, d := range p.dates {
		spans := p.offset(d, p.spans(d))
		if len(spans) > 0 {
			p.take(words, d.first, d.end)
		}
		out = append(out, spans...)
	}
	if len(out) > 0 {
		return out, words
	}
	for i := range p.words {
		if s, ok := p.relativeAt(i); ok {
			p.take(words, i, i+1)
			return []Span{s}, words
		}
	}
	return nil, nil
}

// take adds the words of a date from first to end, and the words around it that
// say how far from it, which part of it or how many.
func (p *parser) take(words map[string]bool, first, end int) {
	for i := first - 1; i >= 0; i-- {
		t := p.at(i)
		w := vocabulary()[t.text]
		if w.unit != noUnit || w.relation != noRelation || parts[t.text] > 0 || numbers()[t.text] > 0 || t.number >= 0 {
			first = i
		} else if !w.between && !beforeDate()[t.text] && t.text != "the" {
			break
		}
	}
	for end < len(p.words) && vocabulary()[p.at(end).text].relation != noRelation {
		end++
	}
	for _, t := range p.words[first:end] {
		if t.text != "" {
			words[t.text] = true
		}
	}
}

// date is a calendar date, as far as it is given.
type date struct {
	year, month, day int // zero: not given
	through          *date
	season           unit
	part             int // third of it
	first, end       int // its words
}

type parser struct {
	now   time.Time
	zone  *time.Location
	words []token
	dates []date
}

type token struct {
	text    string // lower case
	number  int    // or -1
	capital bool
	dash    bool // a dash or a slash follows
	iso     *date
}

var (
	yearFirst = lazyregexp.New(`^((?:19|20)\d\d)[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:t[\d:.]+z?)?$`)
	dayFirst  = lazyregexp.New(`^(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)$`)
	slashed   = lazyregexp.New(`^(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)$`)
	eastAsian = lazyregexp.New(`(?:((?:19|20)\d\d) ?[年년] ?)(?:(\d{1,2}) ?[月월] ?)?(?:(\d{1,2}) ?[日일号號])?|(\d{1,2}) ?[月월] ?(?:(\d{1,2}) ?[日일号號])?`)
	ordinal   = lazyregexp.New(`^(\d{1,2})(?:st|nd|rd|th|er|º|\.)$`)
)

// split cuts a question into words, with numeric dates as one.
func split(question string) []token {
	var out []token
	question = eastAsian().ReplaceAllStringFunc(question, func(m string) string {
		g := eastAsian().FindStringSubmatch(m)
		if g[1] == "" {
			g[2], g[3] = g[4], g[5]
		}
		return " " + strings.Join([]string{"=", g[1], g[2], g[3]}, "=") + " "
	})
	for _, field := range strings.Fields(question) {
		if strings.HasPrefix(field, "==") || strings.HasPrefix(field, "=1") || strings.HasPrefix(field, "=2") {
			if g := strings.Split(field, "="); len(g) == 5 {
				out = append(out, token{number: -1, iso: &date{year: atoi(g[2]), month: atoi(g[3]), day: atoi(g[4])}})
				continue
			}
		}
		bare := strings.ToLower(strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		if d := numeric(bare); d != nil {
			out = append(out, token{number: -1, iso: d})
			continue
		}
		out = append(out, splitField(field)...)
	}
	return out
}

// numeric reads a date that is written in digits, or returns nil.
func numeric(s string) *date {
	if g := yearFirst().FindStringSubmatch(s); g != nil {
		return valid(date{year: atoi(g[1]), month: atoi(g[2]), day: atoi(g[3])})
	}
	if g := dayFirst().FindStringSubmatch(s); g != nil {
		return valid(date{year: atoi(g[3]), month: atoi(g[2]), day: atoi(g[1])})
	}
	if g := slashed().FindStringSubmatch(s); g != nil {
		d := date{year: atoi(g[3]), month: atoi(g[1]), day: atoi(g[2])}
		if d.month > 12 {
			d.month, d.day = d.day, d.month
		}
		return valid(d)
	}
	return nil
}

func valid(d date) *date {
	if d.month < 1 || d.month > 12 || d.day > 31 {
		return nil
	}
	return &d
}

// splitField cuts a field at characters that are no letter or digit: "mid-August", "11–15".
func splitField(field string) []token {
	var out []token
	inWord := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' || r == '’'
	}
	for field != "" {
		end := strings.IndexFunc(field, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(field)
		}
		if end > 0 {
			text := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(field[:end]), "'s"), "’s")
			t := token{text: text, number: -1, capital: text != field[:end], dash: strings.HasPrefix(field[end:], "-") || strings.HasPrefix(field[end:], "–")}
			if n, err := strconv.Atoi(text); err == nil && len(text) <= 4 {
				t.number = n
			} else if g := ordinal().FindStringSubmatch(text); g != nil {
				t.number = atoi(g[1])
			}
			out = append(out, t)
			field = field[end:]
		}
		field = strings.TrimLeftFunc(field, func(r rune) bool { return !inWord(r) })
	}
	return out
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (p *parser) at(i int) token {
	if i < 0 || i >= len(p.words) {
		return token{number: -1}
	}
	return p.words[i]
}

func (p *parser) isYear(i int) bool {
	n := p.at(i).number
	last := 2100
	if !p.now.IsZero() {
		last = p.now.Year() + 1
	}
	return n >= 1970 && n <= last
}

func (p *parser) isDay(i int) bool { n := p.at(i).number; return n >= 1 && n <= 31 }

// beforeDate are words that make a date of an ambiguous word after them.
var beforeDate = set("in on of during since until till by before after from to early late mid between and through last next this im en em w v в с до между около")

func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := make(map[string]bool)
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}

// alsoVerbs are months and seasons that are words of another kind as well.
var alsoVerbs = set("may march mar fall spring estate")

// date reads the date that begins at a word, and how many words it has.
func (p *parser) date(i int) (date, int) {
	if d := p.at(i).iso; d != nil {
		return *d, 1
	}
	if d, n := p.dayMonth(i); n > 0 {
		return d, n
	}
	w := vocabulary()[p.at(i).text]
	switch {
	case w.month > 0 && p.means(i):
		d := date{month: w.month, part: p.part(i)}
		n := 1
		if p.isDay(i+n) && !p.isYear(i+n) {
			d.day = p.at(i + n).number
			n++
			if last := p.at(i + n).number; (p.at(i+n-1).dash || p.at(i+n).text == "to") && last > d.day && last <= 31 {
				d.through = &date{month: d.month, day: last}
				n++
			}
		}
		return p.year(d, i, n)
	case w.unit >= seasonUnit && w.relation == noRelation && p.means(i):
		if vocabulary()[p.at(i-1).text].relation != noRelation {
			return date{}, 0 // "last summer"
		}
		d, n := p.year(date{season: w.unit, part: p.part(i)}, i, 1)
		if n == 1 && !beforeDate()[p.at(i-1).text] && p.at(i-1).text != "the" {
			return date{}, 0
		}
		return d, n
	case p.isYear(i) && (beforeDate()[p.at(i-1).text] || p.at(i-1).text == "year" || parts[p.at(i-1).text] > 0):
		return date{year: p.at(i).number, part: p.part(i)}, 1
	case strings.HasPrefix(p.at(i).text, "q") && len(p.at(i).text) == 2 && p.isYear(i+1):
		if q := atoi(p.at(i).text[1:]); q >= 1 && q <= 4 {
			return date{year: p.at(i + 1).number, month: 3*q - 2, through: &date{month: 3 * q}}, 2
		}
	}
	return date{}, 0
}

// means reports that a word which may be a verb stands where a date does.
func (p *parser) means(i int) bool {
	if !alsoVerbs()[p.at(i).text] {
		return true
	}
	before := p.at(i - 1)
	if before.text == "the" {
		before = p.at(i - 2)
	}
	return p.isYear(i+1) || beforeDate()[before.text] || p.isDay(i-1) || p.isDay(i+1) && p.at(i).capital
}

// dayMonth reads "3 May", "3rd of May", "am 3. Mai".
func (p *parser) dayMonth(i int) (date, int) {
	if !p.isDay(i) {
		return date{}, 0
	}
	n, through := 1, 0
	if last := p.at(i + 1).number; p.at(i).dash && last > p.at(i).number && last <= 31 {
		through, n = last, 2
	}
	for n < 4 && vocabulary()[p.at(i+n).text].between && vocabulary()[p.at(i+n).text].month == 0 {
		n++
	}
	month := vocabulary()[p.at(i+n).text].month
	if month == 0 {
		return date{}, 0
	}
	d := date{month: month, day: p.at(i).number}
	if through > 0 {
		d.through = &date{month: month, day: through}
	}
	return p.year(d, i, n+1)
}

// year reads the year after a date of n words.
func (p *parser) year(d date, i, n int) (date, int) {
	skip := n
	if vocabulary()[p.at(i+n).text].between {
		skip++
	}
	if p.isYear(i + skip) {
		d.year = p.at(i + skip).number
		n = skip + 1
	}
	return d, n
}

// part reads the words before a date: "mid-", "the end of".
func (p *parser) part(i int) int {
	for back := 1; back <= 3; back++ {
		w := p.at(i - back)
		if n := parts[w.text]; n > 0 {
			return n
		}
		if !vocabulary()[w.text].between {
			break
		}
	}
	return 0
}

var (
	rangeWords    = set("and to until till through bis und et e y a al и до по")
	rangeOpenings = set("between from zwischen von entre de desde tra dal с между")
)

// joinRanges makes one of two dates with a word of ranges between them.
func (p *parser) joinRanges() {
	for i := 0; i+1 < len(p.dates); i++ {
		from, to := &p.dates[i], p.dates[i+1]
		gap := p.words[from.end:to.first]
		opens := rangeOpenings()[p.at(from.first-1).text]
		joined := len(gap) == 1 && rangeWords()[gap[0].text] && (opens || gap[0].text != "and") || len(gap) == 0 && p.at(from.end-1).dash
		if !joined || from.through != nil || to.through != nil {
			continue
		}
		if from.year == 0 {
			from.year = to.year
		}
		from.through, from.end = &to, to.end
		p.dates = slices.Delete(p.dates, i+1, i+2)
	}
}

// spans are those of a date: one, or one of each year when it has none.
func (p *parser) spans(d date) []Span {
	if d.year != 0 {
		return p.inYear(d, d.year)
	}
	if p.now.IsZero() {
		return nil
	}
	var out []Span
	for back := range yearsBack + 1 {
		for _, s := range p.inYear(d, p.now.Year()-back) {
			if s.From.Before(p.now) {
				out = append(out, s)
			}
		}
	}
	return out
}

func (p *parser) inYear(d date, year int) []Span {
	s := p.interval(d, year)
	if d.through != nil {
		to := *d.through
		if to.year != 0 {
			year = to.year
		}
		end := p.interval(to, year)
		if end.To.Before(s.From) { // from November to February
			end = p.interval(to, year+1)
		}
		s.To = end.To
	}
	if d.season == seasonUnit { // the winter that ends in the year as well
		return []Span{s, p.interval(d, year-1)}
	}
	return []Span{s}
}

func (p *parser) interval(d date, year int) Span {
	switch {
	case d.season != noUnit:
		return d.season.season(year, p.zone).third(d.part)
	case d.day > 0:
		return dayUnit.around(time.Date(year, time.Month(d.month), d.day, 0, 0, 0, 0, p.zone))
	case d.month > 0:
		return monthUnit.around(time.Date(year, time.Month(d.month), 1, 0, 0, 0, 0, p.zone)).third(d.part)
	}
	return yearUnit.around(time.Date(year, 1, 1, 0, 0, 0, 0, p.zone)).third(d.part)
}
