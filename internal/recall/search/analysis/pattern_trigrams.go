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

// maxExact bounds the strings that the analysis carries along as all that an
// expression matches: two digits are a hundred.
const maxExact = 100

// RequiredTrigrams derives the grams that any match of a simplified expression must
// have, over text folded by gramFold.
func RequiredTrigrams(re *syntax.Regexp) *TrigramQuery {
	exact, match := required(re)
	return both(match, gramsOf(exact))
}

// required returns the strings that an expression matches, nil if they are too many,
// and the grams that a match must have beside them.
func required(re *syntax.Regexp) (exact []string, match *TrigramQuery) {
	switch re.Op {
	case syntax.OpNoMatch:
		return nil, &TrigramQuery{Never: true}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, nil
	case syntax.OpLiteral:
		var b []byte
		for _, r := range re.Rune {
			b = utf8.AppendRune(b, gramFold(r))
		}
		return []string{string(b)}, nil
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
		return nil, RequiredTrigrams(re.Sub[0])
	}
	return nil, nil // any character, star, and operators that a later version of the syntax may add
}

func ofClass(ranges []rune) (exact []string, match *TrigramQuery) {
	for i := 0; i < len(ranges); i += 2 {
		if len(exact)+int(ranges[i+1]-ranges[i]) >= maxExact {
			return nil, nil
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			exact = append(exact, string(gramFold(r)))
		}
	}
	if len(exact) == 0 {
		return nil, &TrigramQuery{Never: true}
	}
	return sortedSet(exact), nil
}

// ofConcat asks for the grams of each run of expressions that match few strings
// together. A repetition is a concatenation of its own, and part of the run.
func ofConcat(subs []*syntax.Regexp) (exact []string, match *TrigramQuery) {
	run, whole := []string{""}, true
	for len(subs) > 0 {
		sub := subs[0]
		if subs = subs[1:]; sub.Op == syntax.OpConcat {
			subs = slices.Concat(sub.Sub, subs)
			continue
		}
		e, m := required(sub)
		match = both(match, m)
		if e != nil && len(run)*len(e) <= maxExact {
			run = cross(run, e)
			continue
		}
		match, whole = both(match, gramsOf(run)), false
		if run = e; e == nil {
			run = []string{""}
		}
	}
	if whole {
		return run, match
	}
	return nil, both(match, gramsOf(run))
}

func ofAlternate(subs []*syntax.Regexp) (exact []string, match *TrigramQuery) {
	exact, match = []string{}, &TrigramQuery{Never: true}
	for _, sub := range subs {
		e, m := required(sub)
		match = either(match, both(m, gramsOf(e)))
		if e == nil || m != nil || exact == nil || len(exact)+len(e) > maxExact {
			exact = nil
		} else {
			exact = sortedSet(slices.Concat(exact, e))
		}
	}
	if exact != nil {
		return exact, nil
	}
	return nil, match
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
