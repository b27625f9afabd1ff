package patterns

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Options adjust a run.
type Options struct {
	Messages int
	Runs     int      // of each pattern; the fastest counts
	Sources  []string // directories; none: the Go distribution and the module cache
	// Dir is where the database and the file for rg are put; those that are
	// there already are used as they are.
	Dir      string
	Patterns []Pattern // none: List
	// PageOnly leaves out the complete counts and their comparison, which take
	// most of the time.
	PageOnly bool
	Progress harness.Progress
}

// The page that `lcm grep` asks for.
const (
	pageHits  = 20
	pageCount = 1000
)

// conversation is how many messages a conversation has.
const conversation = 3000

// bench is one measurement.
type bench struct {
	Options
	record *harness.Record
	path   string // of the database
	file   string // the same texts, with a NUL byte after each
	rg     string // the program; empty if there is none
}

// open makes the corpus, if it is not there, and opens it.
func (o Options) open(ctx context.Context) (*bench, error) {
	b := &bench{Options: o, path: filepath.Join(o.Dir, "patterns.db"), file: filepath.Join(o.Dir, "patterns.txt")}
	if b.Patterns == nil {
		b.Patterns = List()
	}
	b.rg, _ = exec.LookPath("rg")
	if err := errors.Join(os.MkdirAll(o.Dir, 0o700), b.fill(ctx)); err != nil {
		return nil, fmt.Errorf("make the corpus: %w", err)
	}
	var err error
	b.record, err = harness.Open(ctx, b.path, sqlite.Options{}, lcm.WithoutBackground())
	return b, err
}

// Measure makes the corpus, if it is not there, and measures each pattern.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	b, err := o.open(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.record.Close(ctx)) }()
	if r.Machine, err = harness.ThisMachine(); err != nil {
		return r, err
	}
	stats, err := b.record.DB.Stats(ctx)
	if err != nil {
		return r, err
	}
	info, err := os.Stat(b.file)
	if err != nil {
		return r, err
	}
	r.Messages, r.Bytes, r.Ripgrep = stats.Messages, info.Size(), b.rg != ""
	for i, p := range b.Patterns {
		b.Progress.Tell(int64(i), int64(len(b.Patterns)), "patterns")
		row, err := b.measure(ctx, p)
		if err != nil {
			return r, fmt.Errorf("%s: %w", p.Expr, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// fill writes the database and the file, unless both are there.
func (b *bench) fill(ctx context.Context) (err error) {
	if _, err := os.Stat(b.file); err == nil {
		return nil
	}
	if len(b.Sources) == 0 {
		if b.Sources, err = goDirectories(ctx); err != nil {
			return err
		}
	}
	source, err := newCorpus(b.Sources)
	if err != nil {
		return err
	}
	record, err := harness.Open(ctx, b.path, sqlite.Options{Relaxed: true, DeferIndex: true}, lcm.WithoutBackground())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, record.Close(ctx)) }()
	f, err := os.Create(b.file + ".part")
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	var batch []llms.Message
	for n := range b.Messages {
		m, err := source.next()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\x00", m.SearchText()); err != nil {
			return err
		}
		if batch = append(batch, m); len(batch) < 500 && n+1 < b.Messages {
			continue
		}
		if err := record.Engine.Session(fmt.Sprintf("bench/%d", n/conversation)).Append(ctx, batch...); err != nil {
			return err
		}
		batch = batch[:0]
		b.Progress.Tell(int64(n), int64(b.Messages), "messages")
	}
	b.Progress.Say("index")
	if err := errors.Join(out.Flush(), record.DB.Reindex(ctx)); err != nil {
		return err
	}
	return os.Rename(b.file+".part", b.file)
}

// measure takes the times of a pattern, in turn, and compares the counts.
func (b *bench) measure(ctx context.Context, p Pattern) (Row, error) {
	row := Row{Pattern: p}
	for range max(1, b.Runs) {
		page, took, err := b.search(ctx, p, pageCount)
		if err != nil {
			return row, err
		}
		least(&row.Page, took)
		row.Tier, row.Matched = page.Tier, page.Matched
		if b.rg != "" {
			if row.RgMatched, took, err = b.ripgrep(ctx, p); err != nil {
				return row, err
			}
			least(&row.Rg, took)
		}
		if b.PageOnly {
			continue
		}
		all, took, err := b.search(ctx, p, 1<<40)
		if err != nil {
			return row, err
		}
		least(&row.Count, took)
		row.Matched = all.Matched
		if all.AtLeast || page.Matched != min(pageCount, all.Matched) {
			return row, fmt.Errorf("the page counts %d matches, all are %d (at least: %v)", page.Matched, all.Matched, all.AtLeast)
		}
	}
	if b.PageOnly || b.rg != "" && row.RgMatched == row.Matched {
		return row, nil
	}
	n, err := b.loop(p)
	if err == nil && n != row.Matched {
		err = fmt.Errorf("a search counts %d messages, a loop over all texts %d", row.Matched, n)
	}
	return row, err
}

// least keeps the lesser of two times, in milliseconds.
func least(ms *float64, took time.Duration) {
	if n := harness.Millis(took); *ms == 0 || n < *ms {
		*ms = n
	}
}

func (b *bench) search(ctx context.Context, p Pattern, countTo int) (store.Found, time.Duration, error) {
	before := harness.CPUTime()
	found, err := b.record.DB.Search(ctx, store.Search{Mode: store.Regex, Pattern: p.Expr, Limit: pageHits, CountTo: countTo, Everything: true})
	return found, harness.CPUTime() - before, err
}

// ripgrep counts messages. \w, \d and \b are those of ASCII, as in Go.
func (b *bench) ripgrep(ctx context.Context, p Pattern) (n int, took time.Duration, err error) {
	c := exec.CommandContext(ctx, b.rg, "--no-config", "--no-unicode", "--text", "--null-data", "--count", "--regexp", p.Expr, b.file)
	out, err := c.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 1 {
		out, err = []byte("0"), nil // no match
	}
	if err != nil {
		return 0, 0, fmt.Errorf("rg: %w", err)
	}
	n, err = strconv.Atoi(string(bytes.Trim(out, "\x00\n")))
	return n, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), err
}

// loop counts the messages that match by reading all of them.
func (b *bench) loop(p Pattern) (n int, err error) {
	re, err := regexp.Compile(p.Expr)
	if err != nil {
		return 0, err
	}
	for text, err := range b.texts() {
		if err != nil {
			return 0, err
		}
		if re.Match(text) {
			n++
		}
	}
	return n, nil
}

// texts reads the texts of the file. A text is valid until the next one.
func (b *bench) texts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(b.file)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		texts := bufio.NewScanner(f)
		texts.Buffer(nil, 64<<20)
		texts.Split(func(data []byte, end bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, 0); i >= 0 {
				return i + 1, data[:i], nil
			}
			return 0, nil, nil
		})
		for texts.Scan() {
			if !yield(texts.Bytes(), nil) {
				return
			}
		}
		if err := texts.Err(); err != nil {
			yield(nil, err)
		}
	}
}
