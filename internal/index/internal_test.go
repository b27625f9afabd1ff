package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"regexp"
	"slices"
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
		if got := string(stem([]byte(word))); got != want {
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
			if tok.whole() {
				wholes = append(wholes, tok.plain)
			} else {
				words = append(words, tok.plain)
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

func TestHasDate(t *testing.T) {
	for text, want := range map[string]bool{
		"we met in May": false, "back in March": true, "two years ago": true, "last week was fun": true, "the 7th": true, "in 2023": true,
		"room 2500": false, "yesterday!": true, "the last straw": false, "a1st": false, "": false, "See you Sunday": true,
	} {
		if got := hasDate([]byte(text)); got != want {
			t.Errorf("hasDate(%q) = %v", text, got)
		}
	}
}

func TestRiceRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfDistinct(rapid.Uint32Range(0, 5000), rapid.ID).Draw(t, "blocks")
		slices.Sort(blocks)
		total := uint32(5001)
		if len(blocks) > 0 && rapid.Bool().Draw(t, "tight") {
			total = blocks[len(blocks)-1] + 1
		}
		b := appendRice(nil, blocks, total)
		got, err := decodeRice(nil, b, uint32(len(blocks)), total)
		if err != nil || !slices.Equal(got, blocks) {
			t.Fatalf("%v → %v, %v", blocks, got, err)
		}
	})
}

func TestPostingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 700).Draw(t, "n")
		step := rapid.IntRange(1, 400).Draw(t, "step")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var list []posting
		p := uint32(rng.IntN(5))
		for range n {
			list = append(list, posting{p, uint8(1 + rng.IntN(3))})
			p += 1 + uint32(rng.IntN(step))
		}
		w := dictWriter{}
		w.add([]byte("before"), list[:1])
		w.add([]byte("term"), list)
		seg := &Segment{header: header{terms: w.blocks}}
		seg.streams[streamTerms] = streamPlace{1, w.terms.size()}
		seg.streams[streamPostings] = streamPlace{1000, w.postings.size()}
		blobs := streamBlobs{1: unsealed(&w.terms), 1000: unsealed(&w.postings)}
		seg.blobs = blobs
		r := seg.reader(t.Context())
		e, ok, err := r.lookup("term")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		from := rapid.Uint32Range(0, p).Draw(t, "from")
		to := rapid.Uint32Range(from, p+1).Draw(t, "to")
		got, err := r.postingsIn(nil, e, passageRange{from, to})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(list), func(p posting) bool { return p.passage < from || p.passage >= to })
		if !slices.Equal(got, want) {
			t.Fatalf("[%d,%d): %v, want %v", from, to, got, want)
		}
	})
}

// The grams of a text that a pattern matches satisfy the pattern's query.
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
		p, err := ParsePattern(expr)
		if err != nil || !p.re.MatchString(text) {
			return
		}
		folded := appendGramText(nil, []byte(text))
		has := func(g gram) bool {
			return bytes.Contains(folded, []byte{byte(g >> 16), byte(g >> 8), byte(g)})
		}
		if !p.query.satisfiedBy(has) {
			t.Errorf("%q matches %q, which has not %s", expr, text, p.Required())
		}
	})
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
			return "(?:" + x + "){1,2}"
		}
		source := expr(rapid.IntRange(1, 4).Draw(t, "depth"))
		re, err := regexp.Compile(source)
		if err != nil {
			t.Skip(err)
		}
		p, err := ParsePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "k", "K", "\u212A", "s", "ſ", "é", "É", "l", "\xff", " "}), 0, 14).Draw(t, "text"), "")
			if !re.MatchString(text) {
				continue
			}
			folded := appendGramText(nil, []byte(text))
			if !p.query.satisfiedBy(func(g gram) bool {
				return bytes.Contains(folded, []byte{byte(g >> 16), byte(g >> 8), byte(g)})
			}) {
				t.Fatalf("%q matches %q, which has not %s", source, text, p.Required())
			}
		}
	})
}

// Any bytes make a header or an error, never a panic, and never a claim that a
// reader follows out of bounds.
func FuzzHeader(f *testing.F) {
	b := NewBuilder(Options{})
	for i := range int64(40) {
		if err := b.Add(Doc{ID: i + 1, Conversation: i % 3, Text: []byte("some words to find again, number " + strings.Repeat("x", int(i)))}); err != nil {
			f.Fatal(err)
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		f.Fatal(err)
	}
	header := sealed.Sections[0]
	f.Add(header[:len(header)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		damaged := Sealed{Sections: slices.Clone(sealed.Sections)}
		damaged.Sections[0] = sealSection(slices.Clone(data))
		seg, err := damaged.Segment(t.Context())
		if err != nil || seg.passages > 1<<20 || seg.blocks > 1<<20 {
			return
		}
		q, err := ParseQuery("words again numb*")
		if err != nil {
			t.Fatal(err)
		}
		nothing := func(_ context.Context, _ []int64, _ func(int64, []byte) bool) error { return nil }
		ix := Index{Segments: []*Segment{seg}}
		_, _ = ix.Search(t.Context(), Request{Query: q}, nothing)
		p, err := ParsePattern("again|find")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = ix.Grep(t.Context(), GrepRequest{Pattern: p}, nothing, func(int64) bool { return true })
	})
}

func TestDamageIsReported(t *testing.T) {
	b := NewBuilder(Options{})
	for i := range int64(500) {
		if err := b.Add(Doc{ID: i + 1, Text: binary.AppendUvarint([]byte("plain words "), uint64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	q, err := ParseQuery("plain")
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for n := range sealed.Sections {
		damaged := Sealed{Sections: slices.Clone(sealed.Sections)}
		damaged.Sections[n] = slices.Clone(damaged.Sections[n])
		damaged.Sections[n][len(damaged.Sections[n])/2] ^= 4
		seg, err := damaged.Segment(t.Context())
		if err == nil {
			_, err = Index{Segments: []*Segment{seg}}.Search(t.Context(), Request{Query: q},
				func(context.Context, []int64, func(int64, []byte) bool) error { return nil })
		}
		if err != nil {
			reported++
		}
	}
	if reported == 0 {
		t.Error("no damage was noticed")
	}
}
