package analysis

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TrigramQuery lists the trigrams that folded text must contain for a pattern to
// match: all of All, and one alternative of each group in AnyOf. A nil query asks
// for nothing. No text satisfies a query with Never.
type TrigramQuery struct {
	All   []Trigram
	AnyOf [][]*TrigramQuery
	Never bool
}

// Bounds of the sets of strings that the analysis carries along: two digits are a hundred.
const (
	maxExact   = 100 // as all that an expression matches
	maxEdge    = 100 // as how its matches begin or end
	maxMeeting = 300 // that are asked for where two expressions meet
	maxCopies  = 4   // of a repeated expression that are looked at
)

// RequiredTrigrams derives the grams that any match of a parsed expression must have,
// over text folded by gramFold. The analysis is that of Russ Cox, "Regular Expression
// Matching with a Trigram Index".
func RequiredTrigrams(re *syntax.Regexp) *TrigramQuery { return required(re).edges().match }

// matched describes the strings that an expression matches. Without their edges a pattern of
// classes, as of an address or a version, has no trigrams, and every text is read for it.
type matched struct {
	exact      []string      // all of them, or nil if they are too many
	begin, end []string      // then how they begin and end, in at most two bytes
	match      *TrigramQuery // grams that they have, without those of exact
}

var (
	anything = matched{begin: []string{""}, end: []string{""}}
	empty    = matched{exact: []string{""}}
	nothing  = matched{begin: []string{""}, end: []string{""}, match: &TrigramQuery{Never: true}}
)

func required(re *syntax.Regexp) matched {
	switch re.Op {
	case syntax.OpNoMatch:
		return nothing
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return empty
	case syntax.OpLiteral:
		var b []byte
		for _, r := range re.Rune {
			b = utf8.AppendRune(b, gramFold(r))
		}
		return matched{exact: []string{string(b)}}
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	case syntax.OpQuest:
		return ofAlternate([]*syntax.Regexp{re.Sub[0], {Op: syntax.OpEmptyMatch}})
	case syntax.OpPlus:
		return required(re.Sub[0]).edges()
	case syntax.OpRepeat:
		if re.Min > 0 { // its matches begin and end with as many copies
			return ofConcat(copies(re)).edges()
		}
	}
	return anything // any character, star, and operators that a later version of the syntax may add
}

func ofClass(ranges []rune) matched {
	var exact []string
	for i := 0; i < len(ranges); i += 2 {
		if len(exact)+int(ranges[i+1]-ranges[i]) >= maxExact {
			return anything
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			exact = append(exact, string(gramFold(r)))
		}
	}
	if len(exact) == 0 {
		return nothing
	}
	return matched{exact: sortedSet(exact)}
}

// edges describes the strings by their beginnings and ends.
func (m matched) edges() matched {
	if m.exact == nil {
		return m
	}
	return matched{match: both(m.match, gramsOf(m.exact)), begin: edge(m.exact, firstBytes), end: edge(m.exact, lastBytes)}
}

// ofConcat asks for the grams of each run of expressions that match few strings together,
// and for those where runs meet. A repetition is a concatenation of its own, and part of the run.
func ofConcat(subs []*syntax.Regexp) matched {
	all, run := empty, empty // the expressions before the run, and the run
	for len(subs) > 0 {
		sub := subs[0]
		subs = subs[1:]
		if sub.Op == syntax.OpRepeat && sub.Min == sub.Max && sub.Max <= maxCopies {
			subs = slices.Concat(copies(sub), subs)
			continue
		}
		next := required(sub)
		if next.exact != nil && len(run.exact)*len(next.exact) <= maxExact {
			run = matched{exact: cross(run.exact, next.exact), match: both(run.match, next.match)}
			continue
		}
		if all = join(all, run); next.exact == nil {
			all, next = join(all, next), empty
		}
		run = next
	}
	return join(all, run)
}

// copies are the least that a repetition has of its expression, as far as they are looked at.
func copies(repeat *syntax.Regexp) []*syntax.Regexp {
	return slices.Repeat(repeat.Sub[:1], min(repeat.Min, maxCopies))
}

// join describes x followed by y.
func join(x, y matched) matched {
	if slices.Equal(x.exact, empty.exact) {
		return matched{y.exact, y.begin, y.end, both(x.match, y.match)}
	}
	if slices.Equal(y.exact, empty.exact) {
		return matched{x.exact, x.begin, x.end, both(x.match, y.match)}
	}
	ends, begins := x.edges(), y.edges()
	out := matched{begin: ends.begin, end: begins.end, match: both(ends.match, begins.match)}
	if x.exact != nil {
		out.begin = edge(cross(x.exact, begins.begin), firstBytes)
	}
	if y.exact != nil {
		out.end = edge(cross(ends.end, y.exact), lastBytes)
	}
	for _, n := range []int{2, 1} { // bytes before the place where they meet
		before, after := cut(ends.end, n, lastBytes), cut(begins.begin, 3-n, firstBytes)
		if len(before)*len(after) <= maxMeeting {
			out.match = both(out.match, gramsOf(cross(before, after)))
		}
	}
	return out
}

func ofAlternate(subs []*syntax.Regexp) matched {
	out := matched{exact: []string{}, match: &TrigramQuery{Never: true}}
	exact := []string{}
	for _, sub := range subs {
		m := required(sub)
		if m.exact == nil || m.match != nil || exact == nil || len(exact)+len(m.exact) > maxExact {
			exact = nil
		} else {
			exact = sortedSet(slices.Concat(exact, m.exact))
		}
		m = m.edges()
		out.match = either(out.match, m.match)
		if m.match == nil || !m.match.Never {
			out.begin, out.end = slices.Concat(out.begin, m.begin), slices.Concat(out.end, m.end)
		}
	}
	if exact != nil {
		return matched{exact: exact}
	}
	out.exact, out.begin, out.end = nil, edge(out.begin, firstBytes), edge(out.end, lastBytes)
	return out
}

func firstBytes(s string, n int) string { return s[:min(n, len(s))] }

func lastBytes(s string, n int) string { return s[len(s)-min(n, len(s)):] }

func cut(set []string, n int, side func(string, int) string) []string {
	out := make([]string, len(set))
	for i, s := range set {
		out[i] = side(s, n)
	}
	return sortedSet(out)
}

// edge cuts strings to two bytes, or to fewer where they are too many.
func edge(set []string, side func(string, int) string) []string {
	for n := 2; ; n-- {
		if out := cut(set, n, side); len(out) <= maxEdge {
			return out
		}
	}
}

// sortedSet sorts a set and drops duplicates.
func sortedSet(set []string) []string {
	slices.Sort(set)
	return slices.Compact(set)
}

// cross is every string of x followed by every string of y.
func cross(x, y []string) []string {
	out := make([]string, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			out = append(out, a+b)
		}
	}
	return sortedSet(out)
}

// gramsOf asks for all grams of one of the strings. An empty set asks for nothing.
func gramsOf(set []string) *TrigramQuery {
	if len(set) == 0 {
		return nil
	}
	var options []*TrigramQuery
	for _, s := range set {
		if len(s) < 3 {
			return nil
		}
		q := &TrigramQuery{}
		for i := 0; i+3 <= len(s); i++ {
			q.All = append(q.All, Trigram(s[i])<<16|Trigram(s[i+1])<<8|Trigram(s[i+2]))
		}
		slices.Sort(q.All)
		q.All = slices.Compact(q.All)
		options = append(options, q)
	}
	return factored(options)
}

// factored asks for one of several sets of grams, those that all of them share
// only once.
func factored(options []*TrigramQuery) *TrigramQuery {
	out := &TrigramQuery{All: slices.Clone(options[0].All)}
	for _, o := range options[1:] {
		out.All = slices.DeleteFunc(out.All, func(g Trigram) bool {
			_, ok := slices.BinarySearch(o.All, g)
			return !ok
		})
	}
	for _, o := range options {
		o.All = slices.DeleteFunc(o.All, func(g Trigram) bool {
			_, ok := slices.BinarySearch(out.All, g)
			return ok
		})
		if len(o.All) == 0 {
			return out // the shared grams are all that one of them asks for
		}
	}
	out.AnyOf = [][]*TrigramQuery{options}
	return out
}

// both is satisfied by a text that satisfies x and y.
func both(x, y *TrigramQuery) *TrigramQuery {
	switch {
	case x == nil:
		return y
	case y == nil || x.Never:
		return x
	case y.Never:
		return y
	}
	out := &TrigramQuery{All: slices.Concat(x.All, y.All), AnyOf: slices.Clone(x.AnyOf)}
	slices.Sort(out.All)
	out.All = slices.Compact(out.All)
	for _, group := range y.AnyOf {
		if !slices.ContainsFunc(x.AnyOf, func(g []*TrigramQuery) bool { return slices.EqualFunc(g, group, sameQuery) }) {
			out.AnyOf = append(out.AnyOf, group)
		}
	}
	return out
}

// sameQuery reports whether two queries ask for the same.
func sameQuery(x, y *TrigramQuery) bool {
	return x.Never == y.Never && slices.Equal(x.All, y.All) &&
		slices.EqualFunc(x.AnyOf, y.AnyOf, func(g, h []*TrigramQuery) bool { return slices.EqualFunc(g, h, sameQuery) })
}

// either is satisfied by a text that satisfies x or y.
func either(x, y *TrigramQuery) *TrigramQuery {
	switch {
	case x == nil || y == nil:
		return nil
	case x.Never:
		return y
	case y.Never:
		return x
	}
	return &TrigramQuery{AnyOf: [][]*TrigramQuery{slices.Concat(x.options(), y.options())}}
}

// options is the query as a list of alternatives.
func (q *TrigramQuery) options() []*TrigramQuery {
	if len(q.All) == 0 && len(q.AnyOf) == 1 {
		return q.AnyOf[0]
	}
	return []*TrigramQuery{q}
}

// satisfiedBy reports whether a set of trigrams satisfies the query.
func (q *TrigramQuery) satisfiedBy(has func(Trigram) bool) bool {
	if q == nil {
		return true
	}
	if q.Never {
		return false
	}
	for _, g := range q.All {
		if !has(g) {
			return false
		}
	}
	for _, group := range q.AnyOf {
		if !slices.ContainsFunc(group, func(o *TrigramQuery) bool { return o.satisfiedBy(has) }) {
			return false
		}
	}
	return true
}

// String shows the query as an expression, for an account of a search.
func (q *TrigramQuery) String() string {
	switch {
	case q == nil:
		return "anything"
	case q.Never:
		return "nothing"
	}
	var parts []string
	for _, g := range q.All {
		parts = append(parts, strconv.Quote(string([]byte{byte(g >> 16), byte(g >> 8), byte(g)})))
	}
	for _, group := range q.AnyOf {
		var options []string
		for _, o := range group {
			options = append(options, o.String())
		}
		parts = append(parts, "("+strings.Join(options, " or ")+")")
	}
	return strings.Join(parts, " ")
}
