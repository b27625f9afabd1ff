package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/internal/corpus"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// ofRanking leaves out what only the ranking reads.
var ofRanking = cmpopts.IgnoreFields(search.Hit{}, "Prev", "Next", "Counts", "Words", "Asks")

// shelf indexes one document for each line.
func shelf(t testing.TB, lines ...string) *library {
	t.Helper()
	docs := make([]segment.Doc, len(lines))
	for i, s := range lines {
		// Half an hour apart: nobody's neighbour.
		docs[i] = segment.Doc{ID: int64(i + 1), Conversation: 1, Time: int64(i) * 3_600_000, Text: []byte(s)}
	}
	return newLibrary(t, docs, max(2, len(docs)/2))
}

func (l *library) search(t testing.TB, query string, req search.Request) search.Result {
	t.Helper()
	q, err := search.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	req.Query = q
	res, err := l.ix.Search(t.Context(), req, l.fetch)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func matchedIDs(res search.Result) []int64 {
	var out []int64
	for _, h := range res.Hits {
		if h.Matched {
			out = append(out, h.ID)
		}
	}
	return out
}

func TestQuerySyntax(t *testing.T) {
	l := shelf(t,
		"The quick brown fox jumps over the lazy dog",           // 1
		"A brown quick dog sleeps",                              // 2
		"foxes are running through Café Zürich",                 // 3
		"call parseHTTPRequest with user_id in store/sqlite.go", // 4
		"upgraded to v1.2.3, see sum_00ff12ab34cd56ef",          // 5
		"v1.2.4 is not out; v2.1.3 is",                          // 6
		"设置配置文件中的阈值",                                            // 7
		"ship it 🚀 today",                                       // 8
		"the user has an id",                                    // 9
		"to be or not to be",                                    // 10
		"configuration of the configurable runner",              // 11
	)
	for _, c := range []struct {
		query string
		want  []int64 // in any order
	}{
		{"fox", []int64{1, 3}},
		{`"quick brown"`, []int64{1}},
		{`"brown quick"`, []int64{2}},
		{"+brown +fox", []int64{1}},
		{"brown AND fox", []int64{1}},
		{"brown -fox", []int64{2}},
		{"brown NOT fox", []int64{2}},
		{`dog -"quick brown"`, []int64{2}},
		{"runn*", []int64{3, 11}},
		{"runnin*", []int64{3}},
		{"config*", []int64{11}},
		{"cafe zurich", []int64{3}},
		{"CAFÉ", []int64{3}},
		{"parsehttprequest", []int64{4}},
		{"http request", []int64{4}},
		{"+user_id", []int64{4, 9}},
		{`"user_id"`, []int64{4}},
		{"sqlite.go", []int64{4}},
		{`"v1.2.3"`, []int64{5}},
		{"sum_00ff12ab34cd56ef", []int64{5}},
		{"配置", []int64{7}},
		{"阈", []int64{7}},
		{`"置文件"`, []int64{7}},
		{"🚀", []int64{8}},
		{`"to be or not to be"`, []int64{10}},
		{"be", []int64{10}},
		{"where is the fox?", []int64{1, 3}},
		{"unknownword", nil},
		{"+fox +unknownword", nil},
	} {
		got := matchedIDs(l.search(t, c.query, search.Request{}))
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.query, diff)
		}
	}
}

// What was typed in full ranks first.
func TestIdentifierRanksFirst(t *testing.T) {
	l := shelf(t, "the user and the id", "user id user id user id", "set user_id here", "id of a user", "v1 and 2 and 3", "now at v1.2.3", "3 2 v1")
	for query, want := range map[string]int64{"user_id": 3, "v1.2.3": 6} {
		if res := l.search(t, query, search.Request{}); res.Hits[0].ID != want {
			t.Errorf("%s: first is %d, want %d", query, res.Hits[0].ID, want)
		}
	}
}

func TestBadQueries(t *testing.T) {
	for _, q := range []string{"", "   ", "...", `""`, "-fox", "+", "*"} {
		if _, err := search.ParseQuery(q); !errors.Is(err, search.ErrNoWords) {
			t.Errorf("ParseQuery(%q): %v, want ErrNoWords", q, err)
		}
	}
	if _, err := search.ParseQuery(strings.Repeat("word ", 20_000)); err == nil {
		t.Error("a query of 100 KB was accepted")
	}
	q, err := search.ParseQuery("what is the fox")
	if err != nil || !slices.Equal(q.Dropped, []string{"what", "is", "the"}) {
		t.Errorf("dropped %v, %v", q.Dropped, err)
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{`"a phrase" +must -not pre*`, `NOT AND OR`, `"unbalanced`, "“smart” quotes", "+\"x\" -\"y\"", "\xff* -*", "阈 👍🏽"} {
		f.Add(s)
	}
	l := shelf(f, "a phrase with must", "pre-war prefix", "阈值 👍")
	f.Fuzz(func(t *testing.T, s string) {
		q, err := search.ParseQuery(s)
		if err != nil {
			return
		}
		if _, err := l.ix.Search(t.Context(), search.Request{Query: q}, l.fetch); err != nil {
			t.Error(err)
		}
		q.Excerpt([]byte("a phrase with must "+s), 40)
	})
}

// How documents are divided into segments shows in no answer.
func TestSegmentsDoNotShow(t *testing.T) {
	source := corpus.New(5, 3)
	docs := make([]segment.Doc, 1200)
	for i := range docs {
		docs[i] = source.Next()
		docs[i].Conversation = int64(i / 13 % 4)
	}
	whole := &library{docs: docs, ix: search.Index{Segments: []*segment.Segment{seal(t, docs)}}}
	divided := []*library{newLibrary(t, docs, 131), newLibrary(t, docs, 400), newLibrary(t, docs, 1100)}
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SampledFrom(divided).Draw(rt, "parts")
		query := strings.Join([]string{source.Word(rapid.IntRange(0, 300).Draw(rt, "a")), source.Word(rapid.IntRange(0, 3000).Draw(rt, "b")), source.Word(5)}, " ")
		req := search.Request{Sort: search.Sort(rapid.IntRange(0, 2).Draw(rt, "sort"))}
		if rapid.Bool().Draw(rt, "scoped") {
			req.Filter.Conversations = []int64{1, 3}
		}
		want, got := whole.search(t, query, req), parts.search(t, query, req)
		if diff := cmp.Diff(want.Hits, got.Hits); diff != "" && req.Sort != search.ByRecency {
			rt.Fatalf("%s: %s", query, diff)
		}
		if req.Sort == search.ByRecency && !slices.Equal(matchedIDs(want), matchedIDs(got)) {
			rt.Fatalf("%s: %v, want %v", query, matchedIDs(got), matchedIDs(want))
		}
	})
}

func TestScopeAndFilters(t *testing.T) {
	docs := []segment.Doc{
		{ID: 1, Conversation: 1, Time: 1000, Role: 1, Text: []byte("alpha one")},
		{ID: 2, Conversation: 2, Time: 2000, Role: 2, Text: []byte("alpha two")},
		{ID: 3, Conversation: 1, Time: 3000, Role: 2, Flags: 1, Text: []byte("alpha three")},
		{ID: 4, Conversation: 3, Time: 4000, Role: 1, Text: []byte("alpha four")},
	}
	l := newLibrary(t, docs, 3)
	for name, c := range map[string]struct {
		filter search.Filter
		want   []int64
	}{
		"all":           {search.Filter{}, []int64{4, 3, 2, 1}},
		"conversation":  {search.Filter{Conversations: []int64{1}}, []int64{3, 1}},
		"conversations": {search.Filter{Conversations: []int64{3, 1, 3}}, []int64{4, 3, 1}},
		"absent":        {search.Filter{Conversations: []int64{9}}, nil},
		"since":         {search.Filter{Since: 2000}, []int64{4, 3, 2}},
		"before":        {search.Filter{Before: 2000}, []int64{1}},
		"role":          {search.Filter{Roles: []uint8{1}}, []int64{4, 1}},
		"flags":         {search.Filter{Without: 1}, []int64{4, 2, 1}},
		"accept":        {search.Filter{Accept: func(id int64) bool { return id < 3 }}, []int64{2, 1}},
	} {
		res := l.search(t, "alpha", search.Request{Filter: c.filter, Sort: search.ByRecency})
		if diff := cmp.Diff(c.want, matchedIDs(res)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if res.Matched != len(c.want) {
			t.Errorf("%s: matched %d, want %d", name, res.Matched, len(c.want))
		}
	}
}

// A text that is gone from the record is gone from the answers.
func TestForgottenTexts(t *testing.T) {
	l := shelf(t, "alpha one", "alpha two", "alpha three")
	q, err := search.ParseQuery("alpha")
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.ix.Search(t.Context(), search.Request{Query: q}, func(ctx context.Context, ids []int64, yield func(int64, []byte) bool) error {
		return l.fetch(ctx, slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id == 2 }), yield)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := matchedIDs(res); !slices.Equal(got, []int64{3, 1}) {
		t.Errorf("got %v", got)
	}
}

// A long text is scored by its best passage.
func TestPassages(t *testing.T) {
	long := strings.Repeat("filler words go on and on ", 400)
	l := shelf(t, long+"the zeppelin moored at the pylon "+long, "pylon "+long, "zeppelin "+long)
	if res := l.search(t, "zeppelin pylon", search.Request{}); res.Hits[0].ID != 1 {
		t.Errorf("first is %d, want the text that has both words side by side", res.Hits[0].ID)
	}
}

func TestNeighboursOfAnAnswer(t *testing.T) {
	docs := []segment.Doc{
		{ID: 10, Conversation: 1, Time: 0, Text: []byte("what colour is the zeppelin?")},
		{ID: 11, Conversation: 1, Time: 1000, Text: []byte("it is silver")},
		{ID: 12, Conversation: 1, Time: 9_000_000, Text: []byte("unrelated")},
	}
	res := newLibrary(t, docs, 2).search(t, "zeppelin", search.Request{})
	var ids []int64
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	if diff := cmp.Diff([]int64{10, 11}, ids); diff != "" {
		t.Error("want the match, then what was said next to it:", diff)
	}
	if res.Hits[0].Session != res.Hits[1].Session || res.Hits[1].Matched {
		t.Errorf("hits %+v", res.Hits)
	}
}

// Records of a host between a question and its answer do not separate them.
func TestNeighboursPastHiddenMessages(t *testing.T) {
	docs := []segment.Doc{
		{ID: 10, Conversation: 1, Time: 0, Text: []byte("what colour is the zeppelin?")},
		{ID: 11, Conversation: 1, Time: 1000, Text: []byte("token count")},
		{ID: 12, Conversation: 1, Time: 2000, Flags: 1, Text: []byte("the tool's own output")},
		{ID: 13, Conversation: 1, Time: 3000, Text: []byte("it is silver")},
		{ID: 14, Conversation: 1, Time: 9_000_000, Text: []byte("unrelated")},
	}
	for size := 1; size <= len(docs); size++ {
		res := newLibrary(t, docs, size).search(t, "zeppelin", search.Request{Filter: search.Filter{Hidden: func(id int64) bool { return id == 11 }, Without: 1}})
		want := []search.Hit{{ID: 10, Matched: true}, {ID: 13, NextTo: []int64{10}}}
		ignored := cmpopts.IgnoreFields(search.Hit{}, "Conversation", "Time", "Session", "Turn", "Score", "Rank", "Role")
		if diff := cmp.Diff(want, res.Hits, ignored, ofRanking); diff != "" {
			t.Errorf("%d documents a segment: %s", size, diff)
		}
	}
}

func ExampleIndex_Search() {
	ctx := context.Background()
	texts := map[int64]string{
		1: "We chose SQLite for the embedded store.",
		2: "Lunch was good today.",
		3: "The store keeps every message; its index is in segments.",
	}
	b := segment.NewBuilder(segment.Options{})
	for id := int64(1); id <= 3; id++ {
		if err := b.Add(segment.Doc{ID: id, Conversation: 7, Time: id * 3_600_000, Text: []byte(texts[id])}); err != nil {
			fmt.Println(err)
			return
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		fmt.Println(err)
		return
	}
	seg, err := sealed.Segment(ctx) // or segment.Open, once the sections are stored
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := search.ParseQuery("Which store did we choose?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fetch := func(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
		for _, id := range ids {
			if !yield(id, []byte(texts[id])) {
				break
			}
		}
		return nil
	}
	res, err := search.Index{Segments: []*segment.Segment{seg}}.Search(ctx, search.Request{Query: q}, fetch)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range res.Hits {
		fmt.Println(h.ID, texts[h.ID])
	}
	// Output:
	// 1 We chose SQLite for the embedded store.
	// 3 The store keeps every message; its index is in segments.
}

// A search up to an id answers as if nothing had been added since, scores
// included, however the documents lie in segments.
func TestThrough(t *testing.T) {
	docs := grepDocs(2000)
	for _, size := range []int{300, 2000} {
		l := newLibrary(t, docs, size)
		for _, n := range []int{1, 299, 300, 1234} {
			then := newLibrary(t, docs[:n], n)
			for _, conversations := range [][]int64{nil, {2, 4}} {
				for _, sort := range []search.Sort{search.ByRelevance, search.ByRecency} {
					req := search.Request{Sort: sort, Filter: search.Filter{Conversations: conversations}}
					want := then.search(t, "return error server", req)
					req.Filter.Through = docs[n-1].ID
					got := l.search(t, "return error server", req)
					if diff := cmp.Diff(want.Hits, got.Hits, cmpopts.EquateApprox(1e-9, 0), ofRanking); diff != "" {
						t.Fatalf("%d documents in segments of %d, sort %d: %s", n, size, sort, diff)
					}
				}
			}
		}
	}
}

// By recency a limit is filled however many candidates have to be read.
func TestRecencyReadsOn(t *testing.T) {
	var lines []string
	for i := range 3000 {
		if i < 700 {
			lines = append(lines, "the red fox")
		} else {
			lines = append(lines, "the fox is red")
		}
	}
	l := shelf(t, lines...)
	for limit, want := range map[int]int{5: 5, 650: 650, 1000: 700} {
		res := l.search(t, `"red fox"`, search.Request{Sort: search.ByRecency, Limit: limit})
		if len(res.Hits) != want || res.Hits[0].ID != 700 || res.Hits[want-1].ID != int64(701-want) {
			t.Errorf("limit %d: %d hits", limit, len(res.Hits))
		}
		if !res.AtLeast && res.Matched != 700 || res.Matched < want || res.Matched > 700 {
			t.Errorf("limit %d: %d matched (at least: %v)", limit, res.Matched, res.AtLeast)
		}
	}
	res := l.search(t, "fox", search.Request{Sort: search.ByRecency, Limit: 10, Below: 42})
	if len(res.Hits) != 10 || res.Hits[0].ID != 41 || res.Hits[9].ID != 32 {
		t.Errorf("below 42: %+v", res.Hits)
	}
}
