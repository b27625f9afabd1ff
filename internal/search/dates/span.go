package dates

import "time"

// Span is a stretch of time, [From, To).
type Span struct{ From, To time.Time }

// afterwards is how long after a span a message may still tell of it.
const afterwards = 7 * 24 * time.Hour

// precise is the length up to which a span counts in full. A longer one tells
// less about where an answer is, and counts less in proportion.
const precise = 31 * 24 * time.Hour

// Within tells how well a time, in milliseconds, fits spans: 1 inside of a short
// one, less inside of a long one, and half of that in the week after, when
// people tell of the event.
func Within(spans []Span, milliseconds int64) float64 {
	best := 0.0
	for _, s := range spans {
		fit := 0.0
		switch {
		case milliseconds < s.From.UnixMilli():
		case milliseconds < s.To.UnixMilli():
			fit = 1
		case milliseconds < s.To.Add(afterwards).UnixMilli():
			fit = 0.5
		}
		best = max(best, fit*min(1, float64(precise)/float64(s.To.Sub(s.From))))
	}
	return best
}

// Overlaps reports whether any time between oldest and newest, in milliseconds,
// fits one of the spans.
func Overlaps(spans []Span, oldest, newest int64) bool {
	for _, s := range spans {
		if oldest < s.To.Add(afterwards).UnixMilli() && newest >= s.From.UnixMilli() {
			return true
		}
	}
	return false
}

// back moves a time by so many units.
func (u unit) back(t time.Time, n int) time.Time {
	switch u {
	case dayUnit:
		return t.AddDate(0, 0, -n)
	case weekUnit, weekendUnit:
		return t.AddDate(0, 0, -7*n)
	case monthUnit:
		return t.AddDate(0, -n, 0)
	}
	return t.AddDate(-n, 0, 0)
}

// around is the unit that holds a time: its week from Monday, its month.
func (u unit) around(t time.Time) Span {
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	switch u {
	case dayUnit:
		return Span{day, day.AddDate(0, 0, 1)}
	case weekUnit:
		return Span{monday, monday.AddDate(0, 0, 7)}
	case weekendUnit:
		return Span{monday.AddDate(0, 0, 5), monday.AddDate(0, 0, 7)}
	case monthUnit:
		first := day.AddDate(0, 0, 1-day.Day())
		return Span{first, first.AddDate(0, 1, 0)}
	}
	first := time.Date(t.Year(), 1, 1, 0, 0, 0, 0, t.Location())
	return Span{first, first.AddDate(1, 0, 0)}
}

// season is the season of a year in the northern half of the world. A winter
// belongs to the year in which it begins.
func (u unit) season(year int, zone *time.Location) Span {
	first := time.Date(year, time.Month(3*int(u-seasonUnit)), 1, 0, 0, 0, 0, zone)
	if u == seasonUnit {
		first = time.Date(year, 12, 1, 0, 0, 0, 0, zone)
	}
	return Span{first, first.AddDate(0, 3, 0)}
}

// third narrows a span to its first, second or last third; zero keeps it.
func (s Span) third(n int) Span {
	if n == 0 {
		return s
	}
	step := s.To.Sub(s.From) / 3
	return Span{s.From.Add(time.Duration(n-1) * step), s.From.Add(time.Duration(n) * step)}
}
