// Package supersede tells which of several statements about one subject holds
// now. A statement is superseded where a later one speaks of the same subject and
// changes it: it puts another value in the same place, it has words of reversal, or it
// names what it replaces ("instead of 8443", "RabbitMQ is too heavy. We take NATS.").
//
// It decides from the texts that a search found, when asked. Nothing is stored and no
// model is needed. A wrong mark is worse than none: two statements that may both
// hold, because each has a qualifier of its own or because the later one adds to the
// other, are left alone.
package supersede

import (
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
func By(question string, said []Statement) []int {
	subject := terms(question)
	all := make([]message, len(said))
	for i, s := range said {
		all[i] = read(s, subject)
	}
	named := map[string]int{} // by how many messages
	for _, m := range all {
		for w := range m.values {
			named[w]++
		}
	}
	out := slices.Repeat([]int{-1}, len(said))
	changes := make([]int, len(said)) // in which a statement is the older or the later one
	for i := range said {
		for j := range said {
			if !said[j].Time.After(said[i].Time) || !replaces(all[i], all[j], named) {
				continue
			}
			changes[i]++
			changes[j]++
			if out[i] < 0 || said[j].Time.After(said[out[i]].Time) {
				out[i] = j
			}
		}
	}
	for i := range out {
		if changes[i] > mostChanges {
			out[i] = -1
		}
	}
	for i, s := range said {
		if prompt := promptOf(said, s); out[i] < 0 && prompt >= 0 && out[prompt] >= 0 && !said[out[prompt]].Time.Before(s.Time) && all[i].about(all[prompt]) {
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
// those that it changes, or behind them if the question is about the past. Otherwise the
// order stays. It also returns what By does.
func Order(question string, said []Statement) (order, by []int) {
	by = By(question, said)
	for i := range said {
		order = append(order, i)
	}
	past := AboutPast(question)
	for older, later := range by {
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
	return order, by
}

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

// replaces reports whether the later message changes a claim of the older one.
func replaces(older, later message, named map[string]int) bool {
	if older.user && !later.user {
		return false
	}
	return slices.ContainsFunc(older.claims, func(o claim) bool {
		return o.answers(older.subject) && (later.restates(o) || later.namesOf(o, older, named))
	})
}

// answers reports whether a claim has at least half of the words of a question.
func (c claim) answers(subject map[string]bool) bool {
	n := 0
	for w := range subject {
		if c.words[w] {
			n++
		}
	}
	return 2*n >= len(subject)
}

// restates reports whether a claim of the message says something else than an older claim
// about the same thing.
func (m message) restates(o claim) bool {
	for _, l := range m.claims {
		begins, frame := alike(o, l), sameFrame(o, l)
		if !begins && !frame && !(sameSubject(o, l) && l.other(o) && !m.repeats(o)) {
			continue
		}
		f := l.form()
		if f.open || f.adds || o.form().open || apart(o, l) && !f.reverses {
			continue
		}
		if begins || (frame || f.reverses) && !otherwiseQualified(o, l) {
			return true
		}
	}
	return false
}

// namesOf reports whether the message names a value of an older claim, and reverses
// something or complains of the value in one sentence and has another for it in the next.
func (m message) namesOf(o claim, older message, named map[string]int) bool {
	for _, t := range o.tokens {
		if t.kind < word || !m.words[t.stem] || older.subject[t.stem] || o.form().open {
			continue
		}
		f, rare := m.form(), t.kind == name && named[t.stem] <= mostNamed
		if !f.adds && (f.reverses && m.hasOther(older) && (rare || f.replaced[t.stem]) || m.blamesFirst(t.stem)) {
			return true
		}
	}
	return false
}

// blamesFirst reports whether the first of several sentences begins with a word and complains
// of it.
func (m message) blamesFirst(w string) bool {
	if len(m.all) < 2 || !m.all[0].words[w] {
		return false
	}
	at := slices.IndexFunc(m.all[0].tokens, func(t token) bool { return t.kind >= word })
	return at >= 0 && m.all[0].tokens[at].stem == w && m.all[0].form().blames
}

// repeats reports whether a message has all values of an older claim.
func (m message) repeats(o claim) bool {
	any := false
	for _, t := range o.tokens {
		if t.kind >= number {
			if any = true; !m.values[t.stem] {
				return false
			}
		}
	}
	return any
}

// sameFrame reports whether two claims say the same of the same thing, but for a value.
func sameFrame(o, l claim) bool {
	_, inOne, specific := compare(o, l)
	return min(len(o.tokens), len(l.tokens)) >= shortClaim && specific > 0 && inOne == 0 && l.otherValue(o)
}

// shortClaim is the least length of a claim that is compared by its frame: "Wow, Anna!" is
// none.
const shortClaim = 4

// alike reports whether two claims begin alike, verb and preposition included, and go on
// differently.
func alike(o, l claim) bool {
	n, content := 0, 0
	for n < min(len(o.tokens), len(l.tokens)) && o.tokens[n].stem == l.tokens[n].stem {
		if o.tokens[n].kind >= word {
			content++
		}
		n++
	}
	// A name before it, as in "lives in Berlin", would end the statement.
	return content >= 2 && n >= 4 && o.tokens[n-1].kind <= common && n < len(o.tokens) && n < len(l.tokens) && !o.words[l.tokens[n].stem] && !l.words[o.tokens[n].stem]
}

// apart reports whether two claims differ in a word and in a number: "the offset of Husum is
// 2.31 m" and "the offset of Borkum is 1.68 m" are about different things, and so are a port in
// staging and one in production.
func apart(o, l claim) bool {
	differ := func(c, from claim) (others, numbers bool) {
		for _, t := range c.tokens {
			if !from.words[t.stem] {
				others, numbers = others || t.kind != functionWord && t.kind != number, numbers || t.kind == number
			}
		}
		return others, numbers
	}
	others, numbers := differ(o, l)
	later, laterNumbers := differ(l, o)
	return others && numbers && later && laterNumbers
}

// sameSubject reports whether two claims share most of what one of them is about.
func sameSubject(o, l claim) bool {
	shared, inOne, specific := compare(o, l)
	return specific >= 2 && inOne <= 2 || specific == 1 && shared >= 2 && inOne <= 1
}

// compare counts the words that two claims share, those that only one has (of the claim that has
// fewer), and the shared ones that are not common. Values do not count.
func compare(o, l claim) (shared, inOne, specific int) {
	var own, others int
	for w := range o.words {
		switch k := o.kind(w); {
		case l.words[w]:
			shared++
			if k == word {
				specific++
			}
		case k == word:
			others++
		}
	}
	for w := range l.words {
		if !o.words[w] && l.kind(w) == word {
			own++
		}
	}
	return shared, min(own, others), specific
}

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
