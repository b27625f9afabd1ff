package ingest

import (
	"crypto/sha256"
)

// alignment maps each message of a history to the index of a stored message, or
// -1.
type alignment struct {
	of []int
	// doubtful counts messages at the beginning of the history that equal the
	// newest stored ones but are too few to be certain. They are stored, and
	// flagged.
	doubtful int
}

func unaligned(n int) alignment {
	a := alignment{of: make([]int, n)}
	for i := range a.of {
		a.of[i] = -1
	}
	return a
}

// sure is how many equal messages in a row count as the same messages, unless
// they are all there is on one side. A single "ok" proves nothing.
const sure = 3

// align finds the longest run of history messages that equals the newest stored
// ones; failing that, the longest common beginning.
//
// The end of a history may also equal the newest stored messages in a shorter
// run. A history that was stored before with a part outside the view looks so:
// the caller takes repeat if it shows that the whole history is stored.
func align(all []stored, h []hash) (main alignment, repeat *alignment) {
	if len(all) == 0 || len(h) == 0 {
		return unaligned(len(h)), nil
	}
	best, end, whole := longestRun(all, h)
	certain := best == len(all) || best == len(h) || best >= sure
	if whole > 0 && !(certain && end == len(h)) {
		again := alignRun(all, h, whole, len(h))
		repeat = &again
	}
	if certain {
		return alignRun(all, h, best, end), repeat
	}
	main = unaligned(len(h))
	if shared := common(all, h); shared > 0 {
		for i := range shared {
			main.of[i] = i
		}
		return main, repeat
	}
	main.doubtful = best
	return main, repeat
}

func common(all []stored, h []hash) int {
	n := 0
	for n < len(all) && n < len(h) && h[n] == all[n].hash {
		n++
	}
	return n
}

// alignRun aligns the run of n messages before end with the newest stored ones,
// and the common beginning before the run. Messages in between match stored ones
// of equal content: hosts drop messages from the middle, edit them and insert
// notes.
func alignRun(all []stored, h []hash, n, end int) alignment {
	a := unaligned(len(h))
	head, older := end-n, len(all)-n
	for i := range n {
		a.of[head+i] = older + i
	}
	shared := common(all[:older], h[:head])
	for i := range shared {
		a.of[i] = i
	}
	between := map[hash][]int{}
	for i := shared; i < older; i++ {
		between[all[i].hash] = append(between[all[i].hash], i)
	}
	for i := shared; i < head; i++ {
		if at := between[h[i]]; len(at) > 0 {
			a.of[i], between[h[i]] = at[0], at[1:]
		}
	}
	return a
}

type hash = [sha256.Size]byte

// longestRun returns the longest run of history messages that equals the newest
// stored ones and the index after its first occurrence, and the length of the
// run at the end of the history. It computes the Z-function of both lists in
// reverse, so that repeated messages do not make it quadratic.
func longestRun(all []stored, h []hash) (best, end, whole int) {
	n := len(all)
	text := make([]hash, 0, n+1+len(h))
	for i := n - 1; i >= 0; i-- {
		text = append(text, all[i].hash)
	}
	text = append(text, hash{}) // no message has this hash
	for i := len(h) - 1; i >= 0; i-- {
		text = append(text, h[i])
	}
	z := make([]int, len(text))
	for i, l, r := 1, 0, 0; i < len(text); i++ {
		if i < r {
			z[i] = min(r-i, z[i-l])
		}
		for i+z[i] < len(text) && text[z[i]] == text[i+z[i]] {
			z[i]++
		}
		if i+z[i] > r {
			l, r = i, i+z[i]
		}
	}
	for i := n + 1; i < len(text); i++ {
		if z[i] >= best {
			best, end = z[i], len(h)-(i-n-1)
		}
	}
	return best, end, z[n+1]
}
