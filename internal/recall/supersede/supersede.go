// Package supersede tells which of several statements about one subject holds
// now. A statement is superseded where a later one says the same but for one place
// ("listens on port 8443", "listens on port 9443 now"), or names what it replaces
// ("instead of 8443", "RabbitMQ is too heavy. We take NATS."). One that only says what
// holds from now on leads the older ones, but does not supersede them.
//
// It decides from the texts that a search found, when asked. Nothing is stored and no
// model is needed. A wrong mark is worse than none: two statements that differ in two
// places may both hold, and so may one that adds to the other.
package supersede

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// Statement is a message that was found.
type Statement struct {
	Text string
	Time time.Time
	User bool // said by the user, whom only the user corrects
	// Conversation and Seq are its place in the record: a reply goes with its prompt.
	Conversation, Seq int64
}

// By returns for each statement the index of the later one that changes it, or -1. The
// words of the question tell the subject; without a question every statement counts.
func By(question string, said []Statement) []int { return compare(question, said).changes(replaces) }

// comparison is statements as they are read for a question.
type comparison struct {
	said  []Statement
	all   []message
	named map[string]int // by how many messages
}

func compare(question string, said []Statement) comparison {
	c := comparison{said, make([]message, len(said)), map[string]int{}}
	subject, _ := subjectOf(question)
	for i, s := range said {
		c.all[i] = read(s, subject)
		for w := range c.all[i].words {
			c.named[w]++
		}
	}
	return c
}

// changes returns for each statement the last one that changes it, or -1.
func (c comparison) changes(does func(older, later message, named map[string]int) bool) []int {
	out := slices.Repeat([]int{-1}, len(c.said))
	changes := make([]int, len(c.said)) // in which a statement is the older or the later one
	for i, older := range c.said {
		for j, later := range c.said {
			if !later.Time.After(older.Time) || !does(c.all[i], c.all[j], c.named) {
				continue
			}
			changes[i]++
			changes[j]++
			if out[i] < 0 || later.Time.After(c.said[out[i]].Time) {
				out[i] = j
			}
		}
	}
	for i := range out {
		if changes[i] > mostChanges {
			out[i] = -1
		}
	}
	for i, s := range c.said {
		if prompt := promptOf(c.said, s); out[i] < 0 && prompt >= 0 && out[prompt] >= 0 && !c.said[out[prompt]].Time.Before(s.Time) && c.all[i].about(c.all[prompt]) {
			out[i] = out[prompt] // a reply that repeats what was replaced
		}
	}
	return out
}

// replyReach is how many messages after a prompt its reply may come.
const replyReach = 12

// mostChanges is how many statements one may change or be changed by. More that are alike
// are a series, such as reports or the items of a list.
const mostChanges = 4

// promptOf returns the statement that a reply answers, or -1.
func promptOf(said []Statement, reply Statement) int {
	prompt := -1
	for i, s := range said {
		if !reply.User && s.User && s.Conversation == reply.Conversation && s.Seq < reply.Seq && reply.Seq-s.Seq <= replyReach && (prompt < 0 || s.Seq > said[prompt].Seq) {
			prompt = i
		}
	}
	return prompt
}

// Order returns the order in which to show statements, as indexes: each later one before
// those that it changes or may change, or behind them if the question is about the past.
// Otherwise the order stays. It also returns what By does.
func Order(question string, said []Statement) (order, by []int) {
	c := compare(question, said)
	by = c.changes(replaces)
	for i := range said {
		order = append(order, i)
	}
	past := AboutPast(question)
	decided := c.changes(decides)
	if happened().MatchString(question) {
		decided = nil // what holds now is no better an answer
	}
	for _, changes := range [][]int{decided, by} {
		for older, later := range changes {
			if later < 0 {
				continue
			}
			first, second := later, older
			if past {
				first, second = older, later
			}
			from, to := slices.Index(order, first), slices.Index(order, second)
			if from > to {
				order = slices.Insert(slices.Delete(order, from, from+1), to, first)
			}
		}
	}
	if subject, since := subjectOf(question); len(since) > 0 {
		since := func(i int) bool { return overlap(terms(said[i].Text), since) || !overlap(terms(said[i].Text), subject) }
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case since(a) == since(b):
				return 0
			case since(b):
				return -1
			}
			return 1
		})
	}
	return order, by
}

// happened matches questions about something that happened.
var happened = lazyregexp.New(`(?i)\b(?:when|did|was|were|had|has|been|wann|war|waren|wurden?|hatten?)\b`)

// subjectOf returns the words of a question that tell its subject. Those that tell what came
// later ("before NATS", "vor dem Umzug") are apart.
func subjectOf(question string) (subject, since map[string]bool) {
	at := cameLater().FindStringIndex(question)
	if at == nil {
		return terms(question), nil
	}
	subject, since = terms(question[:at[0]]), terms(question[at[1]:])
	if maps.DeleteFunc(since, func(w string, _ bool) bool { return subject[w] }); len(subject) == 0 {
		return terms(question), nil
	}
	return subject, since
}

var cameLater = lazyregexp.New(`(?i)\b(?:before|prior to|bevor|vor)\b`)

// AboutPast reports whether a question asks how something was before.
func AboutPast(question string) bool {
	return past().MatchString(fold.Replace(strings.ToLower(question)))
}

var past = lazyregexp.New(`\b(?:at first|first (?:choice|version|plan|idea)|originally|original|initially|initial|before|previously|previous|former|formerly|earlier|used to|back then|in the beginning|to begin with|prior to|` +
	`zuerst|zunachst|ursprunglich\w*|anfangs|am anfang|fruher\w*|vorher|vorherig\w*|zuvor|damals|bevor|vor|(?:in|im|since|seit)(?: early| late| mid| anfang| mitte| ende)? (?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|marz|mai|juni|juli|oktober|dezember)|bis(?:her|lang)|ehemals|vormals|` +
	`d'abord|avant|auparavant|antes|al principio)\b|\bfirst\?|最初|以前|之前|原来|раньше|сначала`)

// mostNamed is how many messages may have a name that tells two of them to be about one
// subject.
const mostNamed = 5

// replaces reports whether the later message changes a claim of the older one: it says the
// same of the same thing with another value, or it names the value and something in its place.
func replaces(older, later message, named map[string]int) bool {
	return slices.ContainsFunc(older.claims, func(o claim) bool {
		return o.answers(older.subject) && !o.form().open && (later.restates(o, older.user) || (later.user || !older.user) && later.gives(o, older, named))
	})
}

// has counts the words of a question that a claim has.
func (c claim) has(subject map[string]bool) int {
	n := 0
	for w := range subject {
		if c.words[w] {
			n++
		}
	}
	return n
}

// answers reports whether a claim has at least half of the words of a question.
func (c claim) answers(subject map[string]bool) bool { return 2*c.has(subject) >= len(subject) }

// restates reports whether a claim of the message differs from an older one in one place. An
// agent changes what the user said only where it says so.
func (m message) restates(o claim, user bool) bool {
	return slices.ContainsFunc(m.claims, func(l claim) bool {
		return (m.user || !user || l.form().reverses) && !l.form().open && !l.form().adds && slices.ContainsFunc(o.clauses, func(a []token) bool {
			return slices.ContainsFunc(l.clauses, func(b []token) bool { return onePlace(a, b, m.subject) })
		})
	})
}

// decides reports whether a sentence of the later message about the subject says that something
// holds from now on, or has as many words of the question as the older one, and another value. Both
// may hold: it only is the better answer.
func decides(older, later message, _ map[string]int) bool {
	most := 0
	for _, o := range older.claims {
		most = max(most, o.has(older.subject))
	}
	if len(later.subject) < 2 || 2*most < len(older.subject) || !later.hasOther(older) {
		return false
	}
	for i, s := range later.all {
		f := s.form()
		if later.formAround(i).adds || f.open {
			continue
		}
		if n := s.has(later.subject); (later.user || f.reverses) && n >= max(most, 2) && 3*n >= 2*len(later.subject) {
			return true
		}
		around := claim{words: map[string]bool{}}
		for _, c := range later.around(i) {
			maps.Copy(around.words, c.words)
		}
		if f.fromNow && around.answers(later.subject) {
			return true
		}
	}
	return false
}

// gives reports whether the message names a value of an older claim as what no longer holds, or
// complains of it, and has another one.
func (m message) gives(o claim, older message, named map[string]int) bool {
	for _, t := range o.tokens {
		if t.kind < word || older.subject[t.stem] {
			continue
		}
		rare := named[t.stem] <= mostNamed
		for i, s := range m.all {
			if !s.words[t.stem] && !ended(s, t.stem) {
				continue
			}
			f := m.formAround(i)
			switch {
			case f.adds || s.form().open:
			case rare && m.hasOther(older) && ended(s, t.stem),
				i == 0 && s.form().blames && len(m.all) > 1 && s.beginsWith(t.stem),
				f.reverses && m.hasOther(older) && f.replaced[t.stem],
				rare && t.kind == name && s.form().blames && m.hasOther(older):
				return true
			}
		}
	}
	return false
}

// ended reports whether a sentence says that something no longer holds. Of a long word it may
// have a part: "Timescale" of "TimescaleDB".
func ended(s claim, stem string) bool {
	for w := range s.form().ended {
		if w == stem || min(len(w), len(stem)) >= longPart && (strings.HasPrefix(w, stem) || strings.HasPrefix(stem, w)) {
			return true
		}
	}
	return false
}

const longPart = 5

// Names returns the names in the statements that are about a question, in lower case: a
// message that changes a statement often has one of them and no word of the question.
func Names(question string, said []Statement) []string {
	subject := terms(question)
	var out []string
	for _, s := range said {
		m := read(s, subject)
		if len(m.claims) == 0 {
			continue
		}
		for _, low := range m.names {
			if !subject[analysis.LightStem(low)] && !slices.Contains(out, low) && low[0] != '+' {
				out = append(out, low)
			}
		}
	}
	return out
}
