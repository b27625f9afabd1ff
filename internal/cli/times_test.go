package cli

import (
	"testing"
	"time"
)

// A time on the command line is local, or says how long ago it was.
func TestReadTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 1, 15, 30, 0, 0, berlin)
	for text, want := range map[string]string{
		"":                     "0001-01-01T00:00:00Z",
		"30m":                  "2026-04-01T13:00:00Z",
		"12h":                  "2026-04-01T01:30:00Z",
		"1h30m":                "2026-04-01T12:00:00Z",
		"7d":                   "2026-03-25T14:30:00Z", // before summer time began
		"2w":                   "2026-03-18T14:30:00Z",
		"today":                "2026-03-31T22:00:00Z",
		"Yesterday":            "2026-03-30T22:00:00Z",
		"now":                  "2026-04-01T13:30:00Z",
		"2026-02-19":           "2026-02-18T23:00:00Z",
		"2026-02":              "2026-01-31T23:00:00Z",
		"2026-02-19 08:30":     "2026-02-19T07:30:00Z",
		"2026-02-19T08:30:00Z": "2026-02-19T08:30:00Z",
		"2026-02-19t08:30z":    "2026-02-19T08:30:00Z",
	} {
		got, err := readTime("since", text, now)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v; want %s", text, got.UTC().Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"7", "d", "-7d", "7x", "-5m", "2026-13-01", "99999999999d", "the day before"} {
		if got, err := readTime("before", text, now); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
