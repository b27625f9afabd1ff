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
	var buf [48]byte
	if len(word) > len(buf) {
		word = word[:len(buf)]
	}
	for i := 0; i < len(word); i++ {
		b := word[i]
		if isUpper(b) {
			b += 'a' - 'A'
		}
		buf[i] = b
	}
	low := buf[:len(word)]
	w.capital = isUpper(word[0])
	w.stop = len(low) < 2 || stopWords[string(low)]
	h := uint64(fnvOffset)
	for _, b := range stem(low) {
		h = hashByte(h, b)
	}
	w.key = h
}

// otherWord handles alphabets beyond ASCII. Inflection sits at the end of
// words in most of them, so the first six letters stand for a long one.
func (w *wordScanner) otherWord(word string) {
	h := uint64(fnvOffset)
	n, upper := 0, false
	for i, r := range word {
		if i == 0 {
			upper = unicode.IsUpper(r)
		}
		if n < 6 {
			var enc [utf8.UTFMax]byte
			for _, b := range enc[:utf8.EncodeRune(enc[:], unicode.ToLower(r))] {
				h = hashByte(h, b)
			}
		}
		n++
	}
	w.key, w.capital = h, upper
	w.stop = n < 2 || n <= 4 && stopWordsOther[lowerShort(word)]
}

func lowerShort(word string) string {
	out := make([]rune, 0, 8)
	for _, r := range word {
		out = append(out, unicode.ToLower(r))
	}
	return string(out)
}

// stem strips the commonest English endings from a word in small letters. It
// only has to bring forms of a word together, not to find its root.
func stem(w []byte) []byte {
	n := len(w)
	if n < 4 {
		return w
	}
	switch {
	case hasSuffix(w, "ies") && n > 4:
		w[n-3] = 'y'
		w = w[:n-2]
	case hasSuffix(w, "sses"), hasSuffix(w, "xes"), hasSuffix(w, "ches"), hasSuffix(w, "shes"):
		w = w[:n-2]
	case w[n-1] == 's' && !hasSuffix(w, "ss") && !hasSuffix(w, "us") && !hasSuffix(w, "is"):
		w = w[:n-1]
	}
	n = len(w)
	switch {
	case hasSuffix(w, "ing") && n > 5:
		return undouble(w[:n-3])
	case hasSuffix(w, "edly") && n > 6:
		return undouble(w[:n-4])
	case hasSuffix(w, "ed") && n > 4:
		return undouble(w[:n-2])
	case hasSuffix(w, "ly") && n > 5:
		return w[:n-2]
	case hasSuffix(w, "ation") && n > 7:
		return w[:n-5]
	case hasSuffix(w, "e") && n > 4:
		return w[:n-1]
	}
	return w
}

// undouble brings stopp(ed) to stop, and cach(ed) beside cache without its e.
func undouble(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z' {
		return w[:n-1]
	}
	return w
}

func hasSuffix(w []byte, s string) bool {
	return len(w) >= len(s) && string(w[len(w)-len(s):]) == s
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
