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
	score  int64
}

// inventory has every identifier of the material, so that those in no kept sentence
// can still be listed.
type inventory struct {
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

func (l *inventory) add(text string, class Class, from origin) {
	i, ok := l.index[text]
	if !ok {
		i = len(l.entries)
		l.index[text] = i
		l.entries = append(l.entries, entry{text: text, class: class, origin: from})
	}
	e := &l.entries[i]
	e.tf++
	e.origin = min(e.origin, from)
}

// inherit adds an identifier that an older summary lists. A model may have written
// the summary, so the text counts only if all of it is one identifier.
func (l *inventory) inherit(item listed) {
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
func (l *inventory) ranked() (said, seen []entry) {
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
	byScore := func(a, b entry) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(said, byScore) // of equals, the first that appeared
	slices.SortStableFunc(seen, byScore)
	return said, seen
}

// missing returns up to limit entries that kept does not mention.
func missing(entries []entry, kept string, limit int) []entry {
	present := map[string]bool{}
	var names strings.Builder // the identifiers of kept
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

// listing is a line of identifiers, best first.
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
	return l.head + joinIdentifiers(ids) + "\n"
}

// fit renders as many entries as cost at most budget tokens.
func (l listing) fit(budget int, count func(string) int) string {
	n := sort.Search(len(l.entries), func(n int) bool { return count(l.first(n+1)) > budget })
	return l.first(n)
}
