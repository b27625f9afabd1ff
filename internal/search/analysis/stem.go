package analysis

// Stem returns the Porter stem of an ASCII lower-case word. Words that hold
// anything but a–z, or fewer than three letters, are their own stem. The word's
// memory is reused.
//
// It follows M. F. Porter, "An algorithm for suffix stripping" (1980), with the
// two departures its author later published: -logi → -log and -bli → -ble.
func Stem(word []byte) []byte {
	if len(word) < 3 || len(word) > 40 {
		return word
	}
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return word
		}
	}
	var buf [48]byte
	s := stemmer{b: append(buf[:0], word...)}
	s.plural()
	s.pastAndGerund()
	s.finalY()
	s.replace(doubleSuffixes, 0)
	s.replace(adjectiveSuffixes, 0)
	s.replace(bareSuffixes, 1)
	s.finalE()
	return append(word[:0], s.b...)
}

type stemmer struct{ b []byte }

func (s *stemmer) consonant(i int) bool {
	switch s.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.consonant(i-1)
	}
	return true
}

// measure counts the vowel-consonant sequences in the first n letters.
func (s *stemmer) measure(n int) int {
	m, i := 0, 0
	for i < n && s.consonant(i) {
		i++
	}
	for i < n {
		for i < n && !s.consonant(i) {
			i++
		}
		if i == n {
			break
		}
		m++
		for i < n && s.consonant(i) {
			i++
		}
	}
	return m
}

func (s *stemmer) hasVowel(n int) bool {
	for i := range n {
		if !s.consonant(i) {
			return true
		}
	}
	return false
}

func (s *stemmer) ends(suffix string) bool {
	n := len(s.b) - len(suffix)
	return n >= 0 && string(s.b[n:]) == suffix
}

func (s *stemmer) cut(n int) { s.b = s.b[:len(s.b)-n] }

// doubleConsonant reports whether the word ends in two equal consonants.
func (s *stemmer) doubleConsonant() bool {
	n := len(s.b)
	return n >= 2 && s.b[n-1] == s.b[n-2] && s.consonant(n-1)
}

// cvc reports whether the first n letters end consonant-vowel-consonant with
// the last not w, x or y: the shape of "hop", whose e was dropped in "hoping".
func (s *stemmer) cvc(n int) bool {
	if n < 3 || !s.consonant(n-1) || s.consonant(n-2) || !s.consonant(n-3) {
		return false
	}
	c := s.b[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

func (s *stemmer) plural() {
	switch {
	case s.ends("sses"), s.ends("ies"):
		s.cut(2)
	case s.ends("ss"):
	case s.ends("s"):
		s.cut(1)
	}
}

func (s *stemmer) pastAndGerund() {
	if s.ends("eed") {
		if s.measure(len(s.b)-3) > 0 {
			s.cut(1)
		}
		return
	}
	switch {
	case s.ends("ed") && s.hasVowel(len(s.b)-2):
		s.cut(2)
	case s.ends("ing") && s.hasVowel(len(s.b)-3):
		s.cut(3)
	default:
		return
	}
	switch {
	case s.ends("at"), s.ends("bl"), s.ends("iz"):
		s.b = append(s.b, 'e')
	case s.doubleConsonant():
		if c := s.b[len(s.b)-1]; c != 'l' && c != 's' && c != 'z' {
			s.cut(1)
		}
	case s.measure(len(s.b)) == 1 && s.cvc(len(s.b)):
		s.b = append(s.b, 'e')
	}
}

func (s *stemmer) finalY() {
	if s.ends("y") && s.hasVowel(len(s.b)-1) {
		s.b[len(s.b)-1] = 'i'
	}
}

// suffixRule replaces a suffix when the measure of the letters before it is
// large enough.
type suffixRule struct{ suffix, with string }

var doubleSuffixes = []suffixRule{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
	{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
	{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
	{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
}

var adjectiveSuffixes = []suffixRule{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

var bareSuffixes = []suffixRule{
	{"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""}, {"ant", ""},
	{"ement", ""}, {"ment", ""}, {"ent", ""}, {"sion", "s"}, {"tion", "t"}, {"ou", ""}, {"ism", ""}, {"ate", ""},
	{"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""},
}

// replace applies the first rule whose suffix the word has, and no other.
func (s *stemmer) replace(rules []suffixRule, over int) {
	last := s.b[len(s.b)-1]
	for _, r := range rules {
		if r.suffix[len(r.suffix)-1] != last || !s.ends(r.suffix) {
			continue
		}
		n := len(s.b) - len(r.suffix)
		if s.measure(n+len(keptLetter(r))) > over {
			s.b = append(s.b[:n], r.with...)
		}
		return
	}
}

// keptLetter is the letter of -sion and -tion that belongs to the stem.
func keptLetter(r suffixRule) string {
	if r.suffix == "sion" || r.suffix == "tion" {
		return r.with
	}
	return ""
}

func (s *stemmer) finalE() {
	if s.ends("e") {
		n := len(s.b) - 1
		if m := s.measure(n); m > 1 || m == 1 && !s.cvc(n) {
			s.cut(1)
		}
	}
	if s.ends("ll") && s.measure(len(s.b)) > 1 {
		s.cut(1)
	}
}

// ShorterStems lists the stems that a word beginning with prefix may have and
// that are too short to begin with it themselves: "runnin*" must reach the stem
// "run" of "running". Their matches are verified against the text.
func ShorterStems(prefix string) []string {
	var out []string
	for i := range len(prefix) {
		if prefix[i] < 'a' || prefix[i] > 'z' {
			return nil
		}
	}
	for n := 3; n < len(prefix); n++ {
		out = append(out, prefix[:n])
		if n+1 < len(prefix) {
			out = append(out, prefix[:n]+"e", prefix[:n]+"i")
		} else {
			for _, c := range []string{"e", "i"} {
				if c != prefix[n:] {
					out = append(out, prefix[:n]+c)
				}
			}
		}
	}
	return out
}
