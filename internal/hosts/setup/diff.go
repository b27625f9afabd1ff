package setup

import (
	"fmt"
	"strings"
)

// around is how many lines a diff shows before and after a change: few,
// because the files of hosts hold more than lcm's business.
const around = 2

// Diff shows what a change does to its file, line by line.
func (c Change) Diff() string {
	var b strings.Builder
	name := func(exists bool) string {
		if exists {
			return c.Path
		}
		return "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name(c.Exists), name(!c.Delete))
	after := c.After
	if c.Delete {
		after = nil
	}
	old, now := lines(c.Before), lines(after)
	from := 0
	for from < len(old) && from < len(now) && old[from] == now[from] {
		from++
	}
	same := 0
	for same < len(old)-from && same < len(now)-from && old[len(old)-1-same] == now[len(now)-1-same] {
		same++
	}
	script := steps(old[from:len(old)-same], now[from:len(now)-same])
	head := max(0, from-around)
	var all []step
	for _, l := range old[head:from] {
		all = append(all, step{' ', l})
	}
	all = append(all, script...)
	for _, l := range old[len(old)-same : min(len(old), len(old)-same+around)] {
		all = append(all, step{' ', l})
	}
	hunks(&b, all, head)
	return b.String()
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// step is a line that stays (' '), goes ('-') or comes ('+').
type step struct {
	kind byte
	line string
}

// maxPairs bounds how many pairs of lines are compared; beyond that a change
// is shown as one block.
const maxPairs = 4 << 20

// steps is the shortest way from one list of lines to another.
func steps(a, b []string) []step {
	var out []step
	if len(a)*len(b) > maxPairs {
		for _, l := range a {
			out = append(out, step{'-', l})
		}
		for _, l := range b {
			out = append(out, step{'+', l})
		}
		return out
	}
	// common[i][j] is the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, step{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, step{'-', a[i]})
			i++
		default:
			out = append(out, step{'+', b[j]})
			j++
		}
	}
	return out
}

// hunks writes steps, leaving out lines that are far from any change.
func hunks(b *strings.Builder, all []step, old int) {
	near := make([]bool, len(all))
	for i, s := range all {
		if s.kind != ' ' {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				near[k] = true
			}
		}
	}
	for i, s := range all {
		if near[i] && (i == 0 || !near[i-1]) {
			fmt.Fprintf(b, "@@ line %d @@\n", old+1)
		}
		if near[i] {
			fmt.Fprintf(b, "%c%s\n", s.kind, strings.TrimSuffix(s.line, "\r"))
		}
		if s.kind != '+' {
			old++
		}
	}
}
