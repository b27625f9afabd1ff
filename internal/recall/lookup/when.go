package lookup

import (
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// layouts are the forms of ISO 8601 that people and models write. One without
// a zone is UTC.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04",
	time.DateOnly,
	"2006-01",
}

// when reads a bound of time. The store keeps milliseconds, so that a bound
// between two of them means the later one.
func when(param, text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := Ago(text, now.UTC()); ok {
		return t.Truncate(time.Millisecond), nil
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, strings.ToUpper(text))
		if err != nil {
			continue
		}
		if up := t.Truncate(time.Millisecond); !up.Equal(t) {
			t = up.Add(time.Millisecond)
		}
		if t.UnixMilli() == 0 {
			t = t.Add(-time.Millisecond) // a store reads the epoch itself as no bound
		}
		return t.UTC(), nil
	}
	return time.Time{}, refuse("write it like 2026-02-19T00:00:00Z, 2026-02-19T08:30:00+01:00 or 2026-02-19, or say how long ago it is: 12h, 7d, 2w, today, yesterday", "%s is not a time: %q", param, prose.Clip(text, 60))
}

// Span parses two bounds of a time as people and models write them: since is
// inclusive, before exclusive, and an empty text is no bound. "7d" counts back
// from now.
func Span(since, before string, now time.Time) (from, to time.Time, err error) {
	if from, err = when("since", since, now); err != nil {
		return from, to, err
	}
	if to, err = when("before", before, now); err != nil {
		return from, to, err
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return from, to, refuse("since is inclusive and before exclusive: since must be the earlier of the two",
			"since %s is not earlier than before %s, so nothing can match", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, nil
}

// Ago reads a time that is given from now: how long ago it is (30m, 12h, 7d,
// 2w), now, today or yesterday, which begin at midnight in the zone of now.
func Ago(text string, now time.Time) (time.Time, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	year, month, day := now.Date()
	switch text {
	case "now":
		return now, true
	case "today":
		return time.Date(year, month, day, 0, 0, 0, 0, now.Location()), true
	case "yesterday":
		return time.Date(year, month, day-1, 0, 0, 0, 0, now.Location()), true
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) && n >= 0 && n < 1e6 {
			return now.AddDate(0, 0, -n*days), true
		}
	}
	d, err := time.ParseDuration(text)
	return now.Add(-d), err == nil && d >= 0
}
