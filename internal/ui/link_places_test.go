package ui

import "testing"

func TestLinkPlaces(t *testing.T) {
	text := `<p>user#81: a (#87–#90) b#4 <code>tool#5</code> <a href="https://x/(#6)" title="user#7: ">user#8</a> (#12)</p>`
	want := `<p><a href="/session/3?at=81">user#81</a>: a (<a href="/session/3?at=87">#87</a>–<a href="/session/3?at=90">#90</a>) b#4 <code><a href="/session/3?at=5">tool#5</a></code> ` +
		`<a href="https://x/(#6)" title="user#7: ">user#8</a> (<a href="/session/3?at=12">#12</a>)</p>`
	if got := linkPlaces(3, markup(text)); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
