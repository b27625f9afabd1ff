package analysis

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre", "plastered": "plaster",
		"motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
		"tanned": "tan", "falling": "fall", "hissing": "hiss", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky",
		"relational": "relat", "conditional": "condit", "digitizer": "digit", "operator": "oper", "feudalism": "feudal",
		"hopefulness": "hope", "formality": "formal", "sensibility": "sensibl", "triplicate": "triplic", "electrical": "electr",
		"goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer", "adjustable": "adjust",
		"replacement": "replac", "adoption": "adopt", "communism": "commun", "activate": "activ", "probate": "probat",
		"rate": "rate", "cease": "ceas", "controlling": "control", "roll": "roll", "running": "run", "x2s": "x2s", "as": "as",
	} {
		if got := string(Stem([]byte(word))); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text, words string // unstemmed words
		wholes      string
	}{
		{"Anna's dogs don't bark", "anna dogs dont bark", ""},
		{"Café naïve Ångström", "cafe naive angstrom", ""},
		{"parseHTTPRequest(snake_case_name)", "parse http request snake case name", "parsehttprequest snake_case_name"},
		{"see store/sqlite.go, v1.2.3.", "see store sqlite go v1 2 3", "store/sqlite.go v1.2.3"},
		{"sum_0123456789abcdef", "sum 0123456789abcdef", ""},
		{"__init__ x", "init x", ""},
		{"配置文件 ok", "配置 置文 文件 件 ok", ""},
		{"ภาษาไทย", "ภา าษ ษา าไ ไท ทย ย", ""},
		{"ship it 🚀👍🏽", "ship it 🚀 👍", ""},
		{"ＦＵＬＬ", "full", ""},
		{"don’t", "dont", ""},
		{"\xff\xfeabc", "abc", ""},
		{"aGVsbG8gd29ybGQhISBmb28", "agvsbg8gd29ybgqhisbmb28", ""},
		{"a . b", "a b", ""},
	} {
		var words, wholes []string
		for _, tok := range textTokens([]byte(c.text)) {
			if tok.Whole() {
				wholes = append(wholes, tok.Plain)
			} else {
				words = append(words, tok.Plain)
			}
		}
		if diff := cmp.Diff(c.words, strings.Join(words, " ")); diff != "" {
			t.Errorf("words of %q: %s", c.text, diff)
		}
		if diff := cmp.Diff(c.wholes, strings.Join(wholes, " ")); diff != "" {
			t.Errorf("wholes of %q: %s", c.text, diff)
		}
	}
}

// requiredOf parses an expression that is known to compile.
func requiredOf(t interface{ Fatal(...any) }, expr string) *TrigramQuery {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return RequiredTrigrams(tree)
}

// The trigrams of a text that a pattern matches satisfy the pattern's query.
func FuzzRequired(f *testing.F) {
	f.Add(`(?i)k[aeiou]lvin|str(a|ä)ße`, "300 \u212Aelvin")
	f.Add(`a+b?c*[xyz]{2,3}`, "aabxyz")
	f.Add(`\x{FFFD}.b`, "\xff\xfeb")
	f.Add(`(abc|de)(f|gh)*ij`, "abcfghij")
	f.Add(`^(?:foo|bar){2}$`, "foobar")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 200 || len(text) > 2000 {
			return
		}
		re, err := regexp.Compile(expr)
		if err != nil || !re.MatchString(text) {
			return
		}
		query := requiredOf(t, expr)
		folded := AppendTrigramText(nil, []byte(text))
		has := func(g Trigram) bool {
			return bytes.Contains(folded, []byte{byte(g >> 16), byte(g >> 8), byte(g)})
		}
		if !query.satisfiedBy(has) {
			t.Errorf("%q matches %q, which has not %s", expr, text, query)
		}
	})
}

// The trigrams of a literal go on into the class after it, also where that is repeated, and
// classes have trigrams where they meet.
func TestRequiredOfRepeatedClass(t *testing.T) {
	for expr, want := range map[string]string{
		"test_[0-1]{3}": "_01", "test_[0-9]{3}": "_09",
		`[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`: "7.2", `[0-9]+\.[0-9]+\.[0-9]+`: "7.2", `v[0-9]+(\.[0-9]+){2}`: "7.2",
		`[a-z]+-[0-9]{5}`: "k-4", `(?:x[0-9]|y[0-9])+:z`: "7:z", `\b[A-Z]{2,}-[0-9]+`: "k-4", `(?:ab|cd)[ef]*`: "anything",
	} {
		if got := requiredOf(t, expr).String(); !strings.Contains(got, want) {
			t.Errorf("%s requires %s, not %s", expr, got, want)
		}
	}
}

// Random expressions over a small alphabet reach the corners that a fuzzer is
// slow to find.
func TestRequiredProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var expr func(depth int) string
		expr = func(depth int) string {
			if depth == 0 {
				return rapid.SampledFrom([]string{"a", "b", "K", "s", "é", "ab", "abc", "kSé", ".", "[ab]", "[^a]", "[k-m]", "(?i:ks)", `\b`, "^", "$", ""}).Draw(t, "leaf")
			}
			x := expr(depth - 1)
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1:
				return x + expr(depth-1)
			case 2:
				return "(?:" + x + "|" + expr(depth-1) + ")"
			case 3:
				return "(?:" + x + ")*"
			case 4:
				return "(?:" + x + ")+"
			case 5:
				return "(?:" + x + ")?"
			}
			return "(?:" + x + ")" + rapid.SampledFrom([]string{"{1,2}", "{0,2}", "{3}", "{2,}", "{6}"}).Draw(t, "times")
		}
		source := expr(rapid.IntRange(1, 4).Draw(t, "depth"))
		re, err := regexp.Compile(source)
		if err != nil {
			t.Skip(err)
		}
		query := requiredOf(t, source)
		for range 10 {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "k", "K", "\u212A", "s", "ſ", "é", "É", "l", "\xff", " "}), 0, 14).Draw(t, "text"), "")
			if !re.MatchString(text) {
				continue
			}
			folded := AppendTrigramText(nil, []byte(text))
			if !query.satisfiedBy(func(g Trigram) bool {
				return bytes.Contains(folded, []byte{byte(g >> 16), byte(g >> 8), byte(g)})
			}) {
				t.Fatalf("%q matches %q, which has not %s", source, text, query)
			}
		}
	})
}
