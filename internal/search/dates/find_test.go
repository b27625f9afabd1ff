package dates

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// now is a Wednesday.
var now = time.Date(2026, 2, 18, 15, 30, 0, 0, time.UTC)

func days(spans []Span) string {
	var out []string
	for _, s := range spans {
		out = append(out, s.From.Format("2006-01-02")+".."+s.To.Add(-time.Nanosecond).Format("2006-01-02"))
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	for question, want := range map[string]string{
		// Calendar dates.
		"what broke on 2025-11-03?":                            "2025-11-03..2025-11-03",
		"what broke in 2025-11?":                               "2025-11-01..2025-11-30",
		"the log of 2025/11/03":                                "2025-11-03..2025-11-03",
		"was war am 03.11.2025 los":                            "2025-11-03..2025-11-03",
		"the release of 11/03/2025":                            "2025-11-03..2025-11-03",
		"the release of 23/11/2025":                            "2025-11-23..2025-11-23",
		"What did Maria do on 3 June, 2023?":                   "2023-06-03..2023-06-03",
		"on the 3rd of June 2023":                              "2023-06-03..2023-06-03",
		"on May 3, 2023":                                       "2023-05-03..2023-05-03",
		"as of December 2023":                                  "2023-12-01..2023-12-31",
		"in mid-August 2023":                                   "2023-08-11..2023-08-21",
		"towards the end of summer 2023":                       "2023-08-01..2023-08-31",
		"in the winter of 2023":                                "2023-12-01..2024-02-29 2022-12-01..2023-02-28",
		"what changed in Q3 2025":                              "2025-07-01..2025-09-30",
		"which sites opened in 2021?":                          "2021-01-01..2021-12-31",
		"Where was John between August 11 and 15 August 2023?": "2023-08-11..2023-08-15",
		"August 11-15, 2023":                                   "2023-08-11..2023-08-15",
		"from November 2024 to February 2025":                  "2024-11-01..2025-02-28",
		"the second week of November 2023":                     "2023-11-08..2023-11-14",
		"the week before 16 November 2023":                     "2023-11-09..2023-11-16",
		"two weeks before August 11, 2023":                     "2023-07-28..2023-08-11",
		"the day after 2025-12-31":                             "2025-12-31..2026-01-01",
		"everything since 2026-02-01":                          "2026-02-01..2026-02-18",
		// Without a year: each of the last years.
		"on January 5th": "2026-01-05..2026-01-05 2025-01-05..2025-01-05 2024-01-05..2024-01-05 2023-01-05..2023-01-05 2022-01-05..2022-01-05 2021-01-05..2021-01-05",
		"in march":       "2025-03-01..2025-03-31 2024-03-01..2024-03-31 2023-03-01..2023-03-31 2022-03-01..2022-03-31 2021-03-01..2021-03-31",
		// From now.
		"what did we do today":            "2026-02-18..2026-02-18",
		"what did we do yesterday":        "2026-02-17..2026-02-17",
		"what broke last Tuesday":         "2026-02-17..2026-02-17",
		"what broke last Wednesday":       "2026-02-11..2026-02-11",
		"what broke on Friday":            "2026-02-13..2026-02-13",
		"what did we decide last week":    "2026-02-09..2026-02-15",
		"what did we decide last weekend": "2026-02-14..2026-02-15",
		"what did we decide this month":   "2026-02-01..2026-02-28",
		"where did I go last year":        "2025-01-01..2025-12-31",
		"where did I go last summer":      "2025-06-01..2025-08-31",
		"three days ago":                  "2026-02-15..2026-02-15",
		"a couple of weeks ago":           "2026-02-02..2026-02-08",
		"in the last 3 weeks":             "2026-01-28..2026-02-18",
		"2025年3月14日に何を決めたか":               "2025-03-14..2025-03-14",
		"2025年3月我们决定了什么":                  "2025-03-01..2025-03-31",
		"2025년 3월에 무엇을 정했나":               "2025-03-01..2025-03-31",
		// No dates.
		"may I march on in the fall of the wall?": "2025-09-01..2025-11-30 2024-09-01..2024-11-30 2023-09-01..2023-11-30 2022-09-01..2022-11-30 2021-09-01..2021-11-30",
		"how may we march there":                  "",
		"When did James try Cyberpunk 2077?":      "",
		"error 2003 in the log":                   "",
		"what is the last version":                "",
		"the second attempt":                      "",
		"version 1.2.2024-rc":                     "",
		"":                                        "",
	} {
		if got := days(Find(question, now)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", question, got, want)
		}
	}
}

// Without the time of the question, only dates with a year are read.
func TestFindWithoutNow(t *testing.T) {
	for question, want := range map[string]string{
		"in August 2023": "2023-08-01..2023-08-31", "in August": "", "yesterday": "", "last week": "", "since 2024-01-01": "2024-01-01..2024-01-01",
	} {
		if got := days(Find(question, time.Time{})); got != want {
			t.Errorf("%q: got %s, want %s", question, got, want)
		}
	}
}

// A day begins at midnight in the zone of the question.
func TestFindInZone(t *testing.T) {
	zone := time.FixedZone("", 9*3600)
	got := Find("yesterday", time.Date(2026, 2, 18, 1, 0, 0, 0, zone))
	want := time.Date(2026, 2, 16, 15, 0, 0, 0, time.UTC)
	if len(got) != 1 || !got[0].From.Equal(want) {
		t.Errorf("yesterday in Tokyo begins at %v, want %v", got, want)
	}
}

func TestWithin(t *testing.T) {
	at := func(s string) int64 { x, _ := time.Parse("2006-01-02", s); return x.UnixMilli() }
	month := Find("in August 2023", now)
	year := Find("in 2023", now)
	for _, c := range []struct {
		spans []Span
		day   string
		want  float64
	}{
		{month, "2023-07-31", 0}, {month, "2023-08-01", 1}, {month, "2023-08-31", 1},
		{month, "2023-09-01", 0.5}, {month, "2023-09-07", 0.5}, {month, "2023-09-08", 0},
		{year, "2023-06-01", 31. / 365}, {nil, "2023-06-01", 0},
	} {
		if got := Within(c.spans, at(c.day)); got != c.want {
			t.Errorf("%s in %s: %g, want %g", c.day, days(c.spans), got, c.want)
		}
		if got := Overlaps(c.spans, at(c.day), at(c.day)); got != (c.want > 0) {
			t.Errorf("%s overlaps %s: %v", c.day, days(c.spans), got)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"between May 3 and", "=1=2=3=4", "31 february 2023", "the week of 2024-02-30", "\xff年月"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spans := Find(s, now)
		if slices.ContainsFunc(spans, func(s Span) bool { return !s.From.Before(s.To) }) {
			t.Errorf("%q: an empty span in %s", s, days(spans))
		}
	})
}

func TestCut(t *testing.T) {
	for question, want := range map[string]string{
		"what did we do on 3 November?":           "what did we do on",
		"what did we do on October 1st":           "what did we do on",
		"what was the problem on Tuesday":         "what was the problem on",
		"pull requests merged last week":          "pull requests merged",
		"rate limit decision mid-October":         "rate limit decision",
		"what began two weeks before 3 May":       "what began",
		"decision about events 2 months ago":      "decision about events",
		"the release of 2025-11-03":               "the release of 2025-11-03", // texts have such dates
		"may I push to main?":                     "may I push to main?",
		"which three ports changed since October": "which three ports changed since",
	} {
		if _, got := Cut(question, now); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}
