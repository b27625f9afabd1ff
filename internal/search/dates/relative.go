package dates

import "time"

// offset applies the words before a date to its spans: "two weeks before", "the
// second week of", "since".
func (p *parser) offset(d date, spans []Span) []Span {
	i := d.first - 1
	for i > 0 && p.at(i).text == "the" {
		i--
	}
	word := p.at(i).text
	u := vocabulary()[p.at(i-1).text].unit
	n := p.count(i - 2)
	for k := range spans {
		s := &spans[k]
		switch {
		case u == noUnit && word == "since" && !p.now.IsZero() && s.From.Before(p.now):
			s.To = p.now
		case u == noUnit || u >= seasonUnit:
		case word == "before":
			// The date itself belongs to it: people tell of that day then.
			s.From = u.back(s.From, n)
		case word == "after":
			s.To = u.back(s.To, -n)
		case word == "of" && u == weekUnit && d.day == 0 && d.month > 0 && p.at(i-2).text != "" && n <= 5 && numbers()[p.at(i-2).text] > 0:
			s.From = s.From.AddDate(0, 0, 7*(n-1))
			s.To = s.From.AddDate(0, 0, 7)
		case word == "of" && u == weekUnit && d.day > 0:
			*s = weekUnit.around(s.From)
		}
	}
	return spans
}

// count reads a number in front of a unit; without one it is 1.
func (p *parser) count(i int) int {
	t := p.at(i)
	if t.number > 0 && t.number < 1000 {
		return t.number
	}
	if t.text == "of" { // a couple of weeks
		t = p.at(i - 1)
	}
	return max(1, numbers()[t.text])
}

// relativeAt reads a time that is given from the time of the question.
func (p *parser) relativeAt(i int) (Span, bool) {
	if p.now.IsZero() {
		return Span{}, false
	}
	w := vocabulary()[p.at(i).text]
	before, after := vocabulary()[p.at(i-1).text].relation, vocabulary()[p.at(i+1).text].relation
	switch {
	case w.day != 0 && p.at(i).text != "morgen":
		return dayUnit.around(p.now.AddDate(0, 0, w.day-today)), true
	case w.weekday > 0:
		return p.weekday(w.weekday-1, before, after), true
	case w.unit == noUnit:
		return Span{}, false
	}
	n := p.count(i - 1)
	counted := p.at(i-1).number > 0 || numbers()[p.at(i-1).text] > 0 || p.at(i-1).text == "of" && numbers()[p.at(i-2).text] > 0
	switch {
	case counted && w.unit < seasonUnit && (after == agoWord || p.relationBefore(i-2, agoWord)):
		return w.unit.around(w.unit.back(p.now, n)), true
	case counted && w.unit < seasonUnit && p.relationBefore(i-2, lastOne): // the last three weeks
		return Span{w.unit.back(p.now, n), p.now}, true
	case before == lastOne || after == lastOne:
		return p.unitFromNow(w.unit, 1), true
	case before == thisOne:
		return p.unitFromNow(w.unit, 0), true
	}
	return Span{}, false
}

// relationBefore looks for a relation among the three words up to i: "il y a 3
// jours".
func (p *parser) relationBefore(i int, r relation) bool {
	for back := range 3 {
		if vocabulary()[p.at(i-back).text].relation == r {
			return true
		}
	}
	return false
}

func (p *parser) unitFromNow(u unit, back int) Span {
	if u < seasonUnit {
		return u.around(u.back(p.now, back))
	}
	s := u.season(p.now.Year(), p.zone)
	for s.From.After(p.now) || back > 0 && s.To.After(p.now) {
		s = Span{s.From.AddDate(-1, 0, 0), s.To.AddDate(-1, 0, 0)}
	}
	return s
}

// weekday is the last such day, today included unless it is the last one or the
// next one that is asked for.
func (p *parser) weekday(day int, before, after relation) Span {
	back := (int(p.now.Weekday()) - day + 7) % 7
	if back == 0 && (before == lastOne || after == lastOne) {
		back = 7
	}
	if before == nextOne || after == nextOne {
		back -= 7
	}
	return dayUnit.around(p.now.Add(-time.Duration(back) * 24 * time.Hour))
}
