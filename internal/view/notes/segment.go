package notes

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// nextClean returns the first stretch of text[start:end] that holds nothing
// but text: no control characters, no invalid UTF-8, and none of the
// invisible characters that reorder or hide text.
func nextClean(text string, start, end int) (lo, hi int) {
	lo = start
	for lo < end && dirtyLen(text, lo, end) > 0 {
		lo += dirtyLen(text, lo, end)
	}
	hi = lo
	for hi < end && dirtyLen(text, hi, end) == 0 {
		_, n := utf8.DecodeRuneInString(text[hi:end])
		hi += n
	}
	return lo, hi
}

// dirtyLen returns the length of the sequence at i that is not text, zero if it is
// text. An escape sequence of a terminal is one.
func dirtyLen(text string, i, end int) int {
	b := text[i]
	if b == 0x1b && i+1 < end && text[i+1] == '[' {
		j := i + 2
		for j < end && j < i+32 && (isDigit(text[j]) || text[j] == ';' || text[j] == '?') {
			j++
		}
		if j < end && text[j] >= 0x40 && text[j] < 0x7f {
			j++
		}
		return j - i
	}
	if b < ' ' || b == 0x7f {
		return 1
	}
	if b < utf8.RuneSelf {
		return 0
	}
	r, n := utf8.DecodeRuneInString(text[i:end])
	if r == utf8.RuneError && n == 1 || hides(r) {
		return n
	}
	return 0
}

// hides reports characters beyond ASCII that control or disguise text: C1
// controls, line separators, bidirectional overrides, byte-order marks, tags.
func hides(r rune) bool {
	switch {
	case r < 0xa0:
		return r >= 0x80
	case r < 0x200b:
		return r == 0xad || r == 0x61c || r == 0x180e
	case r <= 0x206f:
		return r == 0x200b || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060
	}
	return r == 0xfeff || r >= 0xfff0 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe007f || r == 0xfffe || r == 0xffff
}

// sentenceEnd returns where the sentence that begins at lo ends, at the most hi.
func sentenceEnd(text string, lo, hi int) int {
	for i := lo; i < hi; {
		b := text[i]
		if b < utf8.RuneSelf {
			i++
			if b != '.' && b != '!' && b != '?' {
				continue
			}
			if end, ok := asciiStop(text, lo, i, hi, b); ok {
				return end
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:hi])
		i += n
		if r == '。' || r == '！' || r == '？' || r == '．' || r == '｡' || r == '।' || r == '؟' {
			return closers(text, i, hi)
		}
		if r == '…' {
			if end := closers(text, i, hi); end == hi || text[end] == ' ' {
				return end
			}
		}
	}
	return hi
}

// asciiStop decides whether the mark that ends at i ends a sentence: it must
// be followed by a space, and not belong to an abbreviation or a list number.
func asciiStop(text string, lo, i, hi int, mark byte) (int, bool) {
	for i < hi && strings.IndexByte(".!?", text[i]) >= 0 {
		i++
	}
	end := closers(text, i, hi)
	if end == hi {
		return hi, true
	}
	if text[end] != ' ' {
		r, _ := utf8.DecodeRuneInString(text[end:hi])
		if r < utf8.RuneSelf || r < 0x0e00 && !unicode.IsSpace(r) { // scripts from Thai on have no spaces, or few
			return 0, false
		}
	}
	if mark != '.' {
		return end, true
	}
	next := end
	for next < hi && text[next] == ' ' {
		next++
	}
	if next < hi && isLower(text[next]) {
		return 0, false
	}
	word := i - 1
	for word > lo && (isWordByte(text[word-1]) || text[word-1] == '.') {
		word--
	}
	before := text[word : i-1]
	if word == lo && isDigits(before) || len(before) == 1 && isAlpha(before[0]) || abbreviations[strings.ToLower(before)] {
		return 0, false
	}
	return end, true
}

// closers skips the brackets and quotes that end with the sentence.
func closers(text string, i, hi int) int {
	for i < hi {
		if b := text[i]; b < utf8.RuneSelf {
			if strings.IndexByte(")]}\"'*`_", b) < 0 {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:hi])
		if !strings.ContainsRune("”’»」』）】》", r) {
			return i
		}
		i += n
	}
	return i
}

// bulletLen measures the mark of an item, a heading or a quotation.
func bulletLen(line string) int {
	return len(bulletForm().FindString(line))
}

var bulletForm = lazyregexp.New(`^[ \t]*(?:[-*+>•] |#+ )*`)

var abbreviations = stringSet("e.g i.e etc vs mr mrs ms dr st no fig cf approx ca al inc ltd resp incl z.b d.h bzw usw т.е т.д")
