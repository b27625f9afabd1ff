package recall

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"unicode"
)

// WithTypos returns the dataset with one typing mistake in each question: two
// letters exchanged, or one left out, doubled or replaced, in a word of at least
// four letters that is no function word. Word and mistake follow from the
// question, so that every run makes the same ones. A question without such a
// word stays as it is.
func (d Dataset) WithTypos() Dataset {
	out := d
	out.Name += ", one typo a question"
	out.Questions = make([]Question, len(d.Questions))
	for i, q := range d.Questions {
		q.Text = mistype(q.Text)
		out.Questions[i] = q
	}
	return out
}

func mistype(question string) string {
	h := fnv.New64a()
	h.Write([]byte(question))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	words := strings.Fields(question)
	var at []int
	for i, w := range words {
		bare := strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }))
		if len(bare) >= 4 && !functionWords[bare] && strings.Trim(bare, "abcdefghijklmnopqrstuvwxyz") == "" {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return question
	}
	i := at[rng.IntN(len(at))]
	start := strings.IndexFunc(words[i], unicode.IsLetter)
	end := strings.LastIndexFunc(words[i], unicode.IsLetter) + 1
	words[i] = words[i][:start] + mistypeWord(words[i][start:end], rng) + words[i][end:]
	return strings.Join(words, " ")
}

// mistypeWord keeps the first letter, which people rarely mistype.
func mistypeWord(word string, rng *rand.Rand) string {
	at := 1 + rng.IntN(len(word)-2)
	switch rng.IntN(4) {
	case 0:
		return word[:at] + word[at+1:at+2] + word[at:at+1] + word[at+2:]
	case 1:
		return word[:at] + word[at+1:]
	case 2:
		return word[:at] + word[at:at+1] + word[at:]
	}
	return word[:at] + string(rune('a'+rng.IntN(26))) + word[at+1:]
}
