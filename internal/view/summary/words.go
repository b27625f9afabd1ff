package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordScanner walks the words of a text. A word of a script without spaces is
// a pair of neighbouring characters.
type wordScanner struct {
	text string
	pos  int
	// The current word.
	start, end int
	key        uint64 // of its stem
	stop       bool   // says nothing on its own
	capital    bool
	glued      bool // a pair of characters that overlaps its neighbour
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hashByte(h uint64, b byte) uint64 { return (h ^ uint64(b)) * fnvPrime }

func hashString(s string) uint64 {
	h := uint64(fnvOffset)
	for i := 0; i < len(s); i++ {
		h = hashByte(h, s[i])
	}
	return h
}

func hashPair(a, b uint64) uint64 {
	for range 8 {
		a = hashByte(a, byte(b))
		b >>= 8
	}
	return a
}

// next moves to the next word and reports whether there is one.
func (w *wordScanner) next() bool {
	for w.pos < len(w.text) {
		b := w.text[w.pos]
		if b < utf8.RuneSelf {
			if isWordByte(b) {
				w.alphabetic()
				return true
			}
			w.pos += escapeLen(w.text, w.pos)
			continue
		}
		r, n := utf8.DecodeRuneInString(w.text[w.pos:])
		switch {
		case spaceless(r):
			if w.pair(r, n) {
				return true
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			w.alphabetic()
			return true
		default:
			w.pos += n
		}
	}
	return false
}

// pair takes the character r of n bytes at pos with the one after it. A
// single character between others is skipped. A pair with a particle in it
// joins the end of one word to the start of the next and says nothing.
func (w *wordScanner) pair(r rune, n int) bool {
	start := w.pos
	w.pos += n
	r2, n2 := utf8.DecodeRuneInString(w.text[w.pos:])
	if !spaceless(r2) {
		return false
	}
	w.start, w.end = start, w.pos+n2
	w.key = hashString(w.text[w.start:w.end])
	w.stop, w.capital, w.glued = isParticle(r) || isParticle(r2), false, true
	return true
}

// isParticle reports hiragana, in which Japanese writes its endings and
// particles, and the commonest function words of Chinese.
func isParticle(r rune) bool {
	return r >= 0x3041 && r <= 0x309f || strings.ContainsRune(particles, r)
}

const particles = "的了在是我你他她它们把被和与及就都而也不又这那有请会于以之吗呢吧啊着过到从对为给让还很最个些"

// alphabetic takes a run of letters, digits and underscores.
func (w *wordScanner) alphabetic() {
	start, i := w.pos, w.pos
	ascii := true
	for i < len(w.text) {
		b := w.text[i]
		if b < utf8.RuneSelf {
			if !isWordByte(b) {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(w.text[i:])
		if spaceless(r) || !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
			break
		}
		ascii = false
		i += n
	}
	w.pos, w.start, w.end, w.glued = i, start, i, false
	word := w.text[start:i]
	if ascii {
		w.asciiWord(word)
		return
	}
	w.otherWord(word)
}

func (w *wordScanner) asciiWord(word string) {
	low := strings.ToLower(word[:min(len(word), 48)])
	w.capital = isUpper(word[0])
	w.stop = len(low) < 2 || stopWords[low]
	w.key = hashString(stem(low))
}

// otherWord handles alphabets beyond ASCII. Inflection sits at the end of
// words in most of them, so the first six letters stand for a long one.
func (w *wordScanner) otherWord(word string) {
	first, _ := utf8.DecodeRuneInString(word)
	low := []rune(strings.ToLower(word))
	w.key, w.capital = hashString(string(low[:min(len(low), 6)])), unicode.IsUpper(first)
	w.stop = len(low) < 2 || len(low) <= 4 && stopWordsOther[string(low)]
}

// stem strips the commonest English endings from a word in lower case. It only has to
// bring forms of a word together, not to find its root.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	ends := func(suffix string, longer int) bool { return len(w) > longer && strings.HasSuffix(w, suffix) }
	switch {
	case ends("ies", 4):
		w = w[:len(w)-3] + "y"
	case ends("sses", 0), ends("xes", 0), ends("ches", 0), ends("shes", 0):
		w = w[:len(w)-2]
	case ends("s", 0) && !ends("ss", 0) && !ends("us", 0) && !ends("is", 0):
		w = w[:len(w)-1]
	}
	switch n := len(w); {
	case ends("ing", 5):
		return undouble(w[:n-3])
	case ends("edly", 6):
		return undouble(w[:n-4])
	case ends("ed", 4):
		return undouble(w[:n-2])
	case ends("ly", 5):
		return w[:n-2]
	case ends("ation", 7):
		return w[:n-5]
	case ends("e", 4):
		return w[:n-1]
	}
	return w
}

// undouble brings stopp(ed) to stop, and cach(ed) beside cache without its e.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("lsz", w[n-1]) < 0 {
		return w[:n-1]
	}
	return w
}

var (
	stopWords = stringSet(`a an and are as at be been being but by can could did do does doing done for from had has have having
		he her here hers him his how i if in into is it its just like me more most my no nor not now of off on once only or other
		our out over own same she should so some such than that the their them then there these they this those through to too
		under until up us very was we were what when where which while who whom why will with would you your yours also about
		after again all am any because before between both each few during above below against further let get got go going
		one two may might much need per see still thing things use used using via want way well yes ok okay please thanks
		don t s re ll ve d m isn aren didn doesn won can't make made think know look looks it's i'm i'll that's
		der die das und ist nicht mit ein eine zu den von für auf im le la les des et est pas un une dans que pour el los las
		una por con para del se lo`)
	stopWordsOther = stringSet(`и в не на что это как по но из за то мы вы он она они для от до же бы так или уже ещё при все всё мне нас их его ее её für être où très à`)
)

// spaceless reports whether r belongs to a script that is written without
// spaces between words, where pairs of characters stand in for words.
func spaceless(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r < 0x1100: // Thai, Lao, Tibetan, Myanmar
		return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar)
	case r < 0x3040:
		return r >= 0x1780 && r < 0x1800 || r >= 0x2e80 && r < 0x2fe0 || r == 0x3005 || r == 0x3007 // Khmer, radicals
	case r < 0x3100: // kana
		return true
	case r < 0xa000: // bopomofo, Han
		return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Bopomofo, r) || r >= 0x31f0 && r < 0x3200
	case r < 0xac00:
		return false
	case r < 0xd7b0: // Hangul syllables: spaces, but endings glued to stems
		return true
	}
	return r >= 0xf900 && r < 0xfb00 || r >= 0xff66 && r < 0xffa0 || r >= 0x20000 && r < 0x323b0
}

func stringSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
