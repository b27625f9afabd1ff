package supersede

import (
	"sync"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// onePlace reports whether two clauses about the subject say the same but for one place, where
// each has a value of its own: "polled every 10 minutes", "polled every 15 minutes". Where two
// places differ, the clauses are about different things: "DHL is polled every 10 minutes", "UPS
// is polled every 45 minutes".
func onePlace(o, l []token, subject map[string]bool) bool {
	o, l = withoutFillers(o), withoutFillers(l)
	both := inBoth(o, l)
	if len(both) < 2 {
		return false
	}
	places, content, specific, about := 0, 0, 0, len(subject) == 0
	i, j := 0, 0
	for k, p := range append(both, [2]int{len(o), len(l)}) {
		if a, b := o[i:p[0]], l[j:p[1]]; tells(a) || tells(b) {
			inside := k < len(both) && max(len(a), len(b)) > insidePlace
			if places++; places > 1 || k == 0 || inside || !values(o[both[k-1][0]], a, b) {
				return false
			}
		}
		if p[0] < len(o) {
			if t := o[p[0]]; t.kind > functionWord {
				content++
				about = about || subject[t.stem]
				if t.kind >= word {
					specific++
				}
			}
		}
		i, j = p[0]+1, p[1]+1
	}
	return places == 1 && (about || specific > 1) && content >= 2 && specific > 0
}

// insidePlace is how many tokens a value has at most that is not the end of its clause.
const insidePlace = 4

// values reports whether what differs behind a word are two values. A number stands first in
// its place; behind a word that is no preposition or the like, another word is another verb,
// unless both have one that only says how a value comes about: "is 15", "goes up to 17".
func values(before token, a, b []token) bool {
	if x, y := behindVerb(a), behindVerb(b); len(x) < len(a) && len(y) < len(b) {
		before, a, b = token{}, x, y
	}
	a, b = withoutArticles(a), withoutArticles(b)
	if !tells(a) || !tells(b) || a[0].kind == functionWord || b[0].kind == functionWord {
		return false
	}
	if hasNumber(a) && a[0].kind < number || hasNumber(b) && b[0].kind < number {
		return false
	}
	return before.kind < word || hasNumber(a) && hasNumber(b) || a[0].kind == name && b[0].kind == name
}

// inBoth returns the places of the tokens that two clauses have in common, in order, as many as
// possible and rather words than function words.
func inBoth(o, l []token) [][2]int {
	var most [longClause + 1][longClause + 1]int
	weight := func(t token) int {
		if t.kind == functionWord {
			return 1
		}
		return 3
	}
	for i := len(o) - 1; i >= 0; i-- {
		for j := len(l) - 1; j >= 0; j-- {
			most[i][j] = max(most[i+1][j], most[i][j+1])
			if o[i].stem == l[j].stem {
				most[i][j] = max(most[i][j], most[i+1][j+1]+weight(o[i]))
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(o) && j < len(l); {
		switch {
		case o[i].stem == l[j].stem && most[i][j] == most[i+1][j+1]+weight(o[i]):
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case most[i+1][j] >= most[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// Words that change nothing in a clause, and those that may stand before a value.
var (
	fillers = sync.OnceValue(func() map[string]bool {
		return analysis.WordSet("now actually then just again still already so and please ok instead let make jetzt nun stattdessen doch eigentlich bitte also kunftig")
	})
	comesAbout = sync.OnceValue(func() map[string]bool {
		return analysis.WordSet("is are be becomes become goes go changes change moves move rises drops must shall will up down over to ist sind wird werden geht steigt sinkt auf")
	})
	article = sync.OnceValue(func() map[string]bool {
		return analysis.WordSet("a an the der die das ein eine einen einem einer dem den des le la les un une el los las")
	})
)

// behindVerb returns what stands behind a verb that says how a value comes about.
func behindVerb(tokens []token) []token {
	for len(tokens) > 0 && comesAbout()[tokens[0].low] {
		tokens = tokens[1:]
	}
	return tokens
}

func withoutFillers(tokens []token) (out []token) {
	for _, t := range tokens {
		if !fillers()[t.low] {
			out = append(out, t)
		}
	}
	return out
}

func withoutArticles(tokens []token) []token {
	for len(tokens) > 0 && article()[tokens[0].low] {
		tokens = tokens[1:]
	}
	return tokens
}

// tells reports whether one of the tokens is more than a function word.
func tells(tokens []token) bool {
	for _, t := range tokens {
		if t.kind > functionWord {
			return true
		}
	}
	return false
}

func hasNumber(tokens []token) bool {
	for _, t := range tokens {
		if t.kind == number {
			return true
		}
	}
	return false
}
