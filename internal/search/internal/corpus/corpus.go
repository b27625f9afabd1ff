// Package corpus generates documents that look like an agent's transcript, for
// tests and measurements: prose whose words follow Zipf's law, code, tool output
// in JSON, paths and ids, and a few percent of other scripts. The same seed
// always gives the same documents.
package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// Corpus is a source of documents.
type Corpus struct {
	rng           *rand.Rand
	zipf          *rand.Zipf
	words         []string
	conversations int64
	next          int64
	time          int64
}

// vocabulary is the number of distinct words.
const vocabulary = 40_000

// New returns a source whose documents belong to the given number of
// conversations, a thousand documents of one before the next, in turn.
func New(seed uint64, conversations int) *Corpus {
	rng := rand.New(rand.NewPCG(seed, 7))
	c := &Corpus{
		rng: rng, zipf: rand.NewZipf(rng, 1.07, 8, vocabulary-1),
		conversations: int64(max(conversations, 1)), time: 1_700_000_000_000,
	}
	seen := make(map[string]bool)
	for len(c.words) < vocabulary {
		// Frequent words are short, as in natural languages.
		syllables := 1 + c.rng.IntN(2) + min(len(c.words)/2000, 1) + c.rng.IntN(1+min(len(c.words)/8000, 1))
		if w := c.coin(syllables); !seen[w] {
			seen[w] = true
			c.words = append(c.words, w)
		}
	}
	return c
}

var (
	onsets = strings.Fields("b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p ph pl pr qu r s sc sh sl sm sp st str t th tr v w wh y z")
	nuclei = strings.Fields("a a a e e e e i i o o u ai ea ee ie oa oo ou")
	codas  = strings.Fields("n r s t l d m nd nt st ng ck ll ss th x p ct")
)

func (c *Corpus) coin(syllables int) string {
	var b strings.Builder
	for range syllables {
		b.WriteString(onsets[c.rng.IntN(len(onsets))])
		b.WriteString(nuclei[c.rng.IntN(len(nuclei))])
		if c.rng.IntN(5) < 2 {
			b.WriteString(codas[c.rng.IntN(len(codas))])
		}
	}
	return b.String()
}

// Word returns the word of the given rank: 0 is the most frequent.
func (c *Corpus) Word(rank int) string { return c.words[rank] }

func (c *Corpus) word() string { return c.words[c.zipf.Uint64()] }

// Next returns the next document, about four hundred bytes of text.
func (c *Corpus) Next() segment.Doc {
	c.next++
	conversation := (c.next-1)/1000%c.conversations + 1
	c.time += 1000 + c.rng.Int64N(60_000)
	if c.rng.IntN(80) == 0 {
		c.time += 6 * 3600 * 1000
	}
	return segment.Doc{
		ID: c.next, Conversation: conversation, Time: c.time, Role: uint8(1 + c.next%3), Text: []byte(c.text()),
	}
}

func (c *Corpus) text() string {
	var b strings.Builder
	size := 80 + int(c.rng.ExpFloat64()*320)
	for b.Len() < size {
		switch n := c.rng.IntN(100); {
		case n < 60:
			c.sentence(&b)
		case n < 80:
			fmt.Fprintf(&b, "\tif err := %s.%s(ctx, %s%s); err != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n",
				c.word(), title(c.word()), c.word(), title(c.word()), c.word(), c.word())
		case n < 92:
			fmt.Fprintf(&b, `{"id":"call_%016x","name":"%s_%s","arguments":{"path":"src/%s/%s.go","line":%d}}`+"\n",
				c.rng.Uint64(), c.word(), c.word(), c.word(), c.word(), c.rng.IntN(2000))
		case n < 97:
			fmt.Fprintf(&b, "%s v%d.%d.%d sum_%016x\n", c.word(), c.rng.IntN(4), c.rng.IntN(20), c.rng.IntN(90), c.rng.Uint64())
		default:
			for range 12 {
				b.WriteRune(0x4E00 + rune(min(c.zipf.Uint64(), 2500)))
			}
			b.WriteString("。")
		}
	}
	return b.String()
}

func (c *Corpus) sentence(b *strings.Builder) {
	n := 6 + c.rng.IntN(14)
	for i := range n {
		w := c.word()
		if i == 0 {
			w = title(w)
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteString(". ")
}

func title(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
