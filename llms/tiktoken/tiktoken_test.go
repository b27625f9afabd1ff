package tiktoken

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/lossless-context/lcm/llms"
)

var update = flag.Bool("update", false, "write testdata/error.txt anew")

func newCounter(t testing.TB, encoding string) llms.Counter {
	t.Helper()
	c, err := New(encoding)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The estimate may be this far from the tokenizer on any text of the corpus,
// in percent: too low makes a request fail, too high only wastes room.
const (
	tooLow  = -5.0
	tooHigh = 15.0
)

func TestEstimateError(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	counter := newCounter(t, "")
	var table strings.Builder
	table.WriteString("The error of llms.Estimate against o200k: over each text of the corpus, and in\nthe kilobyte of it where the error is largest.\n\n")
	fmt.Fprintf(&table, "%-12s %7s %7s %9s %8s %8s\n", "text", "bytes", "o200k", "estimate", "error", "worst kB")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		exact, guess, off := estimateError(counter, string(text))
		worst := worstWindow(counter, string(text))
		fmt.Fprintf(&table, "%-12s %7d %7d %9d %+7.1f%% %+7.1f%%\n", name, len(text), exact, guess, off, worst)
		if off < tooLow || off > tooHigh {
			t.Errorf("%s: the estimate is off by %+.1f %%, want %+.0f to %+.0f", name, off, tooLow, tooHigh)
		}
	}
	const golden = "testdata/error.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), table.String()); diff != "" {
		t.Errorf("the recorded errors differ; run with -update if that is meant (-recorded +now):\n%s", diff)
	}
}

// estimateError returns both counts and the error of the estimate in percent.
func estimateError(c llms.Counter, text string) (exact, guess int, off float64) {
	exact, guess = c.Count(text), llms.Estimate.Count(text)
	return exact, guess, 100 * float64(guess-exact) / float64(exact)
}

// worstWindow returns the largest error over the whole kilobytes of a text.
func worstWindow(c llms.Counter, text string) (worst float64) {
	for len(text) > 900 {
		n := min(1000, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		if _, _, off := estimateError(c, text[:n]); math.Abs(off) > math.Abs(worst) {
			worst = off
		}
		text = text[n:]
	}
	return worst
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		encoding, text string
		want           int
	}{
		{"", "", 0},
		{"", "hello world", 2},
		{"o200k", "The quick brown fox jumps over the lazy dog.", 10},
		{"cl100k", "tiktoken is great!", 6},
		{"", "\xff\x00", 2},
	} {
		if got := newCounter(t, tt.encoding).Count(tt.text); got != tt.want {
			t.Errorf("%s: Count(%q) = %d, want %d", tt.encoding, tt.text, got, tt.want)
		}
	}
	if _, err := New("p50k"); err == nil {
		t.Error("an unknown encoding gave no error")
	}
}

func TestChunksChangeLittle(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus/prose.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := newCounter(t, "")
	const times = 20
	once, many := c.Count(string(text)), c.Count(strings.Repeat(string(text), times))
	if diff := many - times*once; diff < -times || diff > times {
		t.Errorf("%d copies cost %d, one costs %d", times, many, once)
	}
}

func TestLongRunsAreCutBetweenCharacters(t *testing.T) {
	c := newCounter(t, "")
	for _, run := range []string{" ", "a", "\n", "好", "😀", "\x80", "word "} {
		const n = 20_000
		text := strings.Repeat(run, n)
		for rest := text; rest != ""; {
			at := cut(rest)
			if at < 1 || at > chunk {
				t.Fatalf("%q is cut at %d", run, at)
			}
			if rest = rest[at:]; utf8.ValidString(text) && !utf8.ValidString(rest) {
				t.Fatalf("%q is cut inside a character", run)
			}
		}
		// One token for each of them is more than any of these costs but the
		// stray bytes, and the cuts must not add up.
		if got := c.Count(text); got == 0 || got > n+len(text)/chunk+1 {
			t.Errorf("%d of %q cost %d", n, run, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	c := newCounter(t, "")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := c.Count("hello world"); got != 2 {
					t.Errorf("Count = %d, want 2", got)
				}
			}
		})
	}
	wg.Wait()
}

func ExampleNew() {
	counter, err := New(O200k)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(counter.Count("hello world"))
	// Output: 2
}

func BenchmarkCount(b *testing.B) {
	text, err := os.ReadFile("testdata/corpus/prose.txt")
	if err != nil {
		b.Fatal(err)
	}
	c := newCounter(b, "")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Count(string(text))
	}
}
