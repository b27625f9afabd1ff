package analysis

import (
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	MaxTermBytes     = 64 // longer words are known by their first bytes
	maxCompoundBytes = 64 // longer paths and ids are known by their parts alone
	maxParts         = 8  // a "camelCase" word of more parts is an encoded blob
)

// A token is one term of a text, as the bytes it was written with. Words carry
// the position of phrases; a whole (an identifier or path as it was typed)
// stands beside the words it is made of and takes no position of its own.
type Token struct {
	Raw  []byte
	Kind Kind
}

type Kind uint8

const (
	WordToken  Kind = iota // folded and stemmed
	PlainToken             // taken as it is: an emoji, a pair of runes
	NameToken              // a whole camelCase identifier, indexed like a word
	WholeToken             // a whole with connectors, indexed by its hash
)

func (t Token) Whole() bool { return t.Kind >= NameToken }

// Term is the token's key in the dictionary.
func (t Token) Term() string {
	switch t.Kind {
	case PlainToken:
		return string(t.Raw)
	case WholeToken:
		return wholeTerm(fold(t.Raw))
	}
	return string(WordTerm(nil, t.Raw))
}

// wholeMark begins the terms of wholes and no other.
const wholeMark = 1

// wholeTerm is the hash of an identifier, which may be long and is only looked
// up in full. Its first byte keeps it apart from words.
func wholeTerm(folded []byte) string {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range folded {
		h = (h ^ uint64(c)) * 1099511628211
	}
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], h)
	key[2] = wholeMark
	return string(key[2:])
}

// runeClass says how the tokenizer treats a rune.
type runeClass uint8

const (
	classBreak      runeClass = iota // white space, punctuation
	classWord                        // part of a word
	classUnspaced                    // a script written without spaces
	classEmoji                       // a word by itself
	classJoin                        // joins words into a compound: . / - and friends
	classApostrophe                  // part of a word between letters
)

var asciiClass = func() (t [utf8.RuneSelf]runeClass) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
			t[c] = classWord
		case c == '.', c == '/', c == '-', c == ':', c == '@', c == '\\', c == '#', c == '+':
			t[c] = classJoin
		case c == '\'':
			t[c] = classApostrophe
		}
	}
	return t
}()

func classOf(r rune) runeClass {
	switch {
	case r < utf8.RuneSelf:
		return asciiClass[r]
	case r == '’':
		return classApostrophe
	case unspaced(r):
		return classUnspaced
	case emoji(r):
		return classEmoji
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return classWord
	}
	return classBreak
}

// unspaced reports scripts in which words are not divided by spaces, or are
// inflected by suffixed syllables (Hangul): they are indexed by pairs of runes.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17D3: // Myanmar, Khmer
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0x1100 && r <= 0x11FF, r >= 0xAC00 && r <= 0xD7FF: // Hangul
		return true
	case r >= 0x2E80 && r <= 0x2FDF, r >= 0x3005 && r <= 0x3007, r >= 0x3041 && r <= 0x30FA,
		r >= 0x30FC && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF, r >= 0xFF66 && r <= 0xFF9F,
		r >= 0x20000 && r <= 0x3FFFF: // kana, Han
		return true
	}
	return false
}

func emoji(r rune) bool {
	switch {
	case r >= 0x1F3FB && r <= 0x1F3FF: // skin tones
		return false
	case r >= 0x1F000 && r <= 0x1FAFF, r >= 0x2600 && r <= 0x27BF, r >= 0x2B05 && r <= 0x2B55:
		return true
	}
	return false
}

// A span is one run of text that is analysed as a unit: a word, a compound of
// words, a run of an unspaced script, or an emoji.
type Span struct {
	Start, End int
	class      runeClass
}

// Spans cuts text into runs.
type Spans struct {
	Text []byte
	at   int
}

// Next returns the next run, or false at the end of the text.
func (s *Spans) Next() (Span, bool) {
	for s.at < len(s.Text) {
		c, size := s.class(s.at)
		switch c {
		case classWord:
			return s.compound(), true
		case classUnspaced:
			start := s.at
			for s.at < len(s.Text) && c == classUnspaced {
				s.at += size
				c, size = s.class(s.at)
			}
			return Span{start, s.at, classUnspaced}, true
		case classEmoji:
			s.at += size
			return Span{s.at - size, s.at, classEmoji}, true
		}
		s.at += size
	}
	return Span{}, false
}

func (s *Spans) class(at int) (runeClass, int) {
	if at >= len(s.Text) {
		return classBreak, 0
	}
	if c := s.Text[at]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, size := utf8.DecodeRune(s.Text[at:])
	if r == utf8.RuneError && size == 1 {
		return classBreak, 1
	}
	return classOf(r), size
}

// compound reads words joined by single connectors, such as store/sqlite.go.
func (s *Spans) compound() Span {
	start, joined := s.at, false
	for {
		s.word()
		c, size := s.class(s.at)
		if c != classJoin {
			break
		}
		if after, _ := s.class(s.at + size); after != classWord {
			break
		}
		joined = true
		s.at += size
	}
	if joined {
		return Span{start, s.at, classJoin}
	}
	return Span{start, s.at, classWord}
}

func (s *Spans) word() {
	for {
		if s.at < len(s.Text) && s.Text[s.at] < utf8.RuneSelf && asciiClass[s.Text[s.at]] == classWord {
			s.at++
			continue
		}
		c, size := s.class(s.at)
		if c == classApostrophe {
			if after, _ := s.class(s.at + size); after != classWord {
				return
			}
		} else if c != classWord {
			return
		}
		s.at += size
	}
}

// Analyse appends the tokens of one run. They refer to the text.
func Analyse(dst []Token, text []byte, sp Span) []Token {
	raw := text[sp.Start:sp.End]
	switch sp.class {
	case classEmoji:
		return append(dst, Token{raw, PlainToken})
	case classUnspaced:
		return runePairs(dst, raw)
	case classWord:
		return wordTokens(dst, raw)
	}
	whole := len(dst)
	if len(raw) <= maxCompoundBytes {
		dst = append(dst, Token{raw, WholeToken})
	}
	for at := 0; at < len(raw); {
		end := at
		for end < len(raw) && (raw[end] >= utf8.RuneSelf || asciiClass[raw[end]] != classJoin) {
			end++
		}
		if end > at {
			dst = wordTokens(dst, raw[at:end])
		}
		at = end + 1
	}
	if whole < len(dst) && dst[whole].Kind == WholeToken && slices.ContainsFunc(dst[whole+1:], Token.unique) {
		dst = slices.Delete(dst, whole, whole+1)
	}
	return dst
}

// unique reports a word that looks like an id. A compound with an id needs no
// entry of its own: the id finds it.
func (t Token) unique() bool {
	return t.Kind == WordToken && len(t.Raw) >= 8 && slices.ContainsFunc(t.Raw, isDigit)
}

// runePairs appends every pair of adjacent runes, and the last rune alone, so
// that a single rune is found as a prefix of the pairs it begins.
func runePairs(dst []Token, raw []byte) []Token {
	raw = norm.NFC.Bytes(raw)
	for at := 0; at < len(raw); {
		_, size := utf8.DecodeRune(raw[at:])
		_, size2 := utf8.DecodeRune(raw[at+size:])
		dst = append(dst, Token{raw[at : at+size+size2], PlainToken})
		at += size
	}
	return dst
}

// wordTokens appends the words of one identifier: itself, and its parts.
func wordTokens(dst []Token, raw []byte) []Token {
	raw = trimUnderscores(raw)
	if len(raw) == 0 {
		return dst
	}
	var scratch [maxParts][]byte
	parts, underscore := identifierParts(scratch[:0], raw)
	if len(parts) < 2 {
		return append(dst, Token{raw, WordToken})
	}
	whole := len(dst)
	kind := NameToken
	if underscore {
		kind = WholeToken
	}
	dst = append(dst, Token{raw, kind})
	for _, p := range parts {
		dst = append(dst, Token{p, WordToken})
	}
	if slices.ContainsFunc(dst[whole+1:], Token.unique) {
		dst = slices.Delete(dst, whole, whole+1)
	}
	return dst
}

func trimUnderscores(raw []byte) []byte {
	for len(raw) > 0 && raw[0] == '_' {
		raw = raw[1:]
	}
	for len(raw) > 0 && raw[len(raw)-1] == '_' {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// identifierParts splits snake_case, camelCase and HTTPServer. It returns
// nothing for a plain word, or if the parts are too many or too short for an
// identifier.
func identifierParts(parts [][]byte, raw []byte) (_ [][]byte, underscore bool) {
	start := 0
	for i := 1; i <= len(raw); i++ {
		if i < len(raw) && !boundary(raw, i) {
			continue
		}
		if i > start {
			if len(parts) == maxParts {
				return nil, underscore
			}
			parts = append(parts, raw[start:i])
		}
		start = i
		if i < len(raw) && raw[i] == '_' {
			underscore = true
			start = i + 1
		}
	}
	if len(parts) > 3 && len(raw) < 3*len(parts) {
		return nil, underscore
	}
	return parts, underscore
}

// boundary reports whether a part of an identifier ends before byte i.
func boundary(raw []byte, i int) bool {
	c, prev := raw[i], raw[i-1]
	switch {
	case c == '_':
		return true
	case !isUpper(c):
		return false
	case isUpper(prev):
		return i+1 < len(raw) && isLower(raw[i+1])
	}
	return isLower(prev) || isDigit(prev)
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlphanumeric(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }
