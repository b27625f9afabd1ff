package summary

import "strings"

// classify looks at one chunk and stops at the first identifier in it,
// leaving what follows for the next round.
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
	if isDigit(c[0]) || c[0] == '#' || c[0] == '$' && len(c) > 1 && isDigit(c[1]) {
		return s.numeric(lo, hi)
	}
	if strings.HasPrefix(c, "www.") && len(c) > 8 {
		return s.accept(ClassURL, lo, hi)
	}
	if isEmail(c) {
		return s.accept(ClassURL, lo, hi)
	}
	if isHash(c) {
		return s.accept(ClassHash, lo, hi)
	}
	if isNamedVersion(c) {
		return s.accept(ClassVersion, lo, hi)
	}
	if isPath(c) {
		return s.accept(ClassPath, lo, hi)
	}
	if end, ok := s.symbol(lo, hi); ok {
		return s.accept(ClassSymbol, lo, end)
	}
	if isMonth(c) {
		return s.month(lo, hi)
	}
	return false
}

// url takes a URL whose scheme ends at colon; it may run on past the chunk.
func (s *identScanner) url(lo, colon int) bool {
	text := s.text
	start := colon
	for start > lo && (isAlnum(text[start-1]) || text[start-1] == '+') {
		start--
	}
	end := colon + len("://")
	for end < len(text) && urlByte(text[end]) {
		end++
	}
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
	case isClock(c):
		return s.accept(ClassDate, lo, hi)
	case len(c) > 16 && isISODate(c):
		return s.accept(ClassDate, lo, hi)
	case isPath(head) && isPositions(tail):
		return s.accept(ClassPath, lo, hi)
	case isHost(head) && isDigits(tail) && len(tail) >= 2:
		return s.accept(ClassURL, lo, hi)
	case isImage(head, tail):
		return s.accept(ClassVersion, lo, hi)
	case strings.HasPrefix(tail, ":") && isWord(head) && len(tail) > 1 && isScoped(tail[1:]):
		return s.accept(ClassSymbol, lo, hi)
	}
	s.rest(lo+i+1, hi)
	return s.classifyKeeping(lo, lo+i)
}

// classifyKeeping classifies [lo, hi) without losing what was left to do,
// unless the identifier found runs into it.
func (s *identScanner) classifyKeeping(lo, hi int) bool {
	restLo, restHi := s.lo, s.hi
	s.lo, s.hi = hi, hi
	found := s.classify(lo, hi)
	if found && s.end > restLo {
		restLo = s.end
	}
	if restLo > restHi {
		restLo = restHi
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
		return hi, isQualified(c)
	}
	return hi, hasHump(c) || isTicket(c) || isCode(c)
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

// isTicket reports names such as ABC-123 and RFC-9110.
func isTicket(c string) bool {
	i := strings.IndexByte(c, '-')
	if i < 2 || i == len(c)-1 {
		return false
	}
	for j := 0; j < i; j++ {
		if !isUpper(c[j]) && !isDigit(c[j]) {
			return false
		}
	}
	return isDigits(c[i+1:])
}

// isCode reports names in which letters and digits meet: sha256, p99,
// gpt-4o, x86-64.
func isCode(c string) bool {
	if len(c) < 3 || !isAlpha(c[0]) {
		return false
	}
	digits := 0
	for i := 0; i < len(c); i++ {
		switch {
		case isDigit(c[i]):
			digits++
		case c[i] != '-' && !isAlpha(c[i]):
			return false
		}
	}
	return digits > 0
}

// isQualified reports names joined by dots: os.Open, user.name.first. A full
// stop without a space after it ("done.Then") is told by the capital that
// follows a word in small letters only where the first word is long.
func isQualified(c string) bool {
	parts := 0
	for len(c) > 0 {
		part := c
		if i := strings.IndexByte(c, '.'); i >= 0 {
			part, c = c[:i], c[i+1:]
		} else {
			c = ""
		}
		if !isWord(part) || isDigit(part[0]) {
			return false
		}
		if len(part) < 2 {
			return false // e.g, i.e, U.S
		}
		parts++
	}
	return parts >= 2
}

func isScoped(c string) bool {
	for _, part := range strings.Split(c, "::") {
		if !isWord(part) {
			return false
		}
	}
	return true
}

// isWord reports whether c is one or more letters, digits and underscores.
func isWord(c string) bool {
	for i := 0; i < len(c); i++ {
		if !isWordByte(c[i]) {
			return false
		}
	}
	return c != ""
}

func isDigits(c string) bool {
	for i := 0; i < len(c); i++ {
		if !isDigit(c[i]) {
			return false
		}
	}
	return c != ""
}
