package variants

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		word, other string
		want        int
	}{
		{"database", "database", 0},
		{"database", "databse", 1},   // left out
		{"database", "dattabase", 1}, // doubled
		{"database", "datebase", 1},  // replaced
		{"database", "databsae", 1},  // exchanged
		{"database", "adtabsae", 2},
		{"größe", "grüße", 1},
		{"database", "server", 3}, // more than the most
	} {
		if got := min(3, Near(c.word, 2).Distance([]byte(c.other))); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.word, c.other, got, c.want)
		}
	}
}

// No beginning of a word that is near enough is ruled out.
func TestMayBegin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abcдß")), 1, 9, -1)
		word, other := letters.Draw(t, "word"), letters.Draw(t, "other")
		n := Near(word, 2)
		if n.Distance([]byte(other)) > 2 {
			return
		}
		for i := range other {
			if !n.MayBegin([]byte(other[:i])) {
				t.Errorf("%q is near %q, and its beginning %q is ruled out", other, word, other[:i])
			}
		}
	})
}

func TestParticles(t *testing.T) {
	for word, others := range map[string]string{
		"كتاب":   "الكتاب والكتاب كِتَاب بالكتاب",
		"الكتاب": "كتاب كتابـ",
		"ספר":    "הספר וספר סֵפֶר",
		"הספר":   "ספר בספר",
	} {
		forms := Particles(word)
		for _, o := range strings.Fields(others) {
			if !forms.Has([]byte(o)) {
				t.Errorf("%s is no form of %s", o, word)
			}
			for i := range o {
				if !forms.MayBegin([]byte(o[:i])) {
					t.Errorf("%s is a form of %s, and its beginning is ruled out", o, word)
				}
			}
		}
		if forms.Has([]byte(word + word)) {
			t.Errorf("%s twice is a form of it", word)
		}
	}
	if Particles("book") != nil {
		t.Error("a Latin word has particles")
	}
}
