// Package tiktoken counts tokens with a real tokenizer, the byte-pair
// encodings that OpenAI publishes, behind the port llms.Counter.
//
// It is a package of its own because its tables add about twelve megabytes to
// a binary and it counts some megabytes a second where llms.Estimate counts
// hundreds. Use it where an exact count for an OpenAI model is worth that; for
// other providers' models it is a stand-in too, since they keep their
// tokenizers to themselves.
//
// The error of llms.Estimate against this package, by kind of text, is
// recorded in testdata/error.txt and checked by this package's tests. The
// corpus is small and served to set the estimate's costs for scripts other
// than Latin and its rules for random text, so there the record shows how well
// they fit rather than what to expect of other texts.
package tiktoken

import (
	"fmt"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
	"github.com/tiktoken-go/tokenizer"
)

// The encodings that New knows.
const (
	O200k  = "o200k"  // GPT-4o and later; the default
	CL100k = "cl100k" // GPT-4 and GPT-3.5
)

// New returns the counter of an encoding, O200k if the name is empty. It is
// safe for concurrent use.
func New(encoding string) (llms.Counter, error) {
	var name tokenizer.Encoding
	switch encoding {
	case "", O200k, "o200k_base":
		name = tokenizer.O200kBase
	case CL100k, "cl100k_base":
		name = tokenizer.Cl100kBase
	default:
		return nil, fmt.Errorf("tiktoken: unknown encoding %q: it must be %s or %s", encoding, O200k, CL100k)
	}
	codec, err := tokenizer.Get(name)
	if err != nil {
		return nil, fmt.Errorf("tiktoken: load %s: %w", name, err)
	}
	return counter{codec}, nil
}

type counter struct{ codec tokenizer.Codec }

// chunk is how much text is tokenised at once. The tokenizer spreads a text
// out into runes and an unbroken run of characters into a heap of its bytes,
// so time stays linear and memory small only if a long text comes in pieces.
// A cut costs a token at most.
const chunk = 8 << 10

// Count counts the tokens of a text of any length in time linear in it.
func (c counter) Count(text string) int {
	total := 0
	for len(text) > 0 {
		n := cut(text)
		count, err := c.codec.Count(text[:n])
		if err != nil {
			// The tokenizer gives up only on what its pattern cannot match;
			// the estimate stands in rather than counting nothing.
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
