package redact

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// TestRuleFiles: the parser of rule files finds the same as a full TOML parser, and every
// expression compiles.
func TestRuleFiles(t *testing.T) {
	for _, name := range []string{"rules/gitleaks.toml", "rules/lcm.toml"} {
		text, err := ruleFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		type list struct {
			RegexTarget, Condition string
			Regexes, Stopwords     []string
		}
		var want struct {
			Allowlist list
			Rules     []struct {
				ID, Regex, Check   string
				Entropy            float64
				SecretGroup        int
				Keywords, Prefixes []string
				Allowlists         []list
			}
		}
		if _, err := toml.Decode(string(text), &want); err != nil {
			t.Fatal(err)
		}
		got, err := parseRules(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.rules) != len(want.Rules) || len(got.rules) == 0 {
			t.Fatalf("%s: %d rules, want %d", name, len(got.rules), len(want.Rules))
		}
		sameList := func(a *allowList, b list) bool {
			return a.target == b.RegexTarget && a.and == (b.Condition == "AND") && slices.Equal(a.regexes, b.Regexes) && slices.Equal(a.stopwords, b.Stopwords)
		}
		if len(got.allow) > 0 && !sameList(got.allow[0], want.Allowlist) {
			t.Errorf("%s: the allow list for all rules differs", name)
		}
		for i, w := range want.Rules {
			g := got.rules[i]
			if g.id != w.ID || g.expr != w.Regex || g.check != w.Check || g.entropy != w.Entropy || g.group != w.SecretGroup ||
				!slices.Equal(g.keywords, w.Keywords) || !slices.Equal(g.prefixes, w.Prefixes) || len(g.allow) != len(w.Allowlists) {
				t.Errorf("%s: rule %d: %+v, want %+v", name, i, g, w)
				continue
			}
			for j := range g.allow {
				if !sameList(g.allow[j], w.Allowlists[j]) {
					t.Errorf("%s: %s: allow list %d differs", name, g.id, j)
				}
				for _, expr := range g.allow[j].regexes {
					regexp.MustCompile(expr)
				}
			}
			if g.expr == "" {
				continue
			}
			if g.prepare(); len(g.keywords) == 0 && !strings.HasSuffix(name, "gitleaks.toml") {
				t.Errorf("%s: %s has no keyword, and is never tried", name, g.id)
			}
			if g.check != "" && checks[g.check] == nil {
				t.Errorf("%s: %s: there is no check %q", name, g.id, g.check)
			}
		}
	}
}

// TestMatcher: keywords are found wherever they are, in upper and lower case,
// inside of each other too.
func TestMatcher(t *testing.T) {
	words := []string{"he", "she", "hers", "is", "key_"}
	text := "uSHErs this HE KEY_key"
	var got []string
	m, state := newMatcher(words), 0
	for i := range len(text) {
		state = m.step(state, text[i])
		for _, word := range m.found[state] {
			if found := text[i+1-m.size[word] : i+1]; !strings.EqualFold(found, words[word]) {
				t.Errorf("%q at %d is not %q", found, i, words[word])
			}
			got = append(got, words[word])
		}
	}
	if want := []string{"she", "he", "hers", "is", "he", "key_"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
