package redact

import (
	"bytes"
	"embed"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// The rules are data: rules/gitleaks.toml is the unchanged rule file of gitleaks
// (MIT, see rules/LICENSE), rules/lcm.toml adds shapes that it lacks, in the same
// format.
//
//go:embed rules/gitleaks.toml rules/lcm.toml
var ruleFiles embed.FS

// replaced are the gitleaks rules that [detectors] replace. They need more than an
// expression: the generic rule and the one for YAML have many false positives,
// others must see a whole block or token, and the keyword of Vault's, "s.", ends
// every other sentence.
var replaced = map[string]bool{"generic-api-key": true, "kubernetes-secret-yaml": true, "private-key": true, "jwt": true, "vault-service-token": true}

// rule is the shape of one kind of secret.
type rule struct {
	id       string
	expr     string
	group    int     // the group of the secret; 0: the first one that matched
	entropy  float64 // the least bits per character of the secret, exclusive
	keywords []string
	prefixes []string // of tokens; a rule has these or an expression
	check    string   // a name in [checks], "" for none
	allow    []*allowList

	compile sync.Once
	re      *regexp.Regexp
	reach   int // the most bytes that a match has before and after a keyword
}

// allowList says which matches are not secrets.
type allowList struct {
	target    string // "match" or "line"; empty is the secret
	regexes   []string
	stopwords []string
	paths     bool // it also needs a path, which a text does not have
	and       bool

	compile sync.Once
	re      []*regexp.Regexp
}

// ruleSet holds all rules, and the keywords at which to try them.
type ruleSet struct {
	rules    []*rule
	allow    []*allowList // for all rules
	keywords *matcher
	uses     [][]use // of each keyword
}

// use is a rule or a detector that a keyword triggers.
type use struct {
	rule   int
	detect detector
}

// loadRules parses the rules at their first use, so that a program that redacts
// nothing does not pay for them.
var loadRules = sync.OnceValue(func() *ruleSet {
	set := &ruleSet{}
	byWord := map[string]int{}
	var words []string
	add := func(word string, u use) {
		n, ok := byWord[word]
		if !ok {
			n = len(words)
			byWord[word] = n
			words = append(words, word)
			set.uses = append(set.uses, nil)
		}
		set.uses[n] = append(set.uses[n], u)
	}
	for _, name := range []string{"rules/gitleaks.toml", "rules/lcm.toml"} {
		text, err := ruleFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is part of the program
		}
		file, err := parseRules(string(text))
		if err != nil {
			panic(fmt.Errorf("%s: %w", name, err)) // a test reads it first
		}
		set.allow = append(set.allow, file.allow...)
		for _, r := range file.rules {
			for _, prefix := range r.prefixes {
				add(strings.ToLower(prefix), use{rule: -1, detect: prefixed(r.kind(), prefix)})
			}
			if r.expr == "" || replaced[r.id] {
				continue
			}
			set.rules = append(set.rules, r)
			for _, word := range r.keywords {
				add(strings.ToLower(word), use{rule: len(set.rules) - 1})
			}
		}
	}
	for word, d := range detectors() {
		add(word, use{rule: -1, detect: d})
	}
	set.keywords = newMatcher(words)
	return set
})

// gitleaksEnd is the end of a secret in gitleaks' expressions: a quote, a space or
// a semicolon. In a conversation it may also be a comma, a full stop or a bracket.
const (
	gitleaksEnd = `(?:[\x60'"\s;]|\\[nr]|$)`
	anyEnd      = `(?:[^\w/+=-]|$)`
)

// unbounded is how far from its keyword a match of an unbounded expression may
// reach, and longestMatch how long a window may grow.
const (
	unbounded    = 512
	longestMatch = 8192
)

// kind is the name in the mark that replaces a secret.
func (r *rule) kind() string { return strings.ReplaceAll(r.id, "-", " ") }

func (r *rule) prepare() {
	r.compile.Do(func() {
		expr := strings.ReplaceAll(r.expr, gitleaksEnd, anyEnd)
		r.re = regexp.MustCompile(expr)
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			panic(err) // it was compiled above
		}
		r.reach = longestOf(tree)
	})
}

// longestOf returns the most characters that an expression matches.
func longestOf(re *syntax.Regexp) int {
	sum := 0
	switch re.Op {
	case syntax.OpLiteral:
		sum = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		sum = 1
	case syntax.OpStar, syntax.OpPlus:
		sum = unbounded
	case syntax.OpRepeat:
		if re.Max < 0 {
			sum = unbounded
		} else {
			sum = re.Max * longestOf(re.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			sum = max(sum, longestOf(sub))
		}
	default:
		for _, sub := range re.Sub {
			sum += longestOf(sub)
		}
	}
	return min(sum, unbounded)
}

// find appends the secrets that the rule finds in text[from:to].
func (r *rule) find(set *ruleSet, text []byte, from, to int, found []Finding) []Finding {
	for at := from; at < to; {
		m := r.re.FindSubmatchIndex(text[at:to])
		if m == nil {
			break
		}
		start, end := m[0], m[1]
		if r.group > 0 && 2*r.group+1 < len(m) {
			start, end = m[2*r.group], m[2*r.group+1]
		} else if r.group == 0 {
			for g := 2; g+1 < len(m); g += 2 {
				if m[g] >= 0 && m[g+1] > m[g] {
					start, end = m[g], m[g+1]
					break
				}
			}
		}
		match := Finding{at + m[0], at + m[1], ""}
		secret := Finding{at + start, at + end, r.kind()}
		if r.accepts(set, text, secret, match) {
			found = append(found, secret)
		}
		// Skip the whole match even if it is not a secret: searching again from
		// its next character would make time quadratic.
		at += max(m[1], m[0]+1)
	}
	return found
}

// accepts reports whether a match is a secret.
func (r *rule) accepts(set *ruleSet, text []byte, secret, match Finding) bool {
	value := text[secret.Start:secret.End]
	if len(value) == 0 || r.entropy > 0 && entropy(value) <= r.entropy || isMark(value) {
		return false
	}
	if check := checks[r.check]; check != nil && !check(value) {
		return false
	}
	for _, lists := range [][]*allowList{r.allow, set.allow} {
		for _, a := range lists {
			if a.allows(text, secret, match) {
				return false
			}
		}
	}
	return true
}

// allows reports whether the list says that a match is not a secret.
func (a *allowList) allows(text []byte, secret, match Finding) bool {
	if a.paths && a.and {
		return false
	}
	a.compile.Do(func() {
		for _, expr := range a.regexes {
			a.re = append(a.re, regexp.MustCompile(expr))
		}
	})
	value := text[secret.Start:secret.End]
	target := value
	switch a.target {
	case "match":
		target = text[match.Start:match.End]
	case "line":
		from := bytes.LastIndexByte(text[max(0, match.Start-longestMatch):match.Start], '\n') + 1 + max(0, match.Start-longestMatch)
		to := match.End
		if n := bytes.IndexByte(text[to:min(len(text), to+longestMatch)], '\n'); n >= 0 {
			to += n
		}
		target = text[from:to]
	}
	for _, re := range a.re {
		if re.Match(target) {
			return true
		}
	}
	if len(a.stopwords) == 0 {
		return false
	}
	low := strings.ToLower(string(value))
	for _, word := range a.stopwords {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits for each character.
func entropy(value []byte) float64 {
	var count [256]int
	for _, c := range value {
		count[c]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
