package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// identScanner walks a text once and stops at each identifier. It works on
// chunks: maximal runs of the bytes that identifiers are made of. Most chunks
// are plain words, which are told on the way.
type identScanner struct {
	text string
	pos  int

	class      Class
	start, end int

	// Parts of the current chunk still to be classified, as [lo, hi).
	lo, hi int
}

// maxIdentifier bounds the length of an identifier in bytes. Longer runs are
// data (base64, minified code), and the bound keeps the scan linear.
const maxIdentifier = 240

// next moves to the next identifier and reports whether there is one.
func (s *identScanner) next() bool {
	for {
		if s.lo < s.hi {
			lo, hi := s.lo, s.hi
			s.lo = s.hi
			if s.classify(lo, hi) {
				return true
			}
			continue
		}
		lo, hi, plain, ok := s.chunk()
		if !ok {
			return false
		}
		if hi-lo > maxIdentifier || plain && !s.wordOfInterest(lo, hi) {
			continue
		}
		s.lo, s.hi = lo, hi
	}
}

// chunk returns the next run of identifier bytes, and whether it is a plain
// word.
func (s *identScanner) chunk() (lo, hi int, plain, ok bool) {
	text := s.text
	i := s.pos
	for i < len(text) && chunkLen(text, i) == 0 {
		i += otherLen(text, i)
	}
	if s.pos = i; i == len(text) {
		return 0, 0, true, false
	}
	lo, plain = i, true
	for n := chunkLen(text, i); n > 0; n = chunkLen(text, i) {
		if text[i] == ',' && !(i > lo && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1])) {
			break
		}
		plain = plain && (n > 1 || plainByte(text, lo, i))
		i += n
	}
	s.pos = max(i, lo+1) // past a lone comma
	return lo, i, plain, true
}

// otherLen is the length of the character at i that is no part of a chunk, or of the
// escape that it begins: in quoted JSON "\nNext" the n is no part of the word.
func otherLen(text string, i int) int {
	if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("ntrbf", text[i+1]) >= 0 {
		return 2
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return n
}

// plainByte reports whether byte i of the chunk that begins at lo may stand in
// a plain word: a letter, and no capital after another letter.
func plainByte(text string, lo, i int) bool {
	return isLower(text[i]) || isUpper(text[i]) && (i == lo || !isAlpha(text[i-1]))
}

// chunkByte holds the ASCII bytes that chunks are made of.
var chunkByte = func() (set [utf8.RuneSelf]bool) {
	for b := range set {
		set[b] = isAlnum(byte(b)) || strings.IndexByte("_-./:@#$%+~,", byte(b)) >= 0
	}
	return set
}()

// chunkLen is the length of the character at i if it may be part of a chunk, else 0.
// Scripts without spaces end a chunk: in 在main.go里 the path stands alone.
func chunkLen(text string, i int) int {
	if i == len(text) || text[i] < utf8.RuneSelf {
		if i < len(text) && chunkByte[text[i]] {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if unicode.IsLetter(r) && !spaceless(r) { // the replacement character is no letter
		return n
	}
	return 0
}

// wordOfInterest reports whether a chunk of letters only may begin an
// identifier: the name of a month, or the name of a call.
func (s *identScanner) wordOfInterest(lo, hi int) bool {
	if strings.HasPrefix(s.text[hi:], "()") {
		return true
	}
	return isUpper(s.text[lo]) && hi-lo >= 3 && hi-lo <= 9 && monthName[s.text[lo:hi]]
}

// accept records an identifier and reports whether it is of a length that
// anyone would remember.
func (s *identScanner) accept(c Class, lo, hi int) bool {
	s.pos = max(s.pos, hi)
	if hi-lo > maxIdentifier {
		return false
	}
	s.class, s.start, s.end = c, lo, hi
	if s.hi < hi {
		s.lo, s.hi = hi, hi
	}
	return true
}

// rest leaves [lo, hi) of the chunk for the next round.
func (s *identScanner) rest(lo, hi int) {
	s.lo, s.hi = lo, hi
}
