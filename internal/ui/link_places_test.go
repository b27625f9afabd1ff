package ui

import "testing"

func TestLinkPlaces(t *testing.T) {
	text := `<p>user#81: a (#87–#90) b#4 ran#9 <code>tool#5</code> <a href="https://x/(#6)" title="user#7: ">user#8</a> (#12)</p>`
	want := `<p><a href="/session/3?at=81">user#81</a>: a (<a href="/session/3?at=87">#87</a>–<a href="/session/3?at=90">#90</a>) b#4 <a href="/session/3?at=9">ran#9</a> <code><a href="/session/3?at=5">tool#5</a></code> ` +
		`<a href="https://x/(#6)" title="user#7: ">user#8</a> (<a href="/session/3?at=12">#12</a>)</p>`
	if got := linkPlaces(3, markup(text)); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A line of a summary is cut, maybe between two backquotes. The next line is not code.
func TestSummaryLinesStandAlone(t *testing.T) {
	got := string(summaryText(3, "user#1: on `fix\nassistant#2: in `b.go`, and\nmore\nuser#3: d`"))
	want := "<p><a href=\"/session/3?at=1\">user#1</a>: on `fix</p>\n<p><a href=\"/session/3?at=2\">assistant#2</a>: in <code>b.go</code>, and<br>\nmore</p>\n<p><a href=\"/session/3?at=3\">user#3</a>: d`</p>\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
