package harness

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/llms"
)

// material is the words and lines of the bundled session, from which the corpus
// is made. They are real because an index of trigrams is several times larger
// over random letters than over text of people, compilers and servers.
type material struct {
	words []string         // of the prose, in order
	after map[string][]int // the places in words that follow a word
	plain []string         // those of words that are letters only, in lower case
	rarer []string         // words that the session does not have, made of its pairs of letters
	lines []string         // of tool output
}

var session = sync.OnceValue(func() material {
	m := material{after: map[string][]int{}}
	for _, said := range sample.Messages() {
		if said.Role == llms.RoleTool {
			m.lines = append(m.lines, lines(said.Render())...)
			continue
		}
		m.words = append(m.words, strings.Fields(said.PlainText())...)
	}
	for i, w := range m.words {
		m.after[w] = append(m.after[w], (i+1)%len(m.words))
		if plainWord().MatchString(w) {
			m.plain = append(m.plain, w)
		}
	}
	m.rarer = coin(m.plain, 30_000)
	return m
})

var plainWord = lazyregexp.New(`^[a-z]{2,}$`)

// lines are those of an output that are not too long for a short message.
func lines(output string) []string {
	return slices.DeleteFunc(strings.Split(output, "\n"), func(l string) bool { return len(l) > 200 })
}

// rare takes one of the rarer words. Squaring favours the front of the list,
// as use does.
func (m *material) rare(rng *rand.Rand) string {
	r := rng.Float64()
	return m.rarer[int(r*r*float64(len(m.rarer)))]
}

// coin makes words that look like the given ones and are none of them: each
// letter is one that follows the two before it in some word, as often as it
// does.
func coin(words []string, n int) []string {
	follow := map[string][]byte{}
	known := map[string]bool{}
	for _, w := range words {
		if known[w] {
			continue
		}
		known[w] = true
		padded := "^^" + w + "$"
		for i := 2; i < len(padded); i++ {
			follow[padded[i-2:i]] = append(follow[padded[i-2:i]], padded[i])
		}
	}
	rng := rand.New(rand.NewPCG(20, 26))
	coined := make([]string, 0, n)
	for len(coined) < n {
		w := "^^"
		for len(w) < 16 {
			next := follow[w[len(w)-2:]]
			c := next[rng.IntN(len(next))]
			if c == '$' {
				break
			}
			w += string(c)
		}
		if w = w[2:]; len(w) > 3 && !known[w] {
			known[w] = true
			coined = append(coined, w)
		}
	}
	return coined
}

var number = lazyregexp.New(`[0-9]{3,}|:[0-9]{2}\b`)

// renumber gives a line other numbers: counters, durations, minutes and
// seconds, but not years.
func renumber(rng *rand.Rand, line string) string {
	return number().ReplaceAllStringFunc(line, func(old string) string {
		if strings.HasPrefix(old, "20") {
			return old
		}
		digits := []byte(old)
		for i, c := range digits {
			if c != ':' {
				digits[i] = '0' + byte(rng.IntN(10))
			}
		}
		return string(digits)
	})
}
