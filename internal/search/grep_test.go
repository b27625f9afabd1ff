package search_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/internal/corpus"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// library is documents indexed in several segments and a tail.
type library struct {
	docs []segment.Doc
	ix   search.Index
}

func (l *library) fetch(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
	for _, id := range ids {
		i, ok := slices.BinarySearchFunc(l.docs, id, func(d segment.Doc, id int64) int { return int(d.ID - id) })
		if ok && !yield(id, l.docs[i].Text) {
			return nil
		}
	}
	return nil
}

// newLibrary indexes docs in segments of the given size, the rest in a tail.
func newLibrary(t testing.TB, docs []segment.Doc, size int) *library {
	t.Helper()
	l := &library{docs: docs}
	for len(docs) >= size {
		l.ix.Segments = append(l.ix.Segments, seal(t, docs[:size]))
		docs = docs[size:]
	}
	tail := segment.NewTail(segment.Options{})
	for part := range slices.Chunk(docs, 7) {
		if err := tail.Add(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
	l.ix.Segments = append(l.ix.Segments, tail.Segments()...)
	return l
}

func seal(t testing.TB, docs []segment.Doc) *segment.Segment {
	t.Helper()
	return sealWith(t, docs, segment.Options{})
}

func sealWith(t testing.TB, docs []segment.Doc, opts segment.Options) *segment.Segment {
	t.Helper()
	sealed, err := segment.Build(t.Context(), docs, opts)
	if err != nil {
		t.Fatal(err)
	}
	seg, err := sealed.Segment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seg
}

// oddities are texts that byte-wise and rune-wise readings disagree about.
var oddities = []string{
	"", "a", "ab", "\x00\x00\x00", "caf\xc3", "\xff\xfe\xfd broken \xe2\x28\xa1 bytes",
	"300 \u212A is cold", "ſtraße GROSSE Straße", "İstanbul ıssız", "ΣΊΣΥΦΟΣ σίσυφος ςσΣ",
	"日本語のテキスト", "emoji 👍🏽 and 👩‍💻", "line one\nline two\r\nline three", "e\u0301clair éclair",
	"\ufffd replacement", "tab\tseparated\tvalues", "Ωmega \u2126hm", "ﬁne ligature", "ＦＵＬＬ ｗｉｄｔｈ",
}

func grepDocs(n int) []segment.Doc {
	source := corpus.New(3, 5)
	docs := make([]segment.Doc, n)
	for i := range docs {
		docs[i] = source.Next()
		docs[i].Text = docs[i].Text[:min(len(docs[i].Text), 130)] // may part a rune, on purpose
		docs[i].ID = int64(i)*3 + 5                               // gaps, as deleted rows leave them
		docs[i].Conversation = int64(i/7%5) + 1
		if i%97 == 0 {
			docs[i].Text = []byte(oddities[i/97%len(oddities)])
		}
	}
	return docs
}

func grepPatterns() []string {
	source := corpus.New(3, 5)
	w := func(rank int) string { return source.Word(rank) }
	out := []string{
		`\x{212A}`, `(?i)k is`, `K is`, `(?i)kelvin|k is cold`, `(?i)stra(ß|ss)e`, `(?i)ſt`, `(?i)STRASSE`, `(?i)straße`,
		`(?i)σίσυφος`, `ΣΊΣ`, `(?i)ω`, `(?i)ωmega`, `日本`, `日.語`, `[日本]{2}語`, `テキスト$`, `👍`, `👩.💻`,
		`\x{FFFD}`, `caf\x{FFFD}`, `bytes$`, `\x00\x00`, `\x00{3}`, `^$`, `^.$`, `^a`, `(?m)^line`, `(?s)one.line`, `line (one|two|three)`,
		`\bis\b`, `e\x{301}`, `[éè]clair`, `(?i)É`, `ﬁ`, `(?i)ｆｕｌｌ`, `İ`, `(?i)i̇`, `ı`, `separated\tvalues`,
		`call_[0-9a-f]{16}`, `call_0`, `call_00[0-9a-f]+`, `sum_[a-f]{3}`, `v[0-9]+\.[0-9]+\.[0-9]+`, `v1\.2\.`, `"line":7`,
		`"path":"src/[a-z]+/[a-z]+\.go"`, `src/.*\.go`, `return fmt\.Errorf`, `err != nil \{\n\t\treturn`, `%w`, `[A-Z][a-z]+\(ctx`,
		`(a|b|c|d)(e|f|g|h)(i|j|k)`, `(ab|cd|ef)+x`, `x*y*z`, `.*`, `.+`, `[^a-z]{12}`, `[0-9]{9,}`, `(foo|bar)?`, `()`, `(?:)`,
		`[[:^ascii:]]`, `\pL\pL\pN`, `\d{4}-\d{2}`, `(?i)RETURN FMT`, `(?i)ctx, [a-z]+`, `zzzzqqqq`, `(zzzz|qqqq)`, `[^\x00-\x{10FFFF}]`,
		`q[^u]`, `(?U)if.*err`, `a{3}`, `(na){2,}`, `\.\s[A-Z]`, `。$`, `[\x{4E00}-\x{4E10}]{2}`, `一`, `一丁`, `[一丁]丂`,
	}
	for i := 0; len(out) < 112; i++ {
		a, b := w(i*37%3000), w(i*211+50)
		out = append(out, []string{b, "(?i)" + b, a + " " + b, a + "|" + b, a[:2] + ".*" + b, "^" + b, b + "[. ]", "(" + a + "|" + b + ")\\.go"}[i%8])
	}
	return out
}

// The search must find exactly the texts that reading every text finds, in order.
func TestGrepEqualsBruteForce(t *testing.T) {
	docs := grepDocs(5000)
	l := newLibrary(t, docs, 1200)
	for i, expr := range grepPatterns() {
		re := regexp.MustCompile(expr)
		var want []int64
		for _, d := range slices.Backward(docs) {
			if re.Match(d.Text) {
				want = append(want, d.ID)
			}
		}
		p, err := search.ParsePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		res, err := l.ix.Grep(t.Context(), search.GrepRequest{Pattern: p, Readers: i % 4}, l.fetch, func(id int64) bool {
			got = append(got, id)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (requires %s): %s", expr, p.Required(), diff)
		}
		if !res.Complete || res.Matched != len(want) {
			t.Errorf("%s: result %+v, want %d complete matches", expr, res, len(want))
		}
	}
}

func TestGrepFilters(t *testing.T) {
	docs := grepDocs(3000)
	l := newLibrary(t, docs, 1000)
	p, err := search.ParsePattern(`\w+ing?\b`)
	if err != nil {
		t.Fatal(err)
	}
	middle := docs[1500]
	for name, c := range map[string]struct {
		req  search.GrepRequest
		want func(segment.Doc) bool
	}{
		"conversation": {search.GrepRequest{Filter: search.Filter{Conversations: []int64{2, 4}}},
			func(d segment.Doc) bool { return d.Conversation == 2 || d.Conversation == 4 }},
		"since":  {search.GrepRequest{Filter: search.Filter{Since: middle.Time}}, func(d segment.Doc) bool { return d.Time >= middle.Time }},
		"before": {search.GrepRequest{Filter: search.Filter{Before: middle.Time}}, func(d segment.Doc) bool { return d.Time < middle.Time }},
		"role":   {search.GrepRequest{Filter: search.Filter{Roles: []uint8{1}}}, func(d segment.Doc) bool { return d.Role == 1 }},
		"below":  {search.GrepRequest{Below: middle.ID}, func(d segment.Doc) bool { return d.ID < middle.ID }},
		"accept": {search.GrepRequest{Filter: search.Filter{Accept: func(id int64) bool { return id%2 == 0 }}},
			func(d segment.Doc) bool { return d.ID%2 == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got []int64
			for _, d := range slices.Backward(docs) {
				if c.want(d) && p.Regexp().Match(d.Text) {
					want = append(want, d.ID)
				}
			}
			c.req.Pattern = p
			if _, err := l.ix.Grep(t.Context(), c.req, l.fetch, func(id int64) bool {
				got = append(got, id)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("%d wanted: %s", len(want), diff)
			}
		})
	}
}

// A caller that has enough stops the search, which then says it is partial.
func TestGrepStops(t *testing.T) {
	l := newLibrary(t, grepDocs(3000), 1000)
	p, err := search.ParsePattern("return")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	res, err := l.ix.Grep(t.Context(), search.GrepRequest{Pattern: p}, l.fetch, func(int64) bool {
		n++
		return n < 5
	})
	if err != nil || n != 5 || res.Complete || res.Read > 200 {
		t.Errorf("n = %d, %+v, %v; want five matches from few reads, incomplete", n, res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.ix.Grep(ctx, search.GrepRequest{Pattern: p}, l.fetch, func(int64) bool { return true }); err == nil {
		t.Error("a cancelled search returned no error")
	}
}

// A search that was cut off never passes for a complete one without matches,
// even where a filter or a store take the end of the context for "nothing here".
func TestGrepCutOff(t *testing.T) {
	l := newLibrary(t, grepDocs(3000), 1000)
	p, err := search.ParsePattern("return")
	if err != nil {
		t.Fatal(err)
	}
	for name, cut := range map[string]func(cancel func()) (search.Filter, search.Fetch){
		"filter": func(cancel func()) (search.Filter, search.Fetch) {
			return search.Filter{Accept: func(int64) bool { cancel(); return false }}, l.fetch
		},
		"fetch": func(cancel func()) (search.Filter, search.Fetch) {
			return search.Filter{}, func(context.Context, []int64, func(int64, []byte) bool) error { cancel(); return nil }
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		filter, fetch := cut(cancel)
		res, err := l.ix.Grep(ctx, search.GrepRequest{Pattern: p, Filter: filter}, fetch, func(int64) bool { return true })
		if !errors.Is(err, context.Canceled) || res.Complete {
			t.Errorf("%s: %+v, %v; want an error and no claim to be complete", name, res, err)
		}
		q, err := search.ParseQuery("return")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		filter, fetch = cut(cancel)
		if res, err := l.ix.Search(ctx, search.Request{Query: q, Filter: filter}, fetch); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a search by words returned %+v, %v", name, res, err)
		}
	}
}

// Matching copies no text: only the id of a match is held.
func TestGrepKeepsNoTexts(t *testing.T) {
	big := strings.Repeat("a needle in the hay ", 20_000) // 400 KB
	l := shelf(t, slices.Repeat([]string{big}, 60)...)
	p, err := search.ParsePattern("needle")
	if err != nil {
		t.Fatal(err)
	}
	grep := func() {
		if _, err := l.ix.Grep(t.Context(), search.GrepRequest{Pattern: p}, l.fetch, func(int64) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	grep()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	grep()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(10*len(big)) {
		t.Errorf("%d bytes were allocated for 60 matches of %d", grown, len(big))
	}
}

func TestPatternErrors(t *testing.T) {
	for expr, position := range map[string]int{`abc(`: -1, `a[b`: 1, `x**`: 1, `ab(?P<n`: 2, `\8`: 0} {
		_, err := search.ParsePattern(expr)
		var pe *search.PatternError
		if !asPatternError(err, &pe) {
			t.Errorf("%s: %v is no PatternError", expr, err)
			continue
		}
		if position >= 0 && pe.Position != position {
			t.Errorf("%s: position %d, want %d (%v)", expr, pe.Position, position, err)
		}
	}
}

func asPatternError(err error, target **search.PatternError) bool {
	pe, ok := err.(*search.PatternError)
	*target = pe
	return ok
}

func ExamplePattern_Required() {
	p, err := search.ParsePattern(`(?i)deadline|time(d )?out`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Indexed())
	// Output: true
}

// Build ends with its context: a search that indexes a long text first keeps
// to its deadline.
func TestBuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	docs := []segment.Doc{{ID: 1, Text: []byte("a long text")}}
	if _, err := segment.Build(ctx, docs, segment.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The words that contain an unknown one are looked for in a few texts, whatever the number
// of segments.
func TestContainingWordsReadFewTexts(t *testing.T) {
	var docs []segment.Doc
	for i := range 600 {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Text: []byte("the supermigrationplan is here")})
	}
	l := newLibrary(t, docs, 100)
	q, err := search.ParseQuery("migrations")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	res, err := l.ix.Search(t.Context(), search.Request{Query: q, Limit: 1}, func(ctx context.Context, ids []int64, yield func(int64, []byte) bool) error {
		read += len(ids)
		return l.fetch(ctx, ids, yield)
	})
	if err != nil {
		t.Fatal(err)
	}
	if read > 200 {
		t.Errorf("%d texts were read", read)
	}
	if len(res.Terms) != 1 || !res.Terms[0].Part {
		t.Errorf("terms %+v: the word is a part of another", res.Terms)
	}
}
