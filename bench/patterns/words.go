package patterns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
)

// WordQuery is a ranked search, as lcm and as FTS5 read it.
type WordQuery struct{ Query, FTS5 string }

// wordKinds are the kinds of query, with three queries of each.
var wordKinds = []struct {
	kind    string
	queries []WordQuery
}{
	{"rare word", []WordQuery{{"starvation", "starvation"}, {"Khitan", "khitan"}, {"Zanabazar", "zanabazar"}}},
	{"word", []WordQuery{{"deadlock", "deadlock"}, {"goroutine", "goroutine"}, {"retry", "retry"}}},
	{"common word", []WordQuery{{"error", "error"}, {"return", "return"}, {"string", "string"}}},
	{"question", []WordQuery{
		{"why did the scheduler stop the goroutine while the lock was held for a long time?", "scheduler OR stop OR goroutine OR lock OR held OR long OR time"},
		{"which header does the client send when the connection is closed by the server?", "header OR client OR send OR connection OR closed OR server"},
		{"how are certificates verified when the root store of the system is empty?", "certificates OR verified OR root OR store OR system OR empty"},
	}},
	{"phrase", []WordQuery{{`"data race"`, `"data race"`}, {`"connection refused"`, `"connection refused"`}, {`"garbage collector"`, `"garbage collector"`}}},
	{"common phrase", []WordQuery{{`"it is not"`, `"it is not"`}, {`"the same"`, `"the same"`}, {`"if err"`, `"if err"`}}},
	{"identifier", []WordQuery{{"runtime_procPin", `"runtime procpin"`}, {"context.Context", `"context context"`}, {"fd_unix.go", `"fd unix go"`}}},
}

// WordRow is the mean outcome for the queries of a kind. Times are processor
// times in milliseconds.
type WordRow struct {
	Kind      string
	Matched   int // messages that lcm matches, of all queries
	LCM, FTS5 float64
}

// The target: a ranked search takes at most so many times as long as FTS5, or so
// many milliseconds if that is more.
const (
	wordRatio = 1.5
	wordLeast = 10
)

func (r WordRow) within() bool { return r.LCM <= max(wordLeast, wordRatio*r.FTS5) }

// WordReport is the outcome of MeasureWords.
type WordReport struct {
	Machine  harness.Machine
	Messages int64
	Rows     []WordRow
}

// Checks sets the report beside its target.
func (r WordReport) Checks() []harness.Check {
	within := 0.0
	for _, row := range r.Rows {
		if row.within() {
			within++
		}
	}
	what := fmt.Sprintf("kinds of query within %d ms or %g × FTS5", wordLeast, wordRatio)
	return []harness.Check{harness.AtLeast(what, within, float64(len(r.Rows)))}
}

// Text is the report for people.
func (r WordReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages; %s, %d cores, load %s; processor time in ms, mean of three queries\n", r.Messages, r.Machine.CPU, r.Machine.Cores, r.Machine.Load)
	fmt.Fprintf(&b, "\n%-16s %9s %9s %9s %9s\n", "", "messages", "lcm", "FTS5", "lcm/FTS5")
	for _, row := range r.Rows {
		mark := ""
		if !row.within() {
			mark = " !"
		}
		fmt.Fprintf(&b, "%-16s %9d %9.1f %9.1f %9.2f%s\n", row.Kind, row.Matched, row.LCM, row.FTS5, row.LCM/row.FTS5, mark)
	}
	b.WriteString("\n")
	harness.WriteChecks(&b, r.Checks(), 60)
	return b.String()
}

// MeasureWords makes the corpus and a table of FTS5 with the same texts, if they
// are not there, and measures a page of each ranked search in both.
func MeasureWords(ctx context.Context, o Options) (r WordReport, err error) {
	b, err := o.open(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.record.Close(ctx)) }()
	table, err := b.openFTS5(ctx)
	if err != nil {
		return r, fmt.Errorf("make the table of FTS5: %w", err)
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	if r.Machine, err = harness.ThisMachine(); err != nil {
		return r, err
	}
	stats, err := b.record.DB.Stats(ctx)
	if err != nil {
		return r, err
	}
	r.Messages = stats.Messages
	for i, k := range wordKinds {
		b.Progress.Tell(int64(i), int64(len(wordKinds)), "queries")
		row := WordRow{Kind: k.kind}
		for _, q := range k.queries {
			var lcm, peer float64
			matched := 0
			for range max(1, b.Runs) {
				before := harness.CPUTime()
				found, err := b.record.DB.Search(ctx, store.Search{Mode: store.FullText, Pattern: q.Query, Limit: pageHits})
				if err != nil {
					return r, fmt.Errorf("%s: %w", q.Query, err)
				}
				least(&lcm, harness.CPUTime()-before)
				before = harness.CPUTime()
				if err := pageFTS5(table, q.FTS5); err != nil {
					return r, fmt.Errorf("FTS5: %s: %w", q.FTS5, err)
				}
				least(&peer, harness.CPUTime()-before)
				matched = found.Matched
			}
			row.Matched += matched
			row.LCM += lcm / float64(len(k.queries))
			row.FTS5 += peer / float64(len(k.queries))
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// openFTS5 opens the table, and fills it from the file of texts if it is new.
func (b *bench) openFTS5(ctx context.Context) (*sqlite3.Conn, error) {
	path := filepath.Join(b.Dir, "fts5.db")
	_, missing := os.Stat(path)
	if missing != nil {
		if err := b.fillFTS5(ctx, path+".part"); err != nil {
			return nil, err
		}
		if err := os.Rename(path+".part", path); err != nil {
			return nil, err
		}
	}
	return connectFTS5(ctx, path)
}

func connectFTS5(ctx context.Context, path string) (*sqlite3.Conn, error) {
	c, err := sqlite3.OpenContext(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(fts5.Register(c), c.Exec(`PRAGMA temp_store=MEMORY`))
}

func (b *bench) fillFTS5(ctx context.Context, path string) (err error) {
	c, err := connectFTS5(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(body, content='', tokenize='porter unicode61'); BEGIN`); err != nil {
		return err
	}
	insert, _, err := c.Prepare(`INSERT INTO text (rowid, body) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	n := int64(0)
	for text, err := range b.texts() {
		if err != nil {
			return err
		}
		n++
		if err := errors.Join(insert.BindInt64(1, n), insert.BindRawText(2, text), insert.Exec()); err != nil {
			return err
		}
		if n%1000 == 0 {
			b.Progress.Tell(n, int64(b.Messages), "messages for FTS5")
		}
	}
	return c.Exec(`INSERT INTO text (text) VALUES ('optimize'); COMMIT`)
}

// pageFTS5 reads the ids of the best matches, in order of bm25.
func pageFTS5(c *sqlite3.Conn, match string) (err error) {
	s, _, err := c.Prepare(`SELECT rowid FROM text WHERE text MATCH ? ORDER BY rank LIMIT 20`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.BindText(1, match); err != nil {
		return err
	}
	for s.Step() {
		_ = s.ColumnInt64(0)
	}
	return s.Err()
}
