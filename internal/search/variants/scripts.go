package variants

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// script has the articles and other particles that are written as one word with
// the next, longest first.
type script struct {
	table     *unicode.RangeTable
	particles []string
}

var joiningScripts = []script{
	{unicode.Arabic, strings.Fields("وبال وال بال كال فال ولل ال لل و ب ل ف ك")},
	{unicode.Hebrew, strings.Fields("וה שה מה בה לה כשה וב ול ומ וש ה ו ב ל מ ש כ")},
}

// minBare is how many letters of a word remain when its particle is cut off.
const minBare = 2

// Joined is a word of a script that writes particles in one with it. Its forms
// are compared without vowel marks.
type Joined struct{ forms map[string]bool }

// Particles returns the forms of an Arabic or Hebrew word with and without its
// particles, or nil for a word of another script.
func Particles(word string) *Joined {
	first, _ := utf8.DecodeRuneInString(word)
	for _, s := range joiningScripts {
		if !unicode.Is(s.table, first) {
			continue
		}
		bare := Bare(word)
		words := []string{bare}
		for _, p := range s.particles {
			if rest, ok := strings.CutPrefix(bare, p); ok && utf8.RuneCountInString(rest) >= minBare {
				words = append(words, rest)
			}
		}
		j := &Joined{forms: make(map[string]bool)}
		for _, w := range words {
			j.forms[w] = true
			for _, p := range s.particles {
				j.forms[p+w] = true
			}
		}
		return j
	}
	return nil
}

// Has reports whether a term is one of the forms.
func (j *Joined) Has(term []byte) bool { return j.forms[Bare(string(term))] }

// MayBegin reports whether a term that begins so may be one of the forms.
func (j *Joined) MayBegin(prefix []byte) bool {
	bare := Bare(strings.ToValidUTF8(string(prefix), ""))
	for f := range j.forms {
		if strings.HasPrefix(f, bare) {
			return true
		}
	}
	return false
}

// Bare is an Arabic or Hebrew word without vowel marks, points and lengthening,
// and with letters that are often written for each other as one.
func Bare(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x0591 && r <= 0x05C7, r >= 0x064B && r <= 0x065F, r == 0x0670, r == 'ـ':
			return -1
		case r == 'أ', r == 'إ', r == 'آ', r == 'ٱ':
			return 'ا'
		case r == 'ى':
			return 'ي'
		case r == 'ة':
			return 'ه'
		}
		return r
	}, word)
}
