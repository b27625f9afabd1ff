// Package tiktoken counts tokens exactly as OpenAI's models do. Its counters
// implement [llms.Counter].
//
//	counter, err := tiktoken.New(tiktoken.O200k)
//	if err != nil {
//		return err
//	}
//	n := counter.Count("hello world") // 2
//
// It counts a few megabytes a second, where [llms.Estimate] counts hundreds. Use
// it where an exact count for an OpenAI model is worth the time. For models of
// other providers it is only another estimate: they do not publish their
// tokenizers.
//
// testdata/error.txt records the error of [llms.Estimate] against this package
// by kind of text. The costs that the estimate uses for scripts other than
// Latin, and its rules for random text, were fitted to the same small corpus:
// expect larger errors on other texts.
package tiktoken

import (
	"embed"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/llms"
)

// The encodings that New knows.
const (
	O200k  = "o200k"  // GPT-4o and later; the default
	CL100k = "cl100k" // GPT-4 and GPT-3.5
)

// The patterns split a text into pieces. No token crosses the end of a piece.
const (
	o200kPattern  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	cl100kPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// vocabularies holds a file for each encoding: its tokens by rank, each after a
// byte with its length, compressed with zstd. The tests compare them with those
// of the tokenizer module, or write them with -update. The module itself is not
// linked: it holds them in Go maps, which add 10 MB to a binary.
//
//go:embed vocab/*.zst
var vocabularies embed.FS

var encodings = map[string]func() (counter, error){
	O200k:  sync.OnceValues(func() (counter, error) { return load(O200k, o200kPattern) }),
	CL100k: sync.OnceValues(func() (counter, error) { return load(CL100k, cl100kPattern) }),
}

// New returns the counter of an encoding, O200k if the name is empty. It is
// safe for concurrent use.
func New(encoding string) (llms.Counter, error) {
	name := encoding
	switch encoding {
	case "", "o200k_base":
		name = O200k
	case "cl100k_base":
		name = CL100k
	}
	open, ok := encodings[name]
	if !ok {
		return nil, fmt.Errorf("tiktoken: unknown encoding %q: it must be %s or %s", encoding, O200k, CL100k)
	}
	c, err := open()
	if err != nil {
		return nil, fmt.Errorf("tiktoken: load %s: %w", name, err)
	}
	return c, nil
}

type counter struct {
	vocabulary vocabulary
	pieces     *regexp2.Regexp
}

func load(name, pattern string) (counter, error) {
	pieces, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return counter{}, err
	}
	packed, err := vocabularies.ReadFile("vocab/" + name + ".zst")
	if err != nil {
		return counter{}, err
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		return counter{}, err
	}
	defer r.Close()
	unpacked, err := r.DecodeAll(packed, nil)
	if err != nil {
		return counter{}, err
	}
	v := make(vocabulary, len(unpacked)/8)
	for tokens := string(unpacked); tokens != ""; {
		n := 1 + int(tokens[0])
		v[tokens[1:n]] = uint32(len(v))
		tokens = tokens[n:]
	}
	return counter{v, pieces}, nil
}

// count counts the tokens of one chunk.
func (c counter) count(text string) (int, error) {
	total := 0
	m, err := c.pieces.FindStringMatch(text)
	for m != nil && err == nil {
		total += c.vocabulary.count(m.String())
		m, err = c.pieces.FindNextMatch(m)
	}
	return total, err
}

// chunk is the most text that is tokenised at once. regexp2 copies a text into
// runes, and an unbroken run of characters becomes one heap of its bytes. Cutting
// a long text keeps the time linear and the memory small. A cut costs at most one
// token.
const chunk = 8 << 10

// Count counts the tokens of a text of any length in time linear in it.
func (c counter) Count(text string) int {
	total := 0
	for len(text) > 0 {
		n := cut(text)
		count, err := c.count(text[:n])
		if err != nil {
			// regexp2 fails only where its own limits are exceeded. An estimate
			// is better than no count.
			count = llms.Estimate.Count(text[:n])
		}
		total += count
		text = text[n:]
	}
	return total
}

// cut returns where to end the next chunk: the whole text if it is short
// enough, else before the last space in the chunk's second half, where no
// token ends differently, else between two characters.
func cut(text string) int {
	if len(text) <= chunk {
		return len(text)
	}
	for i := chunk; i > chunk/2; i-- {
		if i+1 < len(text) && text[i] == ' ' && isWordByte(text[i-1]) && isWordByte(text[i+1]) {
			return i
		}
	}
	for i := chunk; i > chunk-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return chunk
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
