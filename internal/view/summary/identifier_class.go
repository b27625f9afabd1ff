package summary

import (
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// classify looks at one chunk and stops at the first identifier in it,
// leaving the rest for the next round.
func (s *identScanner) classify(lo, hi int) bool {
	text := s.text
	if i := strings.Index(text[lo:hi], "://"); i > 0 {
		return s.url(lo, lo+i)
	}
	lo, hi = trimChunk(text, lo, hi)
	if lo >= hi {
		return false
	}
	c := text[lo:hi]
	if i := strings.IndexByte(c, ':'); i >= 0 {
		return s.withColon(lo, hi, i)
	}
	switch {
	case isDigit(c[0]) || c[0] == '#' || c[0] == '$' && len(c) > 1 && isDigit(c[1]):
		return s.numeric(lo, hi)
	case strings.HasPrefix(c, "www.") && len(c) > 8, isEmail(c):
		return s.accept(ClassURL, lo, hi)
	case isHash(c):
		return s.accept(ClassHash, lo, hi)
	case isNamedVersion(c):
		return s.accept(ClassVersion, lo, hi)
	case isPath(c):
		return s.accept(ClassPath, lo, hi)
	}
	if end, ok := s.symbol(lo, hi); ok {
		return s.accept(ClassSymbol, lo, end)
	}
	return monthName[c] && s.month(lo, hi)
}

// url takes a URL whose scheme ends at colon; it may run on past the chunk.
func (s *identScanner) url(lo, colon int) bool {
	text := s.text
	start := colon
	for start > lo && (isAlnum(text[start-1]) || text[start-1] == '+') {
		start--
	}
	end := runEnd(text, colon+len("://"), urlByte)
	for end > colon && strings.IndexByte(".,:!?*_~", text[end-1]) >= 0 {
		end--
	}
	if start == colon || end <= colon+len("://")+1 {
		if next := colon + len("://"); next < s.pos {
			s.rest(next, s.pos)
		}
		return false
	}
	chunkEnd := s.pos
	found := s.accept(ClassURL, start, end)
	if end < chunkEnd {
		s.rest(end, chunkEnd)
	}
	return found
}

func urlByte(b byte) bool {
	return isAlnum(b) || strings.IndexByte("-._~:/?#@!$&*+,=%", b) >= 0
}

// trimChunk cuts punctuation that belongs to the sentence, not to the word.
func trimChunk(text string, lo, hi int) (int, int) {
	for lo < hi && strings.IndexByte(".,:-~+@#$%/_", text[hi-1]) >= 0 {
		b := text[hi-1]
		if b == '%' && hi-2 >= lo && isDigit(text[hi-2]) {
			break
		}
		if b == '/' && hi-2 > lo && isWordByte(text[hi-2]) {
			break // a folder: store/
		}
		hi--
	}
	for lo < hi && !isWordByte(text[lo]) && text[lo] < 0x80 {
		c := text[lo:hi]
		switch {
		case c[0] == '/' && len(c) > 1 && isWordByte(c[1]),
			strings.HasPrefix(c, "./"), strings.HasPrefix(c, "../"), strings.HasPrefix(c, "~/"),
			strings.HasPrefix(c, "--") && len(c) > 3 && isAlpha(c[2]),
			c[0] == '.' && len(c) > 3 && isLower(c[1]),
			c[0] == '$' && len(c) > 1 && isWordByte(c[1]),
			c[0] == '#' && len(c) > 1 && isDigit(c[1]),
			c[0] == '@' && strings.IndexByte(c, '/') > 1:
			return lo, hi
		}
		lo++
	}
	return lo, hi
}

// withColon handles the chunk [lo, hi) whose first colon is at lo+i.
func (s *identScanner) withColon(lo, hi, i int) bool {
	c := s.text[lo:hi]
	head, tail := c[:i], c[i+1:]
	switch {
	case dateForm().MatchString(c):
		return s.accept(ClassDate, lo, hi)
	case isPath(head) && positionForm().MatchString(tail):
		return s.accept(ClassPath, lo, hi)
	case hostForm().MatchString(c):
		return s.accept(ClassURL, lo, hi)
	case isAlpha(c[0]) && isPathWord(head) && strings.IndexByte(tail, '.') > 0 && versionForm().MatchString(tail): // an image and its tag
		return s.accept(ClassVersion, lo, hi)
	case scopedForm().MatchString(c):
		return s.accept(ClassSymbol, lo, hi)
	}
	s.rest(lo+i+1, hi)
	return s.classifyKeeping(lo, lo+i)
}

// classifyKeeping classifies [lo, hi) and keeps the rest of the chunk for the next
// round, as far as the identifier does not reach into it.
func (s *identScanner) classifyKeeping(lo, hi int) bool {
	restLo, restHi := s.lo, s.hi
	s.lo, s.hi = hi, hi
	found := s.classify(lo, hi)
	if found {
		restLo = min(max(restLo, s.end), restHi)
	}
	if s.lo >= s.hi {
		s.lo, s.hi = restLo, restHi
	} else {
		s.hi = restHi
	}
	return found
}

// symbol reports where the symbol that begins at lo ends.
func (s *identScanner) symbol(lo, hi int) (int, bool) {
	c := s.text[lo:hi]
	if strings.HasPrefix(s.text[hi:], "()") && isAlpha(c[0]) && len(c) > 1 && isWordByte(c[len(c)-1]) {
		return hi + 2, true
	}
	switch {
	case strings.HasPrefix(c, "--"), c[0] == '$':
		return hi, true
	case c[0] == '@', c[0] == '.':
		return hi, false
	case strings.IndexByte(c, '_') > 0:
		return hi, len(c) > 2
	case strings.IndexByte(c, '.') > 0:
		return hi, qualifiedForm().MatchString(c)
	}
	return hi, hasHump(c) || isCode(c)
}

// hasHump reports camelCase and PascalCase of two words or more. Plurals of
// acronyms (URLs) and acronyms themselves are words.
func hasHump(c string) bool {
	humps, small := 0, 0
	for i := 0; i < len(c); i++ {
		switch {
		case isLower(c[i]):
			small++
			if i > 0 && isUpper(c[i-1]) && i+1 < len(c) {
				humps++
			}
		case isUpper(c[i]):
			if i > 0 && isLower(c[i-1]) {
				humps += 2
			}
		case !isDigit(c[i]):
			return false
		}
	}
	if small == 0 || len(c) < 4 {
		return false
	}
	if isUpper(c[0]) && len(c) > 1 && isLower(c[1]) {
		humps-- // the first letter of a sentence
	}
	if small == 1 && c[len(c)-1] == 's' {
		return false
	}
	return humps >= 1
}

// isCode reports names in which letters and digits meet: sha256, p99, gpt-4o,
// x86-64, and tickets such as ABC-123.
func isCode(c string) bool {
	return len(c) >= 3 && (isAlpha(c[0]) && every(c, isCodeByte) && some(c, isDigit) || ticketForm().MatchString(c))
}

// The forms of identifiers that are told by an expression. A name joined by dots
// has parts of two letters and more: e.g, i.e and U.S are words.
var (
	dateForm = lazyregexp.New(`^(?:\d{4}-\d\d-\d\d(?:T` + clock + `)?|\d:\d\d|` + clock + `|\d{4}/\d{1,4}/\d{1,4}|\d{1,4}/\d{1,4}/\d{4})$`)
	// A version is a number with any parts after dots, perhaps a v before it and
	// a suffix. 2+3 is a sum.
	versionForm   = lazyregexp.New(`^v?\d+(?:\.\d+)*(?:(?:-|\+[A-Za-z+.-]|rc|beta)[A-Za-z0-9.+-]*)?$`)
	positionForm  = lazyregexp.New(`^\d+(?::\d+)?$`) // a line, and a column
	hostForm      = lazyregexp.New(`^(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+):\d{2,}$`)
	domainForm    = lazyregexp.New(`^[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)+$`)
	scopedForm    = lazyregexp.New(`^\w+(?:::\w+)+$`)
	qualifiedForm = lazyregexp.New(`^[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+$`)
	ticketForm    = lazyregexp.New(`^[A-Z0-9]{2,}-\d+$`)
	uuidForm      = lazyregexp.New(`^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
)

// clock is 09:30, 09:30:15.123 and 09:30Z.
const clock = `(?:[01]\d|2[0-4]):[0-5]\d[\d:.,Z+-]*`
