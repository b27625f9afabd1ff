package reminder

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/llms"
)

// found is the result of the search for a prompt.
type found struct {
	query     *search.Query
	weights   []float64 // of the query's terms: rare ones weigh more
	evidence  []float64 // the weights, less for ordinary words
	total     float64   // of the evidence
	specific  []bool    // terms that are not ordinary words
	turns     []turn
	top       float64                  // their best score
	known     map[store.MessageID]bool // messages of turns that were read: whether they are no repetition
	repeated  []int                    // by term of the query: the messages with it that repeat the record
	exchanges []*exchange
	shown     []store.MessageID
}

// turn is a prompt of an earlier session and the messages that followed it, as far as they
// do not repeat the record.
type turn struct {
	conversation store.Conversation
	before       *store.Message // the last text of the agent before the prompt
	messages     []store.Message
	after        *store.Message // the next prompt
	seq          int64          // of its best match
	score        float64        // of its best match
	whole        bool           // it was read to both ends, and so was the turn before it
}

// turnOf returns the turn of a message, and the messages in it that repeat the record.
func turnOf(c store.Conversation, around []store.Message, seq int64) (t turn, repeating []store.Message) {
	t.conversation, t.seq = c, seq
	from, to := between(around, seq)
	last, _ := between(around[:from], math.MaxInt64)
	for i, repeats := range secondhand.Messages(around[last:from]) {
		if m := around[last+i]; !repeats && m.Flags.Said() && m.Body.Role == llms.RoleAssistant && prose(m) != "" {
			t.before = &m
		}
	}
	for i, repeats := range secondhand.Messages(around[from:to]) {
		switch m := around[from+i]; {
		case !m.Flags.Said():
		case repeats:
			repeating = append(repeating, m)
		default:
			t.messages = append(t.messages, m)
		}
	}
	if to < len(around) {
		t.after = &around[to]
	}
	return t, repeating
}

// take keeps the turn of a match, and counts the words that only repeat the record.
func (f *found) take(t turn, repeating []store.Message) {
	for _, m := range repeating {
		f.known[m.ID] = false
		for _, term := range f.query.Excerpt([]byte(m.Body.SearchText()), passage).Terms {
			f.repeated[term]++
		}
	}
	for _, m := range t.messages {
		f.known[m.ID] = true
	}
	if len(t.messages) > 0 {
		f.turns, f.top = append(f.turns, t), max(f.top, t.score, math.SmallestNonzeroFloat64)
	}
}

func prose(m store.Message) string { return strings.TrimSpace(m.Body.PlainText()) }

// takeForms adds to the query the other forms of its words that the record has, and none of
// the words that merely look alike.
func (f *found) takeForms(words []search.Term) {
	f.repeated = make([]int, len(words))
	f.query = f.query.With(slices.DeleteFunc(slices.Clone(words), func(w search.Term) bool { return w.Guessed }))
}

// exchange is a turn with the terms of the query that it has.
type exchange struct {
	turn
	terms []float64 // by term of the query: how much it counts, 0 if absent
	rank  float64
}

// piece is a message with the terms of the query that it has.
type piece struct {
	store.Message
	text string
	has  search.Excerpt
	said bool // it is no call of a tool and no output
}

func (f *found) piece(m store.Message) *piece {
	p := &piece{Message: m, text: prose(m)}
	if p.said = p.text != "" && m.Body.Role != llms.RoleTool; !p.said {
		p.text = m.Body.SearchText()
	}
	p.has = f.query.Excerpt([]byte(p.text), passage)
	return p
}

func (p *piece) asks() bool { return analysis.EndsWithQuestion([]byte(p.text)) }

// answers reports whether a text of the user is about the text before it.
func (f *found) answers(said, before *piece) bool {
	return before.asks() || f.weight(said) > shortNumber
}

// Weights of terms.
const (
	unknownWord  = 1.0 // a word that the record lacks: as one that it has once
	partOfName   = 0.5 // a part of an identifier, which counts as a whole
	ordinaryWord = 0.2 // a word of every project
	shortNumber  = 0.1 // a number of one or two digits, which is everywhere
	inOutput     = 0.6 // a word that only the output of a tool has
	beside       = 0.9 // a word of the text before the prompt, or of the next prompt
	mostWords    = 8.0 // a prompt of more weight need not be found in full
)

// smallRecord is the number of passages below which the rarity of a word says little.
const smallRecord = 100

// weigh gives each term a weight from 0 to 1 by its rarity.
func (f *found) weigh(a store.Found) {
	n := float64(max(a.Passages, smallRecord))
	idf := func(df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }
	whole := "" // an identifier, before its parts
	for i, w := range a.Words {
		if i+1 < len(a.Words) && w.Word != a.Words[i+1].Word && strings.HasPrefix(w.Word, a.Words[i+1].Word) {
			whole = w.Word
		}
		weight := unknownWord
		if of := w.Passages - f.repeated[i]; of > 0 {
			weight = max(0, min(1, idf(float64(of))/idf(1)))
		}
		switch {
		case analysis.IsGermanStop(w.Word):
			weight = 0
		case w.Passages == 0 && isOrdinary(w.Word):
			weight = shortNumber // "how long"
		}
		if len(w.Word) <= 2 && strings.Trim(w.Word, "0123456789") == "" {
			weight = min(weight, shortNumber)
		}
		if w.Word != whole && strings.Contains(whole, w.Word) {
			weight *= partOfName
		}
		ordinary := isOrdinary(w.Word)
		f.specific = append(f.specific, weight > shortNumber && !ordinary)
		f.weights = append(f.weights, weight)
		if ordinary {
			weight *= ordinaryWord
		}
		f.evidence = append(f.evidence, weight)
		f.total += weight
	}
	f.total = min(f.total, mostWords)
}

// Widths in bytes: of a passage whose words count as close, and of the text in a line.
const (
	passage = 700
	shown   = 280
)

// add adds the exchange of a turn, with the terms of the prompt that it has.
func (f *found) add(t turn) {
	x := &exchange{turn: t, terms: make([]float64, len(f.weights))}
	count := func(p *piece, counts float64) {
		for _, term := range p.has.Terms {
			x.terms[term] = max(x.terms[term], counts)
		}
	}
	var first, last *piece
	for _, m := range t.messages {
		p := f.piece(m)
		if p.said {
			count(p, 1)
			last = p
			first = cmp.Or(first, p)
		} else {
			count(p, inOutput)
		}
	}
	if t.before != nil && first != nil && first.Body.Role == llms.RoleUser {
		if p := f.piece(*t.before); f.answers(first, p) {
			count(p, beside)
		}
	}
	if t.after != nil && last != nil && last.Body.Role == llms.RoleAssistant {
		if p := f.piece(*t.after); f.answers(p, last) {
			count(p, beside)
		}
	}
	f.exchanges = append(f.exchanges, x)
}

// threshold is the evidence that an exchange needs. Mass and strength add up, because a long
// prompt is seldom found in full.
type threshold struct {
	words    int     // that are not ordinary
	mass     float64 // weight of the terms found: 1 is one word that occurs once
	strength float64 // share of the prompt's weight, plus a fifth of mass
}

// thresholds were chosen on 123 prompts to a real record and on all prompts of the tests, so
// none of these is held out. A prompt that only tells what to do mostly needs nothing: a few of its words are in every
// record.
var thresholds = [...]threshold{tells: {3, 0.7, 1.05}, asks: {1, 0.7, 0.9}, namesThePast: {1, 0.7, 0.55}}

// enough reports whether a prompt clearly refers to an exchange, not only by common words.
func (f *found) enough(x *exchange, ref reference) bool {
	words, mass := 0, 0.0
	for t, counts := range x.terms {
		mass += counts * f.evidence[t]
		if counts > 0 && f.specific[t] {
			words++
		}
	}
	need := thresholds[ref]
	return words >= need.words && mass >= need.mass && mass/f.total+mass/5 >= need.strength
}

// Weights for choosing among exchanges.
const (
	nearby = 0.5 // a word that only other exchanges of the session have
	ranked = 0.3 // the search's own rank of the exchange
	behind = 0.4 // the share of the best score that another line needs
)

// mass is the weight of the terms that a statement has.
func (f *found) mass(x *exchange) float64 {
	sum := 0.0
	for t, counts := range x.terms {
		sum += counts * f.weights[t]
	}
	return sum
}

// around is the weight of a statement together with the session around it.
func (f *found) around(x *exchange) float64 {
	sum := 0.0
	for t, w := range f.weights {
		best := x.terms[t]
		for _, other := range f.exchanges {
			if best < nearby && other.conversation.ID == x.conversation.ID && other.terms[t] > 0 && max(other.seq-x.seq, x.seq-other.seq) <= 4*reach {
				best = nearby
			}
		}
		sum += best * w
	}
	return sum
}

// choose returns the exchanges that a prompt refers to, the one with most of its words first.
func (f *found) choose(ref reference) []*exchange {
	if !slices.ContainsFunc(f.exchanges, func(x *exchange) bool { return f.enough(x, ref) }) {
		return nil
	}
	for _, x := range f.exchanges {
		x.rank = (f.mass(x)+f.around(x))/2 + ranked*x.score/f.top
	}
	slices.SortStableFunc(f.exchanges, func(x, y *exchange) int { return cmp.Compare(y.rank, x.rank) })
	return slices.DeleteFunc(f.exchanges, func(x *exchange) bool { return x.rank < behind*f.exchanges[0].rank })
}
