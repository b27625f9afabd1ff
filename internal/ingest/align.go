package ingest

import (
	"crypto/sha256"
)

// alignment says which stored message each message of a history is: its
// place in the list of stored ones, or -1.
type alignment struct {
	of []int
	// doubtful counts messages at the beginning of the history that equal the
	// newest stored ones, too few to be sure that they are the same. They are
	// stored, and flagged.
	doubtful int
}

func unaligned(n int) alignment {
	a := alignment{of: make([]int, n)}
	for i := range a.of {
		a.of[i] = -1
	}
	return a
}

// sure is how many messages in a row must be equal to be taken as the same
// messages, unless they are all there is on either side. One "ok" proves
// nothing.
const sure = 3

// align finds the longest run of history messages that ends what is stored;
// failing that, the longest common beginning.
//
// The end of a history may also equal the newest stored messages in a shorter
// run. That is what a history looks like that was stored before, with a part
// that is kept elsewhere: it is returned as repeat, for the caller to take if
// all of the history proves to be stored.
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

// alignRun aligns the run of n messages before end with the newest stored
// ones. Before the run, the common beginning is the same too; and what lies
// between them is stored if it is there as often as the history has it: hosts
// drop messages from the middle, edit them and put notes between them.
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

// longestRun returns the longest run of history messages that are the newest
// stored ones, and where it first ends; and the length of the run that ends
// the history. It is the Z-function of both read backwards, so that repeated
// messages do not make it quadratic.
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
		if z[i] > 0 && z[i] >= best {
			best, end = z[i], len(h)-(i-n-1)
		}
	}
	return best, end, z[n+1]
}

// alongBranch returns which of the messages off the active branch the history
// goes on with, as places in off, oldest first. It is a guess, to be proved
// by making the branch active.
func alongBranch(off []stored, h []hash) []int {
	const tries = 16 // a word that is said all the time must not make it quadratic
	var best []int
	for start, left := len(off)-1, tries; start >= 0 && left > 0 && len(h) > 0; start-- {
		if off[start].hash != h[0] {
			continue
		}
		left--
		run := []int{start}
		for i := start + 1; i < len(off) && len(run) < len(h); i++ {
			if off[i].hash == h[len(run)] {
				run = append(run, i)
			}
		}
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}
