package variants

// Nearness compares words with one word by the letters that were left out, added
// or replaced, or exchanged with the next. It is not safe for concurrent use.
type Nearness struct {
	word []rune
	most int
	rows [3][]int
}

// Near compares with a word, up to a distance.
func Near(word string, most int) *Nearness {
	n := &Nearness{word: []rune(word), most: most}
	for i := range n.rows {
		n.rows[i] = make([]int, len(n.word)+1)
	}
	return n
}

// Distance is the distance of another word, or more than the most.
func (n *Nearness) Distance(other []byte) int {
	distance, _ := n.walk(other)
	return distance
}

// MayBegin reports whether a word that begins so may be near enough.
func (n *Nearness) MayBegin(prefix []byte) bool {
	_, may := n.walk(prefix)
	return may
}

// walk fills one row for each letter. It stops when two rows, as far back as an
// exchange reaches, are beyond the most.
func (n *Nearness) walk(text []byte) (distance int, may bool) {
	before, last, row := n.rows[0], n.rows[1], n.rows[2]
	for j := range last {
		last[j] = j
	}
	var previous rune
	far := false
	i := 0
	for _, r := range string(text) {
		i++
		row[0] = i
		least := i
		for j, w := range n.word {
			cost := 1
			if w == r {
				cost = 0
			}
			d := min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 1 && j > 0 && r == n.word[j-1] && previous == w {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
			least = min(least, d)
		}
		if least > n.most && far {
			return n.most + 1, false
		}
		far = least > n.most
		previous = r
		before, last, row = last, row, before
	}
	return last[len(n.word)], true
}
