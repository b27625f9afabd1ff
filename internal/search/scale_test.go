package search_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/internal/corpus"
	"github.com/lossless-context/lcm/internal/search/segment"
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
	ix := search.Index{Segments: db.segments}
	source := corpus.New(1, 1)
	common, middling, rare := source.Word(3), source.Word(900), source.Word(30_000)
	words := fmt.Sprint("where did ", source.Word(200), " ", source.Word(2500), " ", source.Word(60), " ", source.Word(9000), " ", source.Word(700), " ", source.Word(15000))
	one := search.Filter{Conversations: []int64{max(1, int64(*scaleDocs/1000))}}
	for _, c := range []struct {
		name, query string
		filter      search.Filter
		sort        search.Sort
	}{
		{"selective word", rare, search.Filter{}, search.ByRelevance},
		{"middling word", middling, search.Filter{}, search.ByRelevance},
		{"common word", common, search.Filter{}, search.ByRelevance},
		{"common word, recency", common, search.Filter{}, search.ByRecency},
		{"common word, role", common, search.Filter{Roles: []uint8{2}}, search.ByRelevance},
		{"common word, flags", common, search.Filter{Without: 1}, search.ByRelevance},
		{"phrase", fmt.Sprintf("%q", source.Word(80)+" "+source.Word(120)), search.Filter{}, search.ByRelevance},
		{"han", "丁丂", search.Filter{}, search.ByRelevance},
		{"six words", words, search.Filter{}, search.ByRelevance},
		{"six words, one conversation", words, one, search.ByRelevance},
		{"common word, one conversation", common, one, search.ByRelevance},
		{"prefix", rare[:4] + "*", search.Filter{}, search.ByRelevance},
	} {
		q, err := search.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		var res search.Result
		measure(t, c.name, func() string {
			res, err = ix.Search(t.Context(), search.Request{Query: q, Filter: c.filter, Sort: c.sort, Limit: 50}, db.fetch)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d hits of %d (at least: %v), newest %v, %d texts, %d KB of index", len(res.Hits), res.Matched, res.AtLeast, res.Newest, res.Verified, res.Read>>10)
		})
	}
	for _, expr := range []string{rare, `(?i)` + rare, `call_0000[0-9a-f]+`, `src/` + source.Word(5000) + `/\w+\.go`, source.Word(9000) + "|" + source.Word(12000), middling + ` ` + source.Word(40), `丁丂.`} {
		p, err := search.ParsePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		measure(t, "regex "+expr, func() string {
			res, err := ix.Grep(t.Context(), search.GrepRequest{Pattern: p}, db.fetch, func(int64) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d hits, %d read, %d KB of index", res.Matched, res.Read, res.IndexBytes>>10)
		})
		start, n := time.Now(), 0
		db.must(p.Stream(t.Context(), db.all, func(int64, []byte) bool {
			n++
			return true
		}))
		t.Logf("%-34s scan %.2f ms, %d hits", "", ms(time.Since(start)), n)
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

// scaleDB is texts and segments in an SQLite database, as a store keeps them.
type scaleDB struct {
	t        testing.TB
	conn     *sqlite3.Conn
	section  *sqlite3.Stmt
	text     *sqlite3.Stmt
	cache    *cache
	segments []*segment.Segment
	last     int64
}

func (db *scaleDB) fetch(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
	ids = slices.Sorted(slices.Values(ids))
	for len(ids) > 0 {
		// Neighbours come in one pass over the table.
		run := 1
		for run < len(ids) && ids[run] == ids[run-1]+1 {
			run++
		}
		db.must(db.text.BindInt64(1, ids[0]), db.text.BindInt64(2, ids[run-1]))
		more := true
		for more && db.text.Step() {
			more = yield(db.text.ColumnInt64(0), db.text.ColumnRawBlob(1))
		}
		if err := errors.Join(db.text.Err(), db.text.Reset()); err != nil || !more {
			return err
		}
		ids = ids[run:]
	}
	return nil
}

// all reads every text.
func (db *scaleDB) all(yield func(int64, []byte) bool) error {
	stmt := db.prepare("SELECT id, text FROM message ORDER BY id DESC")
	for stmt.Step() && yield(stmt.ColumnInt64(0), stmt.ColumnRawBlob(1)) {
	}
	return errors.Join(stmt.Err(), stmt.Close())
}

// Get reads one section.
func (db *scaleDB) Get(_ context.Context, segment, section int64) ([]byte, error) {
	db.must(db.section.BindInt64(1, segment), db.section.BindInt64(2, section))
	var b []byte
	if db.section.Step() {
		b = db.section.ColumnBlob(0, nil)
	}
	return b, errors.Join(db.section.Err(), db.section.Reset())
}

func (db *scaleDB) must(errs ...error) {
	db.t.Helper()
	if err := errors.Join(errs...); err != nil {
		db.t.Fatal(err)
	}
}

func (db *scaleDB) prepare(sql string) *sqlite3.Stmt {
	db.t.Helper()
	stmt, _, err := db.conn.Prepare(sql)
	db.must(err)
	return stmt
}

func (db *scaleDB) put(sealed segment.Sealed) *segment.Segment {
	db.t.Helper()
	db.last++
	insert := db.prepare("INSERT INTO section VALUES (?, ?, ?)")
	for n, b := range sealed.Sections {
		db.must(insert.BindInt64(1, db.last), insert.BindInt64(2, int64(n)), insert.BindBlob(3, b), insert.Exec())
	}
	db.must(insert.Close())
	seg, err := segment.Open(db.t.Context(), db.cache, db.last)
	db.must(err)
	return seg
}

func (db *scaleDB) infos() (out []segment.Info) {
	for _, s := range db.segments {
		out = append(out, s.Info())
	}
	return out
}

// seal indexes documents and merges what is due.
func (db *scaleDB) seal(docs []segment.Doc) (build, merge time.Duration) {
	db.t.Helper()
	start := time.Now()
	sealed, err := segment.Build(db.t.Context(), docs, segment.Options{})
	db.must(err)
	build = time.Since(start)
	db.segments = append(db.segments, db.put(sealed))
	for from, to, ok := segment.PlanMerge(db.infos()); ok; from, to, ok = segment.PlanMerge(db.infos()) {
		start := time.Now()
		sealed, err := segment.Merge(db.t.Context(), db.segments[from:to])
		db.must(err)
		merge += time.Since(start)
		for _, s := range db.segments[from:to] {
			db.must(db.conn.Exec(fmt.Sprintf("DELETE FROM section WHERE segment = %d", s.ID())))
		}
		db.segments = slices.Replace(db.segments, from, to, db.put(sealed))
	}
	return build, merge
}

func openScale(t testing.TB, n int) *scaleDB {
	t.Helper()
	db := &scaleDB{t: t}
	db.cache = newCache(db, 32<<20)
	var err error
	db.conn, err = sqlite3.OpenContext(t.Context(), t.TempDir()+"/scale.db")
	db.must(err)
	t.Cleanup(func() { db.must(db.section.Close(), db.text.Close(), db.conn.Close()) })
	db.must(db.conn.Exec(`PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -65536;
		CREATE TABLE message (id INTEGER PRIMARY KEY, text BLOB);
		CREATE TABLE section (segment INTEGER, section INTEGER, data BLOB, PRIMARY KEY (segment, section)) WITHOUT ROWID;
		BEGIN`))
	db.section = db.prepare("SELECT data FROM section WHERE segment = ? AND section = ?")
	db.text = db.prepare("SELECT id, text FROM message WHERE id BETWEEN ? AND ?")
	insert := db.prepare("INSERT INTO message VALUES (?, ?)")
	source := corpus.New(1, n/1000)
	var docs []segment.Doc
	var raw int64
	var build, merge time.Duration
	for i := range n {
		d := source.Next()
		if i%50 == 0 {
			d.Flags = 1
		}
		raw += int64(len(d.Text))
		db.must(insert.BindInt64(1, d.ID), insert.BindBlob(2, d.Text), insert.Exec())
		if docs = append(docs, d); len(docs) == segment.SealDocs || i+1 == n {
			b, m := db.seal(docs)
			build, merge, docs = build+b, merge+m, docs[:0]
		}
	}
	db.must(insert.Close(), db.conn.Exec("COMMIT"))
	var sum segment.Info
	for _, i := range db.infos() {
		sum.WordBytes, sum.GramBytes, sum.DocBytes = sum.WordBytes+i.WordBytes, sum.GramBytes+i.GramBytes, sum.DocBytes+i.DocBytes
	}
	share := func(b int64) float64 { return 100 * float64(b) / float64(raw) }
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	t.Logf("%d documents, %d MB, %d segments; build %.1f µs + merge %.1f µs a document; words %.1f %%, trigrams %.1f %%, documents %.1f %% of the text",
		n, raw>>20, len(db.segments), each(build), each(merge), share(sum.WordBytes), share(sum.GramBytes), share(sum.DocBytes))
	return db
}
