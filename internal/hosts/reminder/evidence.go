package reminder

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/search"
	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// found is the result of the search for a prompt.
type found struct {
	query     *search.Query
	weights   []float64 // of the query's terms: rare ones weigh more
	total     float64
	specific  []bool // terms that are not ordinary words
	turns     []turn
	top       float64                  // their best score
	known     map[store.MessageID]bool // messages of turns that were read: whether they are no repetition
	repeated  []int                    // by term of the query: the messages with it that repeat the record
	exchanges []exchange
	shown     []store.MessageID
}

// turn is a prompt of an earlier session and the messages that followed it, as far as they
// do not repeat the record.
type turn struct {
	conversation store.Conversation
	messages     []store.Message
	score        float64 // of its best match
}

// take keeps the messages of a turn that do not repeat the record, and counts the others.
func (f *found) take(t turn) {
	var kept []store.Message
	for i, repeats := range secondhand.Messages(t.messages) {
		m := t.messages[i]
		if !m.Flags.Said() {
			continue
		}
		if f.known[m.ID] = !repeats; !repeats {
			kept = append(kept, m)
			continue
		}
		for _, term := range f.query.Excerpt([]byte(m.Body.SearchText()), passage).Terms {
			f.repeated[term]++
		}
	}
	if t.messages = kept; len(kept) > 0 {
		f.turns, f.top = append(f.turns, t), max(f.top, t.score, math.SmallestNonzeroFloat64)
	}
}

// takeForms adds to the query the other forms of its words that the record has, and none of
// the words that merely look alike.
func (f *found) takeForms(words []store.Word) {
	f.repeated = make([]int, len(words))
	var terms []search.Term
	for _, w := range words {
		also := w.Also
		if w.Guessed {
			also = slices.DeleteFunc(slices.Clone(also), func(form string) bool { return !inflects(w.Text, form) })
		}
		terms = append(terms, search.Term{Word: w.Text, Also: also})
	}
	f.query = f.query.With(terms)
}

// inflects reports whether two words differ in their last letters alone: Rabatten, Rabatte.
func inflects(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= 5 && n >= max(len(a), len(b))-2
}

// exchange is a prompt of an earlier session and the messages that followed it.
type exchange struct {
	conversation store.Conversation
	seq          int64
	terms        []float64   // by term of the query: how much it counts, 0 if absent
	rank         float64     // of its best match, relative to the best of the search
	cited        func() Line // cites the most relevant message
}

// Weights of terms.
const (
	unknownWord = 0.7 // a word that the record lacks, relative to one that it has once
	shortNumber = 0.1 // a number of one or two digits, which is everywhere
	inOutput    = 0.8 // a word that only the output of a tool has
	answered    = 0.3 // for the assistant's messages: an answer tells more than its question
	mostWords   = 8.0 // a prompt of more weight need not be found in full
)

// smallRecord is the number of passages below which the rarity of a word says little.
const smallRecord = 100

// weigh gives each term a weight from 0 to 1 by its rarity.
func (f *found) weigh(a store.Found) {
	n := float64(max(a.Passages, smallRecord))
	idf := func(df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }
	for i, w := range a.Words {
		weight := unknownWord
		if of := w.Passages - f.repeated[i]; of > 0 {
			weight = max(0, min(1, idf(float64(of))/idf(1)))
		}
		switch {
		case foreign()[w.Text]:
			weight = 0
		case w.Passages == 0 && isOrdinary(w.Text):
			weight = shortNumber // "how long"
		}
		if len(w.Text) <= 2 && strings.Trim(w.Text, "0123456789") == "" {
			weight = min(weight, shortNumber)
		}
		f.specific = append(f.specific, weight > shortNumber && !isOrdinary(w.Text))
		f.weights = append(f.weights, weight)
		f.total += weight
	}
	f.total = min(f.total, mostWords)
}

// Widths in bytes: of a passage whose words count as close, and of the text in a line.
const (
	passage = 700
	shown   = 190
)

// add adds the exchange of a turn, with the terms of the prompt that it has.
func (f *found) add(t turn) {
	x := exchange{conversation: t.conversation, rank: t.score / f.top, terms: make([]float64, len(f.weights))}
	best := -1.0
	for _, m := range t.messages {
		prose := strings.TrimSpace(m.Body.PlainText())
		counts, text := 1.0, prose
		if prose == "" || m.Body.Role == llms.RoleTool {
			counts, text = inOutput, m.Body.SearchText()
		}
		has := f.query.Excerpt([]byte(text), passage)
		mass := 0.0
		for _, term := range has.Terms {
			x.terms[term] = max(x.terms[term], counts)
			mass += counts * f.weights[term]
		}
		if m.Body.Role == llms.RoleAssistant && prose != "" {
			mass += answered
		}
		if mass >= best {
			best, x.seq, x.cited = mass, m.Seq, func() Line { return f.line(t.conversation, m, text, has) }
		}
	}
	f.exchanges = append(f.exchanges, x)
}

// line cites a message.
func (f *found) line(c store.Conversation, m store.Message, text string, within search.Excerpt) Line {
	start, end := f.window(text, within)
	piece := text[start:end]
	if start > 0 {
		piece = "…" + piece
	}
	if end < len(text) {
		piece += "…"
	}
	return Line{ID: m.ID, Conversation: c, Time: cmp.Or(m.Body.Time, m.Stored), Who: m.Body.Role, Text: piece, seq: m.Seq}
}

// threshold is the evidence that an exchange needs. The two add up, because a long prompt
// is seldom found in full.
type threshold struct {
	mass     float64 // weight of the terms found: 1 is one word that occurs once
	strength float64 // share of the prompt's weight, plus a fifth of mass
}

var thresholds = map[reference]threshold{
	namesThePast: {mass: 1.0, strength: 0.72},
	asksForFact:  {mass: 1.5, strength: 0.95},
}

// nearThreshold is for an exchange together with the session around it.
var nearThreshold = threshold{mass: 1.2, strength: 0.95}

// enough reports whether a prompt clearly refers to an exchange, not only by common words.
// Where it names the past, three common words are enough, and much of it in the session
// around the exchange.
func (f *found) enough(x exchange, ref reference) bool {
	common := 3
	for t, counts := range x.terms {
		if counts == 0 || f.weights[t] <= shortNumber {
			continue
		}
		if common--; f.specific[t] || common == 0 && ref == namesThePast {
			return thresholds[ref].met(f.adds(x, nil), f.total) || ref == namesThePast && nearThreshold.met(f.around(x), f.total)
		}
	}
	return false
}

func (t threshold) met(mass, total float64) bool {
	return mass >= t.mass && mass/total+mass/5 >= t.strength
}

// Weights for choosing among exchanges.
const (
	nearby = 0.5 // a word that only other exchanges of the session have
	ranked = 0.5 // the search's own rank of the exchange
	again  = 0.3 // a word that a line above already has
	behind = 0.7 // the share of the best weight that an exchange of another session needs
)

// adds is the weight that an exchange adds to chosen ones, which have the terms told.
func (f *found) adds(x exchange, told []bool) float64 {
	sum := 0.0
	for t, counts := range x.terms {
		w := counts * f.weights[t]
		if told != nil && told[t] {
			w *= again
		}
		sum += w
	}
	return sum
}

// around is the weight of an exchange together with the session around it.
func (f *found) around(x exchange) float64 {
	sum := 0.0
	for t, w := range f.weights {
		best := x.terms[t]
		for _, other := range f.exchanges {
			if other.conversation.ID == x.conversation.ID && apart(other, x) <= 4*reach {
				best = max(best, nearby*other.terms[t])
			}
		}
		sum += best * w
	}
	return sum
}

func apart(x, y exchange) int64 { return max(x.seq-y.seq, y.seq-x.seq) }

// lines chooses the exchange with most of the prompt, then those that add most to it.
func (f *found) lines(ref reference) []Line {
	best, top, most := -1, 0.0, 0.0
	for i, x := range f.exchanges {
		mass := f.around(x)
		most = max(most, mass)
		if mass += ranked * x.rank; mass > top {
			best, top = i, mass
		}
	}
	if !slices.ContainsFunc(f.exchanges, func(x exchange) bool { return f.enough(x, ref) }) {
		return nil
	}
	told := make([]bool, len(f.weights))
	var taken []int
	for best >= 0 && len(taken) < MaxLines {
		taken = append(taken, best)
		for t, counts := range f.exchanges[best].terms {
			told[t] = told[t] || counts > 0
		}
		best = f.next(taken, told, most)
	}
	var lines []Line
	for _, i := range taken {
		lines = append(lines, f.exchanges[i].cited())
	}
	return lines
}

// next returns the exchange that adds most to those taken, or -1.
func (f *found) next(taken []int, told []bool, most float64) int {
	best, top := -1, 0.0
	first := f.exchanges[taken[0]].conversation.ID
	for i, x := range f.exchanges {
		if slices.Contains(taken, i) || x.conversation.ID != first && f.around(x) < behind*most {
			continue
		}
		if mass := f.adds(x, told) + ranked*x.rank; mass > top {
			best, top = i, mass
		}
	}
	return best
}
