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

// Bounds on the sets of strings that the analysis carries along.
const (
	maxExact   = 16  // strings, if they are all that an expression matches
	maxEdge    = 100 // strings that it may begin or end with: two digits are a hundred
	maxCross   = 100 // strings of a product that are kept as all that is matched
	maxOptions = 300 // strings whose trigrams are asked for as alternatives
	maxClass   = 100 // runes of a class that are tried one by one
	maxCopies  = 4   // of a repeated expression that are looked at
)

// RequiredTrigrams derives the grams that any match of a parsed expression must have.
// The analysis is the one of Russ Cox's codesearch ("Regular Expression
// Matching with a Trigram Index"), over text folded by gramFold.
func RequiredTrigrams(re *syntax.Regexp) *TrigramQuery {
	info := analysePattern(re)
	info.settle(true)
	return info.match
}

// patternInfo describes the strings that an expression matches.
type patternInfo struct {
	exact  []string // all of them, when not nil
	prefix []string // how they begin
	suffix []string // how they end
	match  *TrigramQuery
}

func anything() patternInfo {
	return patternInfo{prefix: []string{""}, suffix: []string{""}}
}

func analysePattern(re *syntax.Regexp) patternInfo {
	var info patternInfo
	switch re.Op {
	case syntax.OpNoMatch:
		return patternInfo{exact: []string{}, match: &TrigramQuery{Never: true}}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return patternInfo{exact: []string{""}}
	case syntax.OpLiteral:
		var b []byte
		for _, r := range re.Rune {
			b = utf8.AppendRune(b, gramFold(r))
		}
		info = patternInfo{exact: []string{string(b)}}
	case syntax.OpCharClass:
		info = classInfo(re.Rune)
	case syntax.OpCapture:
		return analysePattern(re.Sub[0])
	case syntax.OpConcat:
		info = patternInfo{exact: []string{""}}
		for _, sub := range re.Sub {
			info = concatInfo(info, analysePattern(sub))
		}
		return info
	case syntax.OpAlternate:
		info = analysePattern(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			info = alternateInfo(info, analysePattern(sub))
		}
		return info
	case syntax.OpQuest:
		return alternateInfo(analysePattern(re.Sub[0]), patternInfo{exact: []string{""}})
	case syntax.OpPlus:
		info = analysePattern(re.Sub[0])
		info.open()
	case syntax.OpRepeat:
		return repeatInfo(re)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		info = anything()
	default: // star, and operators that a later version of the syntax may add
		return anything()
	}
	info.settle(false)
	return info
}

func classInfo(ranges []rune) patternInfo {
	if len(ranges) == 0 {
		return patternInfo{exact: []string{}, match: &TrigramQuery{Never: true}}
	}
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		n += int(ranges[i+1]-ranges[i]) + 1
		if n > maxClass {
			info := anything()
			return info
		}
	}
	var exact []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			exact = append(exact, string(gramFold(r)))
		}
	}
	return patternInfo{exact: sortedSet(exact)}
}

// prefixes and suffixes are the strings that a match begins and ends with.
func (p patternInfo) prefixes() []string {
	if p.exact != nil {
		return p.exact
	}
	return p.prefix
}

func (p patternInfo) suffixes() []string {
	if p.exact != nil {
		return p.exact
	}
	return p.suffix
}

func concatInfo(x, y patternInfo) patternInfo {
	out := patternInfo{match: both(x.match, y.match)}
	if x.exact != nil && y.exact != nil && len(x.exact)*len(y.exact) <= maxCross {
		out.exact = cross(x.exact, y.exact)
		out.settle(false)
		return out
	}
	out.match = both(out.match, both(gramsOf(x.exact), gramsOf(y.exact)))
	out.prefix, out.suffix = x.prefixes(), y.suffixes()
	if x.exact != nil && len(x.exact)*len(y.prefixes()) <= maxOptions {
		out.prefix = cross(x.exact, y.prefixes())
	}
	if y.exact != nil && len(x.suffixes())*len(y.exact) <= maxOptions {
		out.suffix = cross(x.suffixes(), y.exact)
	}
	// The grams where the two meet are in neither.
	if ends, begins := x.suffixes(), y.prefixes(); len(ends)*len(begins) <= maxOptions {
		out.match = both(out.match, gramsOf(cross(ends, begins)))
	} else {
		out.match = both(out.match, both(meeting(ends, begins, 2, 1), meeting(ends, begins, 1, 2)))
	}
	out.settle(false)
	return out
}

// meeting asks for the grams of so many bytes of ends followed by so many bytes
// of begins, if they are not too many.
func meeting(ends, begins []string, before, after int) *TrigramQuery {
	ends, begins = lastBytes(ends, before), firstBytes(begins, after)
	if len(ends)*len(begins) > maxOptions {
		return nil
	}
	return gramsOf(cross(ends, begins))
}

// repeatInfo is the info of an expression that is repeated: its matches begin
// and end with the least number of copies.
func repeatInfo(re *syntax.Regexp) patternInfo {
	if re.Min == 0 {
		return anything()
	}
	sub := analysePattern(re.Sub[0])
	info := sub
	for range min(re.Min, maxCopies) - 1 {
		info = concatInfo(info, sub)
	}
	if re.Max != re.Min || re.Min > maxCopies {
		info.open()
	}
	info.settle(false)
	return info
}

func alternateInfo(x, y patternInfo) patternInfo {
	if x.exact != nil && y.exact != nil && len(x.exact)+len(y.exact) <= maxExact {
		return patternInfo{exact: sortedSet(slices.Concat(x.exact, y.exact)), match: either(x.match, y.match)}
	}
	x.open()
	y.open()
	out := patternInfo{
		prefix: sortedSet(slices.Concat(x.prefix, y.prefix)),
		suffix: sortedSet(slices.Concat(x.suffix, y.suffix)),
		match:  either(x.match, y.match),
	}
	out.settle(false)
	return out
}

// open replaces the exact strings by their beginnings and ends, after noting
// their trigrams.
func (p *patternInfo) open() {
	if p.exact != nil {
		p.match = both(p.match, gramsOf(p.exact))
		p.prefix, p.suffix, p.exact = p.exact, slices.Clone(p.exact), nil
	}
}

// settle keeps the sets small: it moves their trigrams into the match.
func (p *patternInfo) settle(final bool) {
	if p.exact != nil {
		if len(p.exact) <= maxExact && !final {
			return
		}
		p.open()
	} else {
		p.match = both(p.match, both(gramsOf(p.prefix), gramsOf(p.suffix)))
	}
	for n := 2; ; n-- {
		p.prefix = firstBytes(p.prefix, n)
		if len(p.prefix) <= maxEdge {
			break
		}
	}
	for n := 2; ; n-- {
		p.suffix = lastBytes(p.suffix, n)
		if len(p.suffix) <= maxEdge {
			break
		}
	}
}

func firstBytes(set []string, n int) []string {
	return shorten(set, func(s string) string { return s[:min(n, len(s))] })
}

func lastBytes(set []string, n int) []string {
	return shorten(set, func(s string) string { return s[len(s)-min(n, len(s)):] })
}

func shorten(set []string, cut func(string) string) []string {
	out := make([]string, len(set))
	for i, s := range set {
		out[i] = cut(s)
	}
	return sortedSet(out)
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

// gramsOf asks for all grams of one of the strings. A nil set, and one of too
// many strings, asks for nothing.
func gramsOf(set []string) *TrigramQuery {
	if set == nil || len(set) > maxOptions {
		return nil
	}
	if len(set) == 0 {
		return &TrigramQuery{Never: true}
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
