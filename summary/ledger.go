package summary

import (
	"math"
	"sort"
	"strings"
)

// entry is an identifier of the material, with all its occurrences.
type entry struct {
	text   string
	class  Class
	origin origin // the best of its occurrences
	tf     int
	order  int // of first appearance
	score  int64
}

// ledger gathers every identifier of the material, wherever it stands, so
// that those in no kept sentence can still be listed.
type ledger struct {
	entries []entry
	index   map[string]int
}

// classWeight ranks classes by how much is lost with one: a path or a symbol
// can be searched for and opened, a bare number is the least use alone.
var classWeight = map[Class]float64{
	ClassPath: 1, ClassSymbol: 1, ClassHash: 1, ClassVersion: 1, ClassURL: 1, ClassDate: 0.9, ClassNumber: 0.8,
}

// originWeight prefers what people said over what tools printed.
var originWeight = [...]float64{fromUser: 2, fromAssistant: 1, fromCode: 0.4, fromTool: 0.2}

func (l *ledger) add(text string, class Class, from origin) {
	i, ok := l.index[text]
	if !ok {
		i = len(l.entries)
		l.index[text] = i
		l.entries = append(l.entries, entry{text: text, class: class, origin: from, order: i})
	}
	e := &l.entries[i]
	e.tf++
	e.origin = min(e.origin, from)
}

// inherit adds an entry of an older summary's ledger. An older summary may be
// a model's, so an entry is taken only if it is an identifier through and
// through.
func (l *ledger) inherit(item ledgerItem) {
	ids := Identifiers(item.text)
	if len(ids) != 1 || ids[0].Text != item.text {
		return
	}
	from := fromAssistant
	if item.tool {
		from = fromTool
	}
	l.add(item.text, ids[0].Class, from)
}

// ranked returns the entries that are worth the most for their length first.
func (l *ledger) ranked() []entry {
	out := make([]entry, len(l.entries))
	copy(out, l.entries)
	for i := range out {
		e := &out[i]
		worth := classWeight[e.class] * (1 + 0.3*math.Log(float64(e.tf))) * originWeight[e.origin]
		e.score = fixed(16 * worth / math.Sqrt(float64(len(e.text)+8)))
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if (a.origin <= fromAssistant) != (b.origin <= fromAssistant) {
			return a.origin <= fromAssistant
		}
		return a.score > b.score
	})
	return out
}

// missing returns the ranked entries that kept does not mention.
func missing(ranked []entry, kept string) []entry {
	var out []entry
	for _, e := range ranked {
		if !Mentions(kept, e.text) {
			out = append(out, e)
		}
	}
	return out
}

// listed renders the first n entries, each once: an entry that a longer one
// contains is not repeated. Those from conversation and those from tools and
// code stand on lines of their own, in order of rank, so that a later
// condensation can tell them apart.
func listed(entries []entry, n int) string {
	said, seen := make([]string, 0, n), make([]string, 0, n)
	for i, e := range entries[:n] {
		if containedIn(entries[:n], i) {
			continue
		}
		if e.origin <= fromAssistant {
			said = append(said, e.text)
		} else {
			seen = append(seen, e.text)
		}
	}
	var b strings.Builder
	if len(said) > 0 {
		b.WriteString(ledgerHead + strings.Join(said, ledgerSep) + "\n")
	}
	if len(seen) > 0 {
		b.WriteString(toolLedgerHead + strings.Join(seen, ledgerSep) + "\n")
	}
	return b.String()
}

// containedIn reports whether another entry mentions entry i.
func containedIn(entries []entry, i int) bool {
	id := entries[i].text
	for j, e := range entries {
		if j != i && len(e.text) > len(id) && Mentions(e.text, id) {
			return true
		}
	}
	return false
}

// fitLedger renders as many entries as cost at most budget tokens.
func fitLedger(entries []entry, budget int, count func(string) int) string {
	if budget <= 0 {
		return ""
	}
	n := sort.Search(len(entries), func(n int) bool { return count(listed(entries, n+1)) > budget })
	return listed(entries, n)
}
