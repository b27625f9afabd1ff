package privacy

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// The rules are data: rules/gitleaks.toml is the unchanged rule file of gitleaks
// (MIT, see rules/LICENSE), rules/lcm.toml adds shapes that it lacks, in the same
// format. rules.json has the rules of both, because a TOML parser takes 20 ms for
// them, which every hook would pay. TestRuleFiles writes it with -update.
//
//go:embed rules/rules.json
var ruleFile []byte

// replaced are the gitleaks rules that [detectors] replace. They need more than an
// expression: the generic rule and the one for YAML have many false positives,
// others must see a whole block or token, the one for passwords of Terraform is for its
// files alone, the keyword of Vault's, "s.", ends every other sentence, and Airtable's takes ids
// for keys.
var replaced = map[string]bool{"generic-api-key": true, "kubernetes-secret-yaml": true, "private-key": true, "jwt": true, "vault-service-token": true, "hashicorp-tf-password": true, "airtable-api-key": true}

// rules is the content of a rule file.
type rules struct {
	Rules     []*rule
	Allowlist *allowList // for all rules
}

// rule is the shape of one kind of secret.
type rule struct {
	ID          string
	Regex       string       `json:",omitempty"`
	SecretGroup int          `json:",omitempty"` // the group of the secret; 0: the first one that matched
	Entropy     float64      `json:",omitempty"` // the least bits per character of the secret, exclusive
	Keywords    []string     `json:",omitempty"`
	Prefixes    []string     `json:",omitempty"` // of tokens; a rule has these or an expression
	Check       string       `json:",omitempty"` // a name in [checks], "" for none
	Reach       int          `json:",omitempty"` // how far from a keyword a match may be, if not as long as one
	After       bool         `json:",omitempty"` // the expression follows a keyword that begins a word; this is ten times as fast
	Fixture     string       `json:"-"`          // a text in which the rule finds the secret between «»
	Allowlists  []*allowList `json:",omitempty"`

	compile sync.Once
	re      *regexp.Regexp
	reach   int // the most bytes that a match has before and after a keyword
}

// allowList says which matches are not secrets.
type allowList struct {
	RegexTarget string   `json:",omitempty"` // "match" or "line"; empty is the secret
	Regexes     []string `json:",omitempty"`
	Stopwords   []string `json:",omitempty"`
	// Paths and the condition AND restrict the list to files, which a text is not.
	Paths     []string `json:",omitempty"`
	Condition string   `json:",omitempty"`

	compile sync.Once
	re      []*regexp.Regexp
}

// ruleSet holds all rules, and the keywords at which to try them.
type ruleSet struct {
	rules
	keywords *matcher
	uses     [][]use // of each keyword
}

// use is a rule or a detector that a keyword triggers.
type use struct {
	rule   int
	detect detector
	beside func(text []byte, start, end int) []Finding // finds what is beside the keyword
}

// loadRules parses the rules at their first use, so that a program that redacts
// nothing does not pay for them.
var loadRules = sync.OnceValue(func() *ruleSet {
	var all rules
	if err := json.Unmarshal(ruleFile, &all); err != nil {
		panic(err) // it is part of the program
	}
	return newRuleSet(all, detectors(), nearWords())
})

func newRuleSet(all rules, detectors map[string]detector, hints []nearWord) *ruleSet {
	set := &ruleSet{rules: all}
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
	for i, r := range set.Rules {
		for _, prefix := range r.Prefixes {
			add(strings.ToLower(prefix), use{detect: prefixed(r.kind(), prefix)})
		}
		if r.Regex == "" || replaced[r.ID] {
			continue
		}
		for _, word := range r.Keywords {
			add(strings.ToLower(word), use{rule: i})
		}
	}
	for word, d := range detectors {
		add(word, use{detect: d})
	}
	for _, w := range hints {
		add(w.word, use{beside: func(text []byte, start, end int) []Finding { return near(text, start, end, w) }})
		if w.password {
			add(w.word, use{detect: kinds[0].assigned})
		}
	}
	for _, word := range []string{"\ndata:", " data:", "stringdata:"} {
		add(word, use{beside: manifest})
	}
	set.keywords = newMatcher(words)
	return set
}

// hasKeyword reports whether a text has one of the keywords, except for the beginnings of tokens.
func (set *ruleSet) hasKeyword(text []byte) bool {
	state := 0
	for _, c := range text {
		state = set.keywords.step(state, c)
		for _, word := range set.keywords.found[state] {
			if u := set.uses[word][0]; u.detect != nil || u.beside != nil || !set.Rules[u.rule].After || len(set.uses[word]) > 1 {
				return true
			}
		}
	}
	return false
}

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
func (r *rule) kind() string { return strings.ReplaceAll(r.ID, "-", " ") }

func (r *rule) prepare() {
	r.compile.Do(func() {
		expr := strings.ReplaceAll(r.Regex, gitleaksEnd, anyEnd)
		expr = strings.ReplaceAll(expr, `["']?`, `\\{0,3}["']?`) // a quote inside a string
		if r.After {
			expr = "^(?:" + expr + ")"
		}
		r.re = regexp.MustCompile(expr)
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			panic(err) // it was compiled above
		}
		r.reach = max(longestOf(tree), r.Reach)
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
		if r.SecretGroup > 0 && 2*r.SecretGroup+1 < len(m) {
			start, end = m[2*r.SecretGroup], m[2*r.SecretGroup+1]
		} else if r.SecretGroup == 0 {
			for g := 2; g+1 < len(m); g += 2 {
				if m[g] >= 0 && m[g+1] > m[g] {
					start, end = m[g], m[g+1]
					break
				}
			}
		}
		for end > start && text[at+end-1] == '\\' {
			end--
		}
		match := Finding{at + m[0], at + m[1], ""}
		secret := Finding{at + start, at + end, r.kind()}
		if r.accepts(set, text, secret, match) {
			found = append(found, secret)
		}
		if r.After {
			break
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
	if len(value) == 0 || r.Entropy > 0 && entropy(value) <= r.Entropy || isMark(value) || isPlaceholder(value) || isPublic(value) {
		return false
	}
	if check := checks[r.Check]; check != nil && !check(value) {
		return false
	}
	allows := func(a *allowList) bool { return a.allows(text, secret, match) }
	return !slices.ContainsFunc(r.Allowlists, allows) && !allows(set.Allowlist)
}

// allows reports whether the list says that a match is not a secret.
func (a *allowList) allows(text []byte, secret, match Finding) bool {
	if a.Paths != nil && a.Condition == "AND" {
		return false
	}
	a.compile.Do(func() {
		for _, expr := range a.Regexes {
			a.re = append(a.re, regexp.MustCompile(expr))
		}
	})
	value := text[secret.Start:secret.End]
	target := value
	switch a.RegexTarget {
	case "match":
		target = text[match.Start:match.End]
	case "line":
		from, to := max(0, match.Start-longestMatch), match.End
		from += bytes.LastIndexByte(text[from:match.Start], '\n') + 1
		if n := bytes.IndexByte(text[to:min(len(text), to+longestMatch)], '\n'); n >= 0 {
			to += n
		}
		target = text[from:to]
	}
	low := strings.ToLower(string(value))
	return slices.ContainsFunc(a.re, func(re *regexp.Regexp) bool { return re.Match(target) }) ||
		slices.ContainsFunc(a.Stopwords, func(word string) bool { return strings.Contains(low, word) })
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
