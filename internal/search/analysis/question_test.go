package analysis

import "testing"

func TestEndsWithQuestion(t *testing.T) {
	for text, want := range map[string]bool{
		"where is it?":                          true,
		"It broke. Where is it? [image: a cat]": true,
		"where is it? 🙂":                        true,
		"どこですか？":                                true,
		"أين هو؟":                               true,
		"Where is it? It is here.":              false,
		"where is it":                           false,
		"What?! No way!":                        false,
		"":                                      false,
	} {
		if got := EndsWithQuestion([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
