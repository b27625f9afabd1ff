package index

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// gramQuery is what folded text must contain for a pattern to match: every gram
// and every one of the alternatives in each group. A nil query asks for
// nothing; never is a query that no text satisfies.
type gramQuery struct {
	grams []gram
	anyOf [][]*gramQuery
	never bool
}

// Bounds on the sets of strings that the analysis carries along.
const (
	maxExact = 16  // strings that are all of what an expression matches
	maxEdge  = 20  // strings that it may begin or end with
	maxCross = 64  // strings of a product, before it is given up
	maxClass = 100 // runes of a class that are tried one by one
)

// required derives the grams that any match of a parsed expression must have.
// The analysis is the one of Russ Cox's codesearch ("Regular Expression
// Matching with a Trigram Index"), over text folded by gramFold.
func required(re *syntax.Regexp) *gramQuery {
	info := analysePattern(re)
	info.settle(true)
	return info.match
}

// patternInfo is what is known of the strings that an expression matches.
type patternInfo struct {
	exact  []string // all of them, when not nil
	prefix []string // how they begin
	suffix []string // how they end
	match  *gramQuery
}

func anything() patternInfo {
	return patternInfo{prefix: []string{""}, suffix: []string{""}}
}

func analysePattern(re *syntax.Regexp) patternInfo {
	var info patternInfo
	switch re.Op {
	case syntax.OpNoMatch:
		return patternInfo{exact: []string{}, match: &gramQuery{never: true}}
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
		if info.exact != nil {
			info.prefix, info.suffix, info.exact = info.exact, slices.Clone(info.exact), nil
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		info = anything()
	default: // star, and what a later version of the syntax may add
		return anything()
	}
	info.settle(false)
	return info
}

func classInfo(ranges []rune) patternInfo {
	if len(ranges) == 0 {
		return patternInfo{exact: []string{}, match: &gramQuery{never: true}}
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
	return patternInfo{exact: tidy(exact)}
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
	out.prefix, out.suffix = x.prefixes(), y.suffixes()
	if x.exact != nil {
		out.prefix = cross(x.exact, y.prefixes())
	}
	if y.exact != nil {
		out.suffix = cross(x.suffixes(), y.exact)
	}
	// The grams where the two meet are in neither.
	out.match = both(out.match, gramsOf(cross(x.suffixes(), y.prefixes())))
	out.settle(false)
	return out
}

func alternateInfo(x, y patternInfo) patternInfo {
	if x.exact != nil && y.exact != nil && len(x.exact)+len(y.exact) <= maxExact {
		return patternInfo{exact: tidy(slices.Concat(x.exact, y.exact)), match: either(x.match, y.match)}
	}
	x.open()
	y.open()
	out := patternInfo{
		prefix: tidy(slices.Concat(x.prefix, y.prefix)),
		suffix: tidy(slices.Concat(x.suffix, y.suffix)),
		match:  either(x.match, y.match),
	}
	out.settle(false)
	return out
}

// open gives up knowing all of what is matched for how it begins and ends,
// after noting the grams of it.
func (p *patternInfo) open() {
	if p.exact != nil {
		p.match = both(p.match, gramsOf(p.exact))
		p.prefix, p.suffix, p.exact = p.exact, slices.Clone(p.exact), nil
	}
}

// settle keeps the sets small, moving what they know into the match.
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
		p.prefix = shorten(p.prefix, func(s string) string { return s[:min(n, len(s))] })
		if len(p.prefix) <= maxEdge {
			break
		}
	}
	for n := 2; ; n-- {
		p.suffix = shorten(p.suffix, func(s string) string { return s[len(s)-min(n, len(s)):] })
		if len(p.suffix) <= maxEdge {
			break
		}
	}
}

func shorten(set []string, cut func(string) string) []string {
	out := make([]string, len(set))
	for i, s := range set {
		out[i] = cut(s)
	}
	return tidy(out)
}

// tidy sorts a set and drops what is there twice.
func tidy(set []string) []string {
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
	return tidy(out)
}

// gramsOf asks for all grams of one of the strings.
func gramsOf(set []string) *gramQuery {
	if len(set) == 0 {
		return &gramQuery{never: true}
	}
	var options []*gramQuery
	for _, s := range set {
		if len(s) < 3 {
			return nil
		}
		q := &gramQuery{}
		for i := 0; i+3 <= len(s); i++ {
			q.grams = append(q.grams, gram(s[i])<<16|gram(s[i+1])<<8|gram(s[i+2]))
		}
		slices.Sort(q.grams)
		q.grams = slices.Compact(q.grams)
		options = append(options, q)
	}
	return factored(options)
}

// factored asks for one of several sets of grams, those that all of them share
// only once.
func factored(options []*gramQuery) *gramQuery {
	out := &gramQuery{grams: slices.Clone(options[0].grams)}
	for _, o := range options[1:] {
		out.grams = slices.DeleteFunc(out.grams, func(g gram) bool {
			_, ok := slices.BinarySearch(o.grams, g)
			return !ok
		})
	}
	for _, o := range options {
		o.grams = slices.DeleteFunc(o.grams, func(g gram) bool {
			_, ok := slices.BinarySearch(out.grams, g)
			return ok
		})
		if len(o.grams) == 0 {
			return out // the shared grams are all that one of them asks for
		}
	}
	out.anyOf = [][]*gramQuery{options}
	return out
}

// both asks for what x and what y ask for.
func both(x, y *gramQuery) *gramQuery {
	switch {
	case x == nil:
		return y
	case y == nil || x.never:
		return x
	case y.never:
		return y
	}
	out := &gramQuery{grams: slices.Concat(x.grams, y.grams), anyOf: slices.Clone(x.anyOf)}
	slices.Sort(out.grams)
	out.grams = slices.Compact(out.grams)
	for _, group := range y.anyOf {
		if !slices.ContainsFunc(x.anyOf, func(g []*gramQuery) bool { return slices.EqualFunc(g, group, sameQuery) }) {
			out.anyOf = append(out.anyOf, group)
		}
	}
	return out
}

// sameQuery reports whether two queries ask for the same.
func sameQuery(x, y *gramQuery) bool {
	return x.never == y.never && slices.Equal(x.grams, y.grams) &&
		slices.EqualFunc(x.anyOf, y.anyOf, func(g, h []*gramQuery) bool { return slices.EqualFunc(g, h, sameQuery) })
}

// either asks for what x or what y asks for.
func either(x, y *gramQuery) *gramQuery {
	switch {
	case x == nil || y == nil:
		return nil
	case x.never:
		return y
	case y.never:
		return x
	}
	return &gramQuery{anyOf: [][]*gramQuery{slices.Concat(x.options(), y.options())}}
}

// options is the query as a list of alternatives.
func (q *gramQuery) options() []*gramQuery {
	if len(q.grams) == 0 && len(q.anyOf) == 1 {
		return q.anyOf[0]
	}
	return []*gramQuery{q}
}

// satisfiedBy reports whether a set of grams has what the query asks for.
func (q *gramQuery) satisfiedBy(has func(gram) bool) bool {
	if q == nil {
		return true
	}
	if q.never {
		return false
	}
	for _, g := range q.grams {
		if !has(g) {
			return false
		}
	}
	for _, group := range q.anyOf {
		if !slices.ContainsFunc(group, func(o *gramQuery) bool { return o.satisfiedBy(has) }) {
			return false
		}
	}
	return true
}

// String shows the query as an expression, for an account of a search.
func (q *gramQuery) String() string {
	switch {
	case q == nil:
		return "anything"
	case q.never:
		return "nothing"
	}
	var parts []string
	for _, g := range q.grams {
		parts = append(parts, strconv.Quote(string([]byte{byte(g >> 16), byte(g >> 8), byte(g)})))
	}
	for _, group := range q.anyOf {
		var options []string
		for _, o := range group {
			options = append(options, o.String())
		}
		parts = append(parts, "("+strings.Join(options, " or ")+")")
	}
	return strings.Join(parts, " ")
}
