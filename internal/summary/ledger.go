package summary

import (
	"cmp"
	"math"
	"slices"
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

// originWeight prefers the messages of people to tool output.
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

// ranked returns the entries that are worth the most for their length first:
// those that were said, and those that were only seen in tool traffic or code.
func (l *ledger) ranked() (said, seen []entry) {
	for _, e := range l.entries {
		worth := classWeight[e.class] * (1 + 0.3*math.Log(float64(e.tf))) * originWeight[e.origin]
		if e.origin > fromAssistant && e.class == ClassNumber {
			worth /= 4 // tools print numbers by the thousand
		}
		e.score = fixed(16 * worth / math.Sqrt(float64(len(e.text)+8)))
		if e.origin <= fromAssistant {
			said = append(said, e)
		} else {
			seen = append(seen, e)
		}
	}
	byScore := func(a, b entry) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	}
	slices.SortFunc(said, byScore)
	slices.SortFunc(seen, byScore)
	return said, seen
}

// missing returns up to limit entries that kept does not mention.
func missing(entries []entry, kept string, limit int) []entry {
	present := map[string]bool{}
	var names strings.Builder // what kept mentions, which is all that need be searched
	for _, id := range Identifiers(kept) {
		if !present[id.Text] {
			present[id.Text] = true
			names.WriteString(id.Text + "\n")
		}
	}
	var out []entry
	for _, e := range entries {
		if len(out) >= limit {
			break
		}
		if !present[e.text] && !Mentions(names.String(), e.text) {
			out = append(out, e)
		}
	}
	return out
}

// listing is a choice of ledger entries, best first.
type listing struct {
	head    string
	entries []entry
	within  []int // the best entry that contains this one, or len(entries)
}

// newListing looks for entries that are part of others: a reader of
// store/fold.go needs no fold.go beside it.
func newListing(head string, entries []entry) listing {
	l := listing{head: head, entries: entries, within: make([]int, len(entries))}
	var all strings.Builder
	starts := make([]int, len(entries))
	for i, e := range entries {
		starts[i] = all.Len()
		all.WriteString(e.text + "\n")
	}
	text := all.String()
	for i, e := range entries {
		l.within[i] = len(entries)
		for at := mention(text, e.text, 0); at >= 0; at = mention(text, e.text, at+1) {
			j := sort.SearchInts(starts, at+1) - 1
			if j != i {
				l.within[i] = j // the first found is the best
				break
			}
		}
	}
	return l
}

// first renders the best n entries as a line, each once.
func (l listing) first(n int) string {
	ids := make([]string, 0, n)
	for i, e := range l.entries[:n] {
		if l.within[i] >= n {
			ids = append(ids, e.text)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return l.head + joinLedger(ids) + "\n"
}

// fit renders as many entries as cost at most budget tokens.
func (l listing) fit(budget int, count func(string) int) string {
	n := sort.Search(len(l.entries), func(n int) bool { return count(l.first(n+1)) > budget })
	return l.first(n)
}
