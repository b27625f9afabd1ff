package reminder

import (
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// found is what a search for a prompt came to.
type found struct {
	query     *search.Query
	weights   []float64 // of the query's terms: the rarer, the heavier
	total     float64
	specific  []bool // terms that not every project has
	exchanges []exchange
	shown     []store.MessageID
}

// exchange is a prompt of an earlier session and what followed it.
type exchange struct {
	conversation store.Conversation
	ids          []store.MessageID
	seq          int64
	terms        []float64   // of the query: how much each counts, 0 for what it does not have
	rank         float64     // of its best match, against the best of the search
	cited        func() Line // cites the message that says most
}

// Weights of terms and places.
const (
	unknownWord = 0.7 // a word that the record does not have, against one that it has once
	shortNumber = 0.1 // a number of one or two digits, which is everywhere
	inOutput    = 0.8 // a word that only what a tool said has
	answered    = 0.3 // for the assistant's words: an answer tells more than its question
	mostWords   = 8.0 // a prompt of more than this weight need not be found in full
)

// smallRecord is the number of passages below which how rare a word is says
// little: in the first session of a project every word is common.
const smallRecord = 100

// weigh gives each term a weight from 0 to 1 by how rare it is in the scope.
func (f *found) weigh(a store.Found) {
	n := float64(max(a.Passages, smallRecord))
	idf := func(df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }
	for _, w := range a.Words {
		weight := unknownWord
		if w.Passages > 0 {
			weight = max(0, min(1, idf(float64(w.Passages))/idf(1)))
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

// knows reports whether a message is part of an exchange that was looked at.
func (f *found) knows(id store.MessageID) bool {
	return slices.ContainsFunc(f.exchanges, func(x exchange) bool { return slices.Contains(x.ids, id) })
}

// Widths in bytes: of the passage in which words count as said together, and of
// what a line shows.
const (
	passage = 700
	shown   = 190
)

// add keeps an exchange with what it has of the prompt.
func (f *found) add(c store.Conversation, said []store.Message, rank float64) {
	x := exchange{conversation: c, rank: rank, terms: make([]float64, len(f.weights))}
	best := -1.0
	for _, m := range said {
		x.ids = append(x.ids, m.ID)
		prose := strings.TrimSpace(m.Body.PlainText())
		counts, text := 1.0, prose
		if prose == "" || m.Body.Role == llms.RoleTool {
			counts, text = inOutput, m.Body.SearchText()
		}
		has := f.query.Excerpt([]byte(text), passage)
		mass := 0.0
		for _, t := range has.Terms {
			x.terms[t] = max(x.terms[t], counts)
			mass += counts * f.weights[t]
		}
		if m.Body.Role == llms.RoleAssistant && prose != "" {
			mass += answered
		}
		if mass >= best {
			best, x.seq, x.cited = mass, m.Seq, func() Line { return f.line(c, m, text, has) }
		}
	}
	if len(x.ids) > 0 {
		f.exchanges = append(f.exchanges, x)
	}
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
	when := m.Body.Time
	if when.IsZero() {
		when = m.Stored
	}
	return Line{ID: m.ID, Conversation: c, Time: when, Who: m.Body.Role, Text: piece, seq: m.Seq}
}

// threshold is how much of a prompt an exchange must have: enough by itself,
// and enough of what the prompt is about. One adds to the other, because a long
// prompt is seldom found in full.
type threshold struct {
	mass     float64 // weight of what was found: 1 is one word that occurs once
	strength float64 // share of the prompt's weight, and a fifth of what was found
}

var thresholds = map[reference]threshold{
	namesThePast: {mass: 1.0, strength: 0.72},
	asksForFact:  {mass: 1.5, strength: 0.95},
}

// enough reports whether an exchange is clearly what a prompt refers to. Words
// of every day alone are not: "the tests fail again".
func (f *found) enough(x exchange, ref reference) bool {
	mass, need := f.mass(x), thresholds[ref]
	for t, counts := range x.terms {
		if counts > 0 && f.specific[t] {
			return mass >= need.mass && mass/f.total+mass/5 >= need.strength
		}
	}
	return false
}

// Weights of the choice among exchanges.
const (
	nearby = 0.5 // a word that only other exchanges of the session have
	ranked = 0.5 // the place that the search gave to the exchange
	again  = 0.3 // a word that a line above has as well
	behind = 0.7 // share of the best that an exchange of another session must have
)

// mass is the weight of what an exchange has of the prompt.
func (f *found) mass(x exchange) float64 {
	sum := 0.0
	for t, counts := range x.terms {
		sum += counts * f.weights[t]
	}
	return sum
}

// adds is the weight of what an exchange adds to those that are told.
func (f *found) adds(x exchange, told []bool) float64 {
	sum := 0.0
	for t, counts := range x.terms {
		w := counts * f.weights[t]
		if told[t] {
			w *= again
		}
		sum += w
	}
	return sum
}

// around is the weight of what an exchange and the session around it have.
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

// lines chooses what is told: the exchange that has most of the prompt, then
// those that add most to it.
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

// next is the exchange that adds most to those that are taken, or -1.
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
