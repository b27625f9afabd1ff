package support

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/search/dates"
)

//go:embed quantities.txt
var quantitiesText string

// unit is a unit of measurement.
type unit struct {
	kind string
	size float64
}

// The kinds of words that are no units of measurement, and the one of percent.
const (
	numeral = "number"
	plain   = "plain"
	share   = "share"
)

// vocabulary has the words of quantities.txt.
var vocabulary = sync.OnceValue(func() map[string]unit {
	words := map[string]unit{}
	for line := range strings.Lines(quantitiesText) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] == "#" {
			continue
		}
		size, _ := strconv.ParseFloat(fields[1], 64)
		for _, w := range fields[2:] {
			words[w] = unit{fields[0], size}
		}
	}
	return words
})

// measure returns the unit of measurement that a word stands for.
func measure(word string) (unit, bool) {
	u := vocabulary()[strings.ToLower(word)]
	return u, u.size > 0 && u.kind != numeral && u.kind != plain
}

// quantity is a number with its unit.
type quantity struct {
	unit
	shown  string
	values []float64 // as it may be read: 1.400 is two numbers
	form   string    // in digits: it may be a version, an address or a time of day
}

// counts reports a number that says something: in digits, or more than people count by
// the way.
func (q quantity) counts() bool {
	least := 3.0
	if q.form != "" {
		least = 1
	}
	return len(q.values) == 0 || q.values[0] > least || q.values[0] != math.Trunc(q.values[0])
}

// quantityAt reads the number at a token and the unit after it, and how many tokens
// they take; none where there is no number.
func quantityAt(all []token, i int) (q quantity, n int) {
	if digits().MatchString(all[i].text) {
		q, n = readDigits(all[i].text), 1
	} else if q, n = readWords(all, i); n == 0 {
		return quantity{}, 0
	}
	if i+n == len(all) || !slices.Contains([]string{"", " ", "-", "\u00a0", "\u202f"}, all[i+n].gap) {
		return q, n
	}
	next := all[i+n]
	factor := map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6}[next.text]
	for j, v := range q.values {
		if factor > 0 && next.gap == "" {
			q.values[j] = round(v * factor)
		}
	}
	u, ok := measure(next.text)
	if !ok {
		return q, n
	}
	q.unit, q.shown = u, q.shown+next.gap+next.text
	return q, n + 1
}

var (
	digits   = lazyregexp.New(`^[vV]?\d+(?:[.,'’:\x{a0}\x{202f}]\d+)*$`)
	grouped  = lazyregexp.New(`^\d+$|^\d{1,3}(?:(?:\.\d{3})+|(?:,\d{3})+|(?:['’\x{a0}\x{202f}]\d{3})+)$`)
	decimals = lazyregexp.New(`^(\d{1,3}(?:[.,'’]\d{3})*|\d+)[.,](\d+)$`)
	clock    = lazyregexp.New(`^0?(\d+):(\d\d)`)
	nonDigit = lazyregexp.New(`\D`)
)

// readDigits reads a number, a version or a time of day.
func readDigits(text string) quantity {
	q := quantity{shown: text}
	text = strings.TrimLeft(text, "vV")
	q.form = text
	read := func(s string) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			q.values = append(q.values, round(v))
		}
	}
	if m := clock().FindStringSubmatch(text); m != nil {
		if q.form = m[1] + ":" + m[2]; m[2] == "00" {
			read(m[1])
		}
		return q
	}
	if grouped().MatchString(text) {
		read(nonDigit().ReplaceAllString(text, ""))
	}
	if m := decimals().FindStringSubmatch(text); m != nil {
		read(nonDigit().ReplaceAllString(m[1], "") + "." + m[2])
	}
	return q
}

// readWords reads a number in words, and how many tokens it has. "An hour" is one hour.
func readWords(all []token, i int) (q quantity, n int) {
	value, ok := wordValue(all[i].folded())
	if !ok && i+1 < len(all) && (strings.EqualFold(all[i].text, "a") || strings.EqualFold(all[i].text, "an")) {
		_, ok = measure(all[i+1].text)
		value = 1
	}
	if !ok {
		return quantity{}, 0
	}
	q.shown = all[i].text
	if n = 1; value < 1 { // half an hour
		for i+n < len(all) && slices.Contains([]string{"a", "an", "of"}, all[i+n].text) {
			n++
		}
	}
	for ; i+n < len(all) && (all[i+n].gap == " " || all[i+n].gap == "-"); n++ {
		next, ok := wordValue(all[i+n].folded())
		switch {
		case ok && next >= 100 && value < next:
			value *= next
		case ok && value >= 20 && math.Mod(value, 10) == 0 && next >= 1 && next < 10:
			value += next
		default:
			ok = false
		}
		if !ok {
			break
		}
		q.shown += all[i+n].gap + all[i+n].text
	}
	q.values = []float64{value}
	return q, n
}

// wordValue is the number that a word stands for, in German also a long one:
// funfunddreissig.
func wordValue(word string) (float64, bool) {
	u := vocabulary()[word]
	if one, tens, ok := strings.Cut(word, "und"); ok && vocabulary()[one].kind == numeral && vocabulary()[tens].kind == numeral {
		u = unit{numeral, vocabulary()[one].size + vocabulary()[tens].size}
	}
	return u.size, u.kind == numeral
}

// learn adds a number of the last text.
func (t *Text) learn(q quantity) {
	for _, v := range q.values {
		t.numbers = append(t.numbers, number{q, v, len(t.stems) - 1})
	}
	for form := q.form; form != ""; form = form[:max(0, strings.LastIndexByte(form, '.'))] {
		t.forms[form] = true
	}
	if major, _, ok := strings.Cut(q.form, "."); ok {
		t.learn(readDigits(major))
	}
	if m := clock().FindStringSubmatch(q.form); m != nil { // 15:30 is 3:30 pm
		hour, _ := strconv.Atoi(m[1])
		t.forms[fmt.Sprintf("%d:%s", (hour+12)%24, m[2])] = true
	}
}

// smallNumber is a number that long texts have by chance. It supports only what is about
// the same thing.
const smallNumber = 1000

// sameSize is how far apart sizes in different units may be: a kilobyte has 1000 bytes or
// 1024.
const sameSize = 0.025

// hasNumber looks for a number in any form, and in other units; a small one in a text
// with one of the words in about, which may be nil.
func (t *Text) hasNumber(q quantity, about map[string]bool) bool {
	if strings.ContainsAny(q.form, ".:") && t.forms[q.form] {
		return true
	}
	for _, v := range q.values {
		in := about
		if v >= smallNumber || v != math.Trunc(v) {
			in = nil
		}
		if slices.ContainsFunc(t.numbers, func(n number) bool { return n.equals(v, q.unit) && t.shares(n.text, in) }) {
			return true
		}
	}
	return false
}

func (n number) equals(v float64, u unit) bool {
	switch {
	case n.value == v:
		return true
	case n.kind == u.kind && u.kind != "":
		return math.Abs(n.value*n.size-v*u.size) <= v*u.size*sameSize
	}
	return n.kind == share && round(n.value*n.size) == v || u.kind == share && round(v*u.size) == n.value
}

// shares reports whether a text, or one beside it, has one of the stems: a short reply has
// few.
func (t *Text) shares(text int, about map[string]bool) bool {
	for _, of := range t.stems[max(0, text-1):min(text+2, len(t.stems))] {
		for stem := range about {
			if of[stem] {
				return true
			}
		}
	}
	return len(about) == 0
}

func round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	return v
}

var writtenDates = lazyregexp.New(`^(?:(\d{4})(-\d\d)-(\d\d)|(\d\d?)\.(\d\d?)\.(\d{4}))$`)

// dateParts are the year, the month, which is negative, and the day of a date in digits,
// or the month of a name.
func dateParts(text string) []int {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	if m := writtenDates().FindStringSubmatch(text); m != nil {
		return []int{number(m[1] + m[6]), number(m[2]) - number(m[5]), number(m[3] + m[4])}
	}
	if month, _ := dates.Name(text); month > 0 && !slices.Contains([]string{"may", "march", "mar"}, text) {
		return []int{-month}
	}
	return nil
}

// inDate reports a number that is a year, or stands beside the name of a month.
func inDate(all []token, i int, q quantity) bool {
	if len(q.values) != 1 {
		return false
	}
	return len(q.form) == 4 && q.values[0] >= 1900 && q.values[0] < 2100 || slices.ContainsFunc(all[max(0, i-2):min(len(all), i+3)], func(t token) bool { month, _ := dates.Name(t.text); return month > 0 })
}
