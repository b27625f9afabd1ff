package privacy

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

var update = flag.Bool("update", false, "write rules/rules.json")

// TestRuleFiles: rules.json has the rules of both TOML files, every expression compiles, and every
// rule of this project has a keyword and a known check.
func TestRuleFiles(t *testing.T) {
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	encode := func(prefix string, v any) {
		want.WriteString(prefix)
		if err := e.Encode(v); err != nil { // it ends the line
			t.Fatal(err)
		}
	}
	prefix := `{"Rules":[` + "\n"
	var gitleaks, own rules
	for name, file := range map[string]*rules{"rules/gitleaks.toml": &gitleaks, "rules/lcm.toml": &own} {
		if _, err := toml.DecodeFile(name, file); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range slices.Concat(gitleaks.Rules, own.Rules) {
		encode(prefix, r)
		prefix = ","
		for _, a := range r.Allowlists {
			for _, expr := range a.Regexes {
				regexp.MustCompile(expr)
			}
		}
		if r.Regex == "" {
			continue
		}
		r.prepare()
		if len(r.Keywords) == 0 && slices.Contains(own.Rules, r) {
			t.Errorf("%s has no keyword, and is never tried", r.ID)
		}
		if r.Check != "" && checks[r.Check] == nil {
			t.Errorf("%s: there is no check %q", r.ID, r.Check)
		}
	}
	if len(gitleaks.Rules) < 200 || len(own.Rules) == 0 {
		t.Fatalf("the files have %d and %d rules", len(gitleaks.Rules), len(own.Rules))
	}
	if own.Allowlist != nil {
		t.Error("lcm.toml has an allow list for all rules, which rules.json has no room for")
	}
	encode(`],"Allowlist":`, gitleaks.Allowlist)
	want.WriteString("}\n")
	if *update {
		if err := os.WriteFile("rules/rules.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("rules/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("rules.json differs from the TOML files: go test ./internal/privacy -run TestRuleFiles -update")
	}
}

// TestFixtures: every rule of this project finds the secret of its fixture, and every word near which
// values are looked for leads to that of its own, with no other rule or word beside it.
func TestFixtures(t *testing.T) {
	var own rules
	if _, err := toml.DecodeFile("rules/lcm.toml", &own); err != nil {
		t.Fatal(err)
	}
	none := loadRules().Allowlist
	check := func(name, fixture string, set *ruleSet) {
		found := 0
		for seed := range uint64(10) {
			text, secret := redacttest.Format{Text: strings.ReplaceAll(fixture, `\n`, "\n")}.Fill(rand.New(rand.NewPCG(seed, 40)))
			if got := disjoint(set.secrets(unescaped([]byte(text)))); len(got) > 0 && !redacttest.Shows(string(Replace([]byte(text), got)), secret) {
				found++
			}
		}
		if found < 8 { // some random values look like words
			t.Errorf("%s: %d of 10 secrets are found in %q", name, found, fixture)
		}
	}
	for _, r := range own.Rules {
		check(r.ID, r.Fixture, newRuleSet(rules{[]*rule{r}, none}, nil, nil))
	}
	for _, w := range nearWords() {
		check(w.word, w.fixture, newRuleSet(rules{}, nil, []nearWord{w}))
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
