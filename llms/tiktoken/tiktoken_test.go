package tiktoken

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/tiktoken-go/tokenizer"

	"github.com/lossless-context/lcm/llms"
)

var update = flag.Bool("update", false, "rewrite testdata/error.txt and the vocabularies")

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
		{"cl100k", "\t\n\t\n", 1},
	} {
		if got := newCounter(t, tt.encoding).Count(tt.text); got != tt.want {
			t.Errorf("%s: Count(%q) = %d, want %d", tt.encoding, tt.text, got, tt.want)
		}
	}
	if _, err := New("p50k"); err == nil {
		t.Error("an unknown encoding gave no error")
	}
}

var modules = map[string]tokenizer.Encoding{O200k: tokenizer.O200kBase, CL100k: tokenizer.Cl100kBase}

func module(t testing.TB, encoding string) tokenizer.Codec {
	t.Helper()
	c, err := tokenizer.Get(modules[encoding])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVocabularies(t *testing.T) {
	for encoding, size := range map[string]int{O200k: 199_998, CL100k: 100_256} {
		c := module(t, encoding)
		want := make(vocabulary, size)
		var tokens []byte
		for rank := range size {
			token, err := c.Decode([]uint{uint(rank)})
			if err != nil || len(token) > 255 {
				t.Fatalf("%s: token %d: %q, %v", encoding, rank, token, err)
			}
			want[token] = uint32(rank)
			tokens = append(append(tokens, byte(len(token))), token...)
		}
		if *update {
			w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("vocab/"+encoding+".zst", w.EncodeAll(tokens, nil), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := newCounter(t, encoding).(counter).vocabulary; !maps.Equal(got, want) {
			t.Errorf("%s differs from the vocabulary of the module: run with -update", encoding)
		}
	}
}

// TestCountsLikeTheModule compares the counts with those of the tokenizer
// module, also on pieces of every length around the one where the algorithm
// changes. It leaves out mixed white space: the module ends a piece at the first
// line break, and so misses the tokens that cross one (TestCount has a case).
func TestCountsLikeTheModule(t *testing.T) {
	var texts []string
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text[:cut(string(text))]))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"ab", "abcdefghijklmnopqrstuvwxyz", "aAbB0+/=", "好的我你", "\x80\xff\xc3é", " ", "\n"} {
		for _, n := range []int{1, 2, 3, 50, 98, 99, 100, 101, 102, 500, 4000} {
			text := make([]byte, n)
			for i := range text {
				text[i] = alphabet[random.IntN(len(alphabet))]
			}
			texts = append(texts, string(text))
		}
	}
	for encoding := range modules {
		c, want := newCounter(t, encoding), module(t, encoding)
		for _, text := range texts {
			if n, err := want.Count(text); err != nil || c.Count(text) != n {
				t.Errorf("%s: %d tokens, want %d (%v) in %.60q", encoding, c.Count(text), n, err, text)
			}
		}
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
