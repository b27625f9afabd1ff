package search

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var matcherPatterns = []string{
	`abc`, `a.c`, `(?s)a.c`, `(?i)straße|K`, `^a`, `a$`, `\Aab\z`, `(?m)^b$`, `\bab\b`, `\Bb`, `[^a]b`, `a*`, `(a|b)+c{2,3}`, `é+`, `[α-ω]x`, `\x{FFFD}`,
	`\pL\d`, `a(b|c)?d`, `(?i)[k-m]`, `$^`, `(^|\n)c`, `(ab|ba)*c\b`, `.`, `\W\w\W`, `(?U)a+b`, ``, `x\x00`, `(a?){20}b{3}`, `[^\n]{5,}c`, `(?m)$\n^`, `aa+\b|bé`, `ab[ck]{2}x`, `-1*\b`, `a\Bb+$`, `(ab)+c`, `é\b`, `ab|ac`,
}

// FuzzMatcher: a matcher agrees with package regexp on every text.
func FuzzMatcher(f *testing.F) {
	for _, p := range matcherPatterns {
		f.Add(p, []byte("ab c\naβx Kk é\xff\nc"))
	}
	f.Fuzz(func(t *testing.T, expr string, text []byte) {
		p, err := ParsePattern(expr)
		if err != nil || len(expr) > 100 {
			return
		}
		m := p.newMatcher()
		for i := range text {
			if got, want := m.match(text[i:]), p.re.Match(text[i:]); got != want {
				t.Fatalf("%q on %q: %v, package regexp says %v", expr, text[i:], got, want)
			}
		}
	})
}

func TestMatcherAgreesWithRegexp(t *testing.T) {
	alphabet := []string{"a", "b", "c", "k", "K", "x", "é", "ß", "ſ", "\u212a", "β", "\n", " ", "1", "\xff", "\x00", "-", "d"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, expr := range matcherPatterns {
		p, err := ParsePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		m, matched := p.newMatcher(), 0
		for range 2000 {
			var b strings.Builder
			for range rng.IntN(12) {
				b.WriteString(alphabet[rng.IntN(len(alphabet))])
			}
			got, want := m.match([]byte(b.String())), p.re.MatchString(b.String())
			if got != want {
				t.Fatalf("%q on %q: %v, package regexp says %v", expr, b.String(), got, want)
			}
			if got {
				matched++
			}
		}
		if matched == 0 && !strings.Contains(expr, "{") && expr != `x\x00` {
			t.Errorf("%q matched no text", expr)
		}
	}
}

// An expression with too many states is left to package regexp.
func TestMatcherGivesUpOnManyStates(t *testing.T) {
	p, err := ParsePattern(`(a|b)*a(a|b){14}[cd]`)
	if err != nil {
		t.Fatal(err)
	}
	m := p.newMatcher()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		text := make([]byte, 4000)
		for i := range text {
			text[i] = "ab"[rng.IntN(2)]
		}
		for _, end := range []string{"", "c"} {
			at := append(text[:len(text):len(text)], end...)
			if got, want := m.match(at), regexp.MustCompile(p.String()).Match(at); got != want {
				t.Fatalf("%v, package regexp says %v", got, want)
			}
		}
	}
	if m.prog != nil || len(m.states) != 0 {
		t.Errorf("the automaton still has %d states", len(m.states))
	}
}

func TestRequiredLiteral(t *testing.T) {
	for expr, want := range map[string]string{
		`abc`: "abc", `(abc)+x`: "abc", `a|b`: "", `(?i)abc`: "", `\w+_unix\w*`: "_unix", `func.*errors`: "errors", `ab?c`: "a", `\x{FFFD}ab`: "",
		`(foo)?barbaz`: "barbaz",
	} {
		p, err := ParsePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		if string(p.literal) != want || p.whole != (expr == `abc`) {
			t.Errorf("%s requires %q, whole: %v", expr, p.literal, p.whole)
		}
	}
}
