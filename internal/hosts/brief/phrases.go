package brief

import "strings"

// phrases are looked for in one pass over a text. A search for each of them, and
// expressions with as many alternatives, took half of the time of a session's start.
type phrases struct {
	all  []string    // in lower case, at most 64
	from [256][]int8 // those that begin with a byte
}

func newPhrases(all ...string) *phrases {
	p := &phrases{all: all}
	for i, s := range all {
		p.from[s[0]] = append(p.from[s[0]], int8(i))
	}
	return p
}

// count returns how many of the phrases a text contains, at most so many.
func (p *phrases) count(text string, most int) int {
	var seen uint64
	n := 0
	p.each(text, func(i int, _, _ string) bool {
		if seen&(1<<i) == 0 {
			seen |= 1 << i
			n++
		}
		return n < most
	})
	return n
}

// asWord reports whether a text contains a phrase that is no part of a longer word.
func (p *phrases) asWord(text string) (found bool) {
	p.each(text, func(i int, before, after string) bool {
		s := p.all[i]
		found = !(before != "" && isWord(before[len(before)-1]) && isWord(s[0])) && !(after != "" && isWord(after[0]) && isWord(s[len(s)-1]))
		return !found
	})
	return found
}

// each calls fn for the places of phrases in a text, with the text around them, until it
// returns false.
func (p *phrases) each(text string, fn func(i int, before, after string) bool) {
	text = strings.ToLower(text)
	for at := range len(text) {
		for _, i := range p.from[text[at]] {
			s := p.all[i]
			if strings.HasPrefix(text[at:], s) && !fn(int(i), text[:at], text[at+len(s):]) {
				return
			}
		}
	}
}

// isWord reports whether a byte is an ASCII letter, digit or underscore.
func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z'
}
