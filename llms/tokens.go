package llms

import "unicode/utf8"

// Counter counts the tokens of a text. Implementations are safe for
// concurrent use and must return at least 1 for a text that is not empty.
type Counter interface {
	Count(text string) int
}

// Estimate is the default Counter.
var Estimate Counter = Estimator{}

// Estimator estimates what a text costs in OpenAI's o200k encoding, a hundred
// times faster than tokenising it. It cuts the text where that tokenizer's
// pattern does, roughly, and looks up what a piece of that class and length
// costs on average. It leans to counting too much, since a context that is
// over its budget fails and one that is under it only wastes a little; the
// measured error is in llms/tiktoken/testdata/error.txt.
type Estimator struct{}

// The classes of ASCII bytes.
const (
	classOther = iota // control characters, and bytes that are not ASCII
	classLower
	classUpper
	classDigit
	classSymbol
	classSpace // space and tab
	classBreak // newline and carriage return
)

var classes = func() (t [256]uint8) {
	for c := '!'; c <= '~'; c++ {
		t[c] = classSymbol
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = classLower, classUpper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = classDigit
	}
	t[' '], t['\t'], t['\n'], t['\r'] = classSpace, classSpace, classBreak, classBreak
	return t
}()

// Costs are in hundredths of a token.
const unit = 100

// Count returns the estimate for text, at least 1 if it is not empty.
func (Estimator) Count(text string) int {
	sum := 0
	for i := 0; i < len(text); {
		from := i
		switch classes[text[i]] {
		case classLower:
			for i++; i < len(text) && classes[text[i]] == classLower; i++ {
			}
			sum += cost(&wordCost, i-from, wordStep)
		case classUpper:
			for i++; i < len(text) && classes[text[i]] == classUpper; i++ {
			}
			upper := i - from
			for ; i < len(text) && classes[text[i]] == classLower; i++ {
			}
			switch {
			case upper == 1:
				sum += cost(&wordCost, i-from, wordStep)
			case i-from == upper:
				sum += cost(&capsCost, upper, capsStep)
			default:
				sum += cost(&mixedCost, i-from, mixedStep)
			}
		case classDigit:
			for i++; i < len(text) && classes[text[i]] == classDigit; i++ {
			}
			sum += (i - from + 2) / 3 * unit
		case classSymbol:
			for i++; i < len(text) && classes[text[i]] == classSymbol; i++ {
			}
			sum += cost(&symbolCost, i-from, symbolStep)
		case classSpace, classBreak:
			var spent int
			i, spent = blank(text, i)
			sum += spent
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			sum += runeCost(r, size)
			i += size
		}
	}
	if sum == 0 && text != "" {
		return 1
	}
	return (sum + unit - 1) / unit
}

// cost looks up a piece of n bytes; beyond its table a cost grows by step a
// byte.
func cost(table *[16]int, n, step int) int {
	if n < len(table) {
		return table[n]
	}
	return table[len(table)-1] + (n-len(table)+1)*step
}

// blank measures the white space at text[i]: everything up to its last line
// break is one token, or part of the symbols before it; of what follows, the
// last space belongs to the next word and the others are one more token.
func blank(text string, i int) (end, spent int) {
	afterSymbol := i > 0 && classes[text[i-1]] == classSymbol
	rest, broken := i, false
	for end = i; end < len(text); end++ {
		c := classes[text[end]]
		if c == classBreak {
			rest, broken = end+1, true
		} else if c != classSpace {
			break
		}
	}
	if broken && !(afterSymbol && classes[text[i]] == classBreak) {
		spent = unit
	}
	rest = end - rest
	if end < len(text) && classes[text[end]] == classDigit {
		rest++ // a space is never part of a number
	}
	if rest > 1 {
		spent += unit
	}
	return end, spent + (end-i)/64*unit
}

// The average costs of pieces by length, measured on Go sources, English
// documentation and JSON, and on base64 for the mixed ones.
var (
	wordCost   = [16]int{0, 100, 100, 100, 102, 104, 106, 110, 116, 126, 138, 150, 160, 172, 184, 196}
	capsCost   = [16]int{0, 100, 108, 120, 140, 165, 190, 215, 240, 265, 290, 315, 340, 365, 390, 415}
	mixedCost  = [16]int{0, 100, 130, 170, 210, 250, 280, 310, 340, 370, 400, 430, 460, 490, 520, 550}
	symbolCost = [16]int{0, 62, 100, 120, 140, 160, 175, 190, 200, 210, 220, 230, 240, 250, 260, 270}
)

const (
	wordStep   = 24
	capsStep   = 25
	mixedStep  = 30
	symbolStep = 6
)

// runeCost is the cost of a character outside ASCII, or of a byte that is not
// part of one.
func runeCost(r rune, size int) int {
	switch {
	case size == 1: // a control character or a stray byte
		return unit
	case r < 0x250: // Latin with marks
		return 60
	case r < 0x530: // Greek, Cyrillic
		return 36
	case r < 0x1100: // Hebrew, Arabic, Indic, Thai, …
		return 55
	case r >= 0x2000 && r < 0x2070: // dashes, quotation marks
		return 90
	case r < 0x2e80: // symbols
		return 130
	case r >= 0x3000 && r < 0x3040: // CJK punctuation
		return 80
	case r < 0xe000: // CJK
		return 82
	case r < 0x10000:
		return unit
	}
	return 260 // emoji and rare scripts
}

// Costs that do not come from a text: what a message, a call and a result
// take for their ids and punctuation, and what a picture or file takes that
// the provider reads itself.
const (
	messageOverhead = 4
	callOverhead    = 12
	resultOverhead  = 10
	blobTokens      = 1600
	blobBytes       = 64 << 10
)

// CountMessage returns what a message costs as it is sent: its parts as they
// are rendered, 4 tokens for the message, and more for the ids and the
// punctuation of calls and results. An image costs 1,600 whatever its size,
// another file as much for each 64 KiB it begins, and a Ref its line.
func CountMessage(c Counter, m Message) int {
	return messageOverhead + countParts(c, m.Parts, 0)
}

func countParts(c Counter, parts []Part, depth int) (sum int) {
	if depth > maxDepth {
		return 0
	}
	for _, p := range parts {
		sum += c.Count(p.Text)
		if p.Ref != nil {
			sum += c.Count(p.Ref.line())
		}
		if p.Call != nil {
			sum += callOverhead + c.Count(p.Call.Name) + c.Count(p.Call.Arguments)
		}
		if p.Result != nil {
			sum += resultOverhead + c.Count(p.Result.Name) + countParts(c, p.Result.Output, depth+1)
		}
		if p.Blob != nil && p.Ref == nil {
			sum += countBlob(c, p.Blob)
		}
		if p.Kind == PartReasoning && p.Text == "" {
			// Encrypted reasoning: base64 of about as many bytes as the text.
			sum += len(p.Signature) / 5
		}
		if p.Kind == PartOther {
			sum += c.Count(string(p.Extra))
		}
	}
	return sum
}

func countBlob(c Counter, b *Blob) int {
	if s := b.text(); s != "" {
		return c.Count(b.line()) + c.Count(s)
	}
	n := 1
	if len(b.MIME) < 6 || b.MIME[:6] != "image/" {
		n = max(1, (len(b.Data)+blobBytes-1)/blobBytes)
	}
	return n * blobTokens
}
