package privacy

// matcher finds many keywords in one pass over a text, ignoring case, with the
// algorithm of Aho and Corasick.
type matcher struct {
	class [256]uint8 // of a byte; 0 means that no keyword has it
	width int        // how many classes there are
	next  []uint16   // the next state, by state and class
	found [][]uint16 // which keywords end in a state, longest first
	size  []int      // of each keyword
}

// newMatcher makes a matcher; the keywords are in lower case.
func newMatcher(words []string) *matcher {
	m := &matcher{width: 1, size: make([]int, len(words))}
	for i, word := range words {
		m.size[i] = len(word)
		for _, c := range []byte(word) {
			if m.class[c] == 0 {
				m.class[c] = uint8(m.width)
				m.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		m.class[c-'a'+'A'] = m.class[c]
	}
	m.grow()
	for i, word := range words {
		state := 0
		for _, c := range []byte(word) {
			at := state*m.width + int(m.class[c])
			if m.next[at] == 0 {
				m.next[at] = uint16(m.grow())
			}
			state = int(m.next[at])
		}
		m.found[state] = append(m.found[state], uint16(i))
	}
	m.link()
	return m
}

// grow adds a state and returns it.
func (m *matcher) grow() int {
	m.next = append(m.next, make([]uint16, m.width)...)
	m.found = append(m.found, nil)
	return len(m.found) - 1
}

// link sets the failure transitions: a byte that continues no keyword leads to
// the state of the longest suffix that begins one.
func (m *matcher) link() {
	fall := make([]uint16, len(m.found))
	queue := make([]uint16, 0, len(m.found))
	for c := 1; c < m.width; c++ {
		if s := m.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := int(queue[0])
		queue = queue[1:]
		back := int(fall[state])
		m.found[state] = append(m.found[state], m.found[back]...)
		for c := 1; c < m.width; c++ {
			at := state*m.width + c
			onwards := m.next[back*m.width+c]
			if s := m.next[at]; s != 0 {
				fall[s] = onwards
				queue = append(queue, s)
			} else {
				m.next[at] = onwards
			}
		}
	}
}

// step returns the state after a byte. The keywords that end with the byte are
// found[state].
func (m *matcher) step(state int, c byte) int { return int(m.next[state*m.width+int(m.class[c])]) }
