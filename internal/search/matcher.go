package search

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// matcher tells whether texts match a pattern. It looks for a literal that each
// match contains, and then runs the expression as a lazy automaton: a state is
// the set of instructions that the expression may be at, and the state after a
// character is computed once. Package regexp keeps track of where a match is and
// takes five to ten times as long. A matcher is not safe for concurrent use.
type matcher struct {
	re      *regexp.Regexp
	literal []byte // in every match; may be empty
	prefix  []byte // every match begins with it; may be empty
	whole   bool   // the literal is the expression
	prog    *syntax.Prog

	bounds []rune     // the first rune of each class; the runes of a class are the same to the expression
	ascii  [128]uint8 // the class of each
	start  *matchState
	states map[string]*matchState
	resets int

	queue []uint32 // for closures
	seen  []bool
	key   []byte
}

// matchState is a state of the automaton.
type matchState struct {
	at   []uint32 // instructions, sorted, before assertions are resolved
	prev rune     // stands for the rune before: assertions depend on its kind
	next []*matchState
	// ascii is next by characters, so that a step takes one look-up.
	ascii [utf8.RuneSelf]*matchState
	// accepts is set for the state that a match leads to, which is never left.
	accepts bool
	// stops is set too for a state with no match begun, from which the text is
	// skipped to the next prefix.
	stops bool
}

// Bounds on the memory of an automaton. One that outgrows it again and again
// has more states than it meets twice, and package regexp takes over.
const (
	maxMatchStates  = 1000
	maxMatchResets  = 8
	maxMatchInsts   = 2000
	maxMatchClasses = 250
)

// newMatcher returns a matcher of the pattern.
func (p *Pattern) newMatcher() *matcher {
	m := &matcher{re: p.re, literal: p.literal, prefix: p.prefix, whole: p.whole}
	if p.whole || p.prog == nil {
		return m
	}
	m.bounds = runeClasses(p.prog)
	if len(p.prog.Inst) > maxMatchInsts || len(m.bounds) > maxMatchClasses {
		return m
	}
	m.prog, m.seen = p.prog, make([]bool, len(p.prog.Inst))
	for r := range rune(utf8.RuneSelf) {
		m.ascii[r] = uint8(m.class(r))
	}
	m.reset()
	return m
}

// matchers are the matchers of a search, one for each goroutine, which keep
// their states from part to part.
type matchers struct {
	pattern *Pattern
	list    []*matcher
}

func (ms *matchers) at(i int) *matcher {
	for len(ms.list) <= i {
		ms.list = append(ms.list, ms.pattern.newMatcher())
	}
	return ms.list[i]
}

// match reports whether the text matches.
func (m *matcher) match(text []byte) bool {
	if len(m.literal) > len(m.prefix) && !bytes.Contains(text, m.literal) {
		return false
	}
	i := bytes.Index(text, m.prefix)
	if i < 0 || m.whole {
		return i >= 0
	}
	if m.prog == nil {
		return m.re.Match(text)
	}
	s := m.start
	for i < len(text) {
		var n *matchState
		if c := text[i]; c < utf8.RuneSelf {
			if n = s.ascii[c]; n == nil {
				n = m.to(s, int(m.ascii[c]))
				s.ascii[c] = n
			}
			i++
		} else {
			r, size := utf8.DecodeRune(text[i:])
			n = m.to(s, m.class(r))
			i += size
		}
		if n == nil {
			return m.re.Match(text)
		}
		if n.stops {
			if n.accepts {
				return true
			}
			skip := bytes.Index(text[i:], m.prefix)
			if skip < 0 {
				return false
			}
			i += skip
		}
		s = n
	}
	end := len(m.bounds)
	if s.next[end] == nil {
		s.next[end] = m.after(s, -1)
	}
	return s.next[end].accepts
}

// to is the state after a rune of a class, nil when the automaton has become too
// large.
func (m *matcher) to(s *matchState, class int) *matchState {
	if n := s.next[class]; n != nil {
		return n
	}
	return m.step(s, class)
}

// accepting is the state after a match.
var accepting = &matchState{accepts: true, stops: true}

// step computes the state after a rune of a class. It returns nil when the
// automaton has become too large.
func (m *matcher) step(s *matchState, class int) *matchState {
	n := m.after(s, m.bounds[class])
	if n.accepts {
		s.next[class] = n
		return n
	}
	m.key = m.key[:0]
	for _, pc := range n.at {
		m.key = binary.AppendUvarint(m.key, uint64(pc))
	}
	m.key = binary.AppendVarint(m.key, int64(n.prev))
	if known, ok := m.states[string(m.key)]; ok {
		s.next[class] = known
		return known
	}
	if len(m.states) >= maxMatchStates {
		if m.resets++; m.resets > maxMatchResets {
			m.prog, m.states, m.start = nil, nil, nil
			return nil
		}
		m.reset()
	}
	n.next = make([]*matchState, len(m.bounds)+1)
	m.states[string(m.key)], s.next[class] = n, n
	return n
}

func (m *matcher) reset() {
	m.states = make(map[string]*matchState)
	m.start = &matchState{at: []uint32{uint32(m.prog.Start)}, prev: -1, next: make([]*matchState, len(m.bounds)+1)}
}

// after follows the instructions of a state over a rune, or over the end of the
// text if r is -1.
func (m *matcher) after(s *matchState, r rune) *matchState {
	holds := syntax.EmptyOpContext(s.prev, r)
	m.queue = append(m.queue[:0], s.at...)
	clear(m.seen)
	next := []uint32{uint32(m.prog.Start)} // a match may begin anywhere
	for len(m.queue) > 0 {
		pc := m.queue[len(m.queue)-1]
		m.queue = m.queue[:len(m.queue)-1]
		if m.seen[pc] {
			continue
		}
		m.seen[pc] = true
		switch in := &m.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return accepting
		case syntax.InstAlt, syntax.InstAltMatch:
			m.queue = append(m.queue, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			m.queue = append(m.queue, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				m.queue = append(m.queue, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && in.MatchRune(r) {
				next = append(next, in.Out)
			}
		}
	}
	slices.Sort(next)
	n := &matchState{at: slices.Compact(next), prev: ' '}
	n.stops = len(m.prefix) > 0 && len(n.at) == 1 // only that a match may begin
	switch {
	case r == '\n':
		n.prev = '\n'
	case syntax.IsWordChar(r):
		n.prev = 'a'
	}
	return n
}

// class finds the class of a rune.
func (m *matcher) class(r rune) int {
	i, ok := slices.BinarySearch(m.bounds, r)
	if !ok {
		i--
	}
	return i
}

// runeClasses divides the runes where an instruction or an assertion tells them
// apart.
func runeClasses(prog *syntax.Prog) []rune {
	bounds := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	for i := range prog.Inst {
		in := &prog.Inst[i]
		if in.Op != syntax.InstRune && in.Op != syntax.InstRune1 {
			continue
		}
		if len(in.Rune) == 1 {
			bounds = append(bounds, in.Rune[0], in.Rune[0]+1)
			for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
				bounds = append(bounds, r, r+1)
			}
			continue
		}
		for j := 0; j+1 < len(in.Rune); j += 2 {
			bounds = append(bounds, in.Rune[j], in.Rune[j+1]+1)
		}
	}
	slices.Sort(bounds)
	return slices.Compact(bounds)
}

// literalOf returns the text of an expression that is a literal.
func literalOf(re *syntax.Regexp) []byte {
	// A byte that is not UTF-8 matches U+FFFD.
	if re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 || slices.Contains(re.Rune, utf8.RuneError) {
		return nil
	}
	return []byte(string(re.Rune))
}

// prefixLiteral returns the literal that every match begins with.
func prefixLiteral(re *syntax.Regexp) []byte {
	for re.Op == syntax.OpConcat || re.Op == syntax.OpCapture || re.Op == syntax.OpPlus {
		re = re.Sub[0]
	}
	return literalOf(re)
}

// requiredLiteral returns the longest literal that every match contains, and
// whether it is all of the expression.
func requiredLiteral(re *syntax.Regexp) (literal []byte, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		literal = literalOf(re)
		return literal, literal != nil
	case syntax.OpCapture:
		return requiredLiteral(re.Sub[0])
	case syntax.OpPlus:
		literal, _ = requiredLiteral(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l, _ := requiredLiteral(sub); len(l) > len(literal) {
				literal = l
			}
		}
	}
	return literal, false
}
