package delegation

import "testing"

func TestKeywords(t *testing.T) {
	for question, want := range map[string]string{
		"What was really the reason for the outage of crane 7?": "outage crane 7",
		"Wann fährt der Kran?":                                  "", // nothing that is known to be common
		"what was it?":                                          "", // nothing else
		`Who said "give me some time"?`:                         "", // a quotation is not taken apart
		"":                                                      "",
		"What was the anchor chain (-x) for?":                   "anchor chain x",
		"Which limit (per carrier) did we choose for trk-914?": "limit carrier trk-914",
	} {
		if got := keywords(question); got != want {
			t.Errorf("keywords(%q) = %q, want %q", question, got, want)
		}
	}
}
