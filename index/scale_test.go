package index_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/index"
	"github.com/lossless-context/lcm/index/internal/corpus"
)

// scaleDocs is the number of documents that TestScale measures with:
//
//	go test ./index -run TestScale -v -scale 1000000
var scaleDocs = flag.Int("scale", 0, "documents in TestScale; 0 skips it")

// TestScale prints what building and searching cost. It asserts nothing about
// time, which depends on the machine.
func TestScale(t *testing.T) {
	if *scaleDocs == 0 {
		t.Skip("measures only with -scale N")
	}
	db := openScale(t, *scaleDocs)
	ix := index.Index{Segments: db.segments}
	source := corpus.New(1, 1)
	common, middling, rare := source.Word(3), source.Word(900), source.Word(30_000)
	words := fmt.Sprint("where did ", source.Word(200), " ", source.Word(2500), " ", source.Word(60), " ", source.Word(9000), " ", source.Word(700), " ", source.Word(15000))
	one := index.Filter{Conversations: []int64{max(1, int64(*scaleDocs/1000))}}
	for _, c := range []struct {
		name, query string
		filter      index.Filter
		sort        index.Sort
	}{
		{"selective word", rare, index.Filter{}, index.ByRelevance},
		{"middling word", middling, index.Filter{}, index.ByRelevance},
		{"common word", common, index.Filter{}, index.ByRelevance},
		{"common word, recency", common, index.Filter{}, index.ByRecency},
		{"common word, role", common, index.Filter{Roles: []uint8{2}}, index.ByRelevance},
		{"phrase", fmt.Sprintf("%q", source.Word(80)+" "+source.Word(120)), index.Filter{}, index.ByRelevance},
		{"han", "丁丂", index.Filter{}, index.ByRelevance},
		{"six words", words, index.Filter{}, index.ByRelevance},
		{"six words, one conversation", words, one, index.ByRelevance},
		{"common word, one conversation", common, one, index.ByRelevance},
		{"prefix", rare[:4] + "*", index.Filter{}, index.ByRelevance},
	} {
		q, err := index.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		var res index.Result
		measure(t, c.name, func() string {
			res, err = ix.Search(t.Context(), index.Request{Query: q, Filter: c.filter, Sort: c.sort, Limit: 50}, db.fetch)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d hits of %d (at least: %v), newest %v, %d texts, %d KB of index", len(res.Hits), res.Matched, res.AtLeast, res.Newest, res.Verified, res.Read>>10)
		})
	}
	for _, expr := range []string{rare, `(?i)` + rare, `call_0000[0-9a-f]+`, `src/` + source.Word(5000) + `/\w+\.go`, source.Word(9000) + "|" + source.Word(12000), middling + ` ` + source.Word(40), `丁丂.`} {
		p, err := index.ParsePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		measure(t, "regex "+expr, func() string {
			res, err := ix.Grep(t.Context(), index.GrepRequest{Pattern: p}, db.fetch, func(int64, []byte) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d hits, %d read, %d KB of index", res.Matched, res.Read, res.IndexBytes>>10)
		})
	}
}

func measure(t *testing.T, name string, run func() string) {
	t.Helper()
	var times []time.Duration
	var note string
	for range 15 {
		start := time.Now()
		note = run()
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	t.Logf("%-34s p50 %8.2f ms  p95 %8.2f ms  %s", name, ms(times[7]), ms(times[14]), note)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// scaleDB is texts and segments in memory or in a table.
type scaleDB struct {
	texts    [][]byte
	segments []*index.Segment
}

func (db *scaleDB) fetch(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
	for _, id := range ids {
		if !yield(id, db.texts[id-1]) {
			return nil
		}
	}
	return nil
}

func openScale(t *testing.T, n int) *scaleDB {
	t.Helper()
	db := &scaleDB{}
	source := corpus.New(1, n/1000)
	var docs []index.Doc
	raw := int64(0)
	var build, merge time.Duration
	infos := func() (out []index.Info) {
		for _, s := range db.segments {
			out = append(out, s.Info())
		}
		return out
	}
	for i := range n {
		d := source.Next()
		raw += int64(len(d.Text))
		db.texts = append(db.texts, d.Text)
		docs = append(docs, d)
		if len(docs) < index.SealDocs && i+1 < n {
			continue
		}
		start := time.Now()
		b := index.NewBuilder(index.Options{Docs: index.SealDocs})
		for _, d := range docs {
			if err := b.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		sealed, err := b.Seal()
		if err != nil {
			t.Fatal(err)
		}
		db.segments = append(db.segments, open(t, sealed))
		build += time.Since(start)
		docs = docs[:0]
		start = time.Now()
		for from, to, ok := index.PlanMerge(infos()); ok; from, to, ok = index.PlanMerge(infos()) {
			sealed, err := index.Merge(t.Context(), db.segments[from:to])
			if err != nil {
				t.Fatal(err)
			}
			db.segments = slices.Replace(db.segments, from, to, open(t, sealed))
		}
		merge += time.Since(start)
	}
	var sum index.Info
	for _, s := range db.segments {
		sum.WordBytes += s.Info().WordBytes
		sum.GramBytes += s.Info().GramBytes
		sum.DocBytes += s.Info().DocBytes
	}
	share := func(b int64) float64 { return 100 * float64(b) / float64(raw) }
	t.Logf("%d documents, %d MB, %d segments; build %.1f µs + merge %.1f µs a document; words %.1f %%, trigrams %.1f %%, documents %.1f %% of the text",
		n, raw>>20, len(db.segments), float64(build.Microseconds())/float64(n), float64(merge.Microseconds())/float64(n),
		share(sum.WordBytes), share(sum.GramBytes), share(sum.DocBytes))
	return db
}

func open(t *testing.T, s index.Sealed) *index.Segment {
	t.Helper()
	seg, err := s.Segment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seg
}
