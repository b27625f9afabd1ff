package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall/lookup"
)

// People read and write local time; JSON and the record are in UTC.

// stamp writes a time to the minute, in the local zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// timeLayouts are the forms of --since and --before. A time without a zone is local.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "2006-01",
}

// readTime reads --since or --before: a time, how long ago it is, today or yesterday.
// An empty text is no bound.
func readTime(flag, text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := lookup.Ago(text, now); ok {
		return t, nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, strings.ToUpper(text), now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s takes a time like 2026-02-19 or 2026-02-19T08:30, how long ago it is (30m, 12h, 7d, 2w), today or yesterday, not %q", flag, text)
}

// timeSpan reads --since and --before, and returns them as recall reads times.
func timeSpan(since, before string, now time.Time) (from, to string, err error) {
	write := func(flag, text string) (string, error) {
		// A cursor contains these words: keep them for the next page.
		if _, ok := lookup.Ago(strings.TrimSpace(text), now); ok {
			return strings.TrimSpace(text), nil
		}
		t, err := readTime(flag, text, now)
		if err != nil || t.IsZero() {
			return "", err
		}
		return t.UTC().Format(time.RFC3339Nano), nil
	}
	if from, err = write("since", since); err != nil {
		return "", "", err
	}
	to, err = write("before", before)
	return from, to, err
}
