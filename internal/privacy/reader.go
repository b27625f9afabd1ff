package privacy

import (
	"bytes"
	"encoding/base64"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// reader reads a text as it would be shown, for tags: in lower case, with escapes
// decoded, wide, accented and look-alike characters as plain ones, and without
// invisible ones.
type reader struct {
	text    []byte
	at      int
	width   int // bytes of the last character
	nameEnd int // where the name of the tag ends
}

// What next returns for characters that are not ASCII; 0 is the end.
const (
	other     = 0x80
	invisible = 0xff
)

// next returns the next visible character, in ASCII; every blank is a space.
func (r *reader) next() byte {
	for r.at < len(r.text) {
		c, n := shown(r.text[r.at:], 0)
		if c == 0x1b { // the colours of a terminal
			n += len(controlSequence().Find(r.text[r.at+n : min(len(r.text), r.at+n+32)]))
		}
		r.at, r.width = r.at+n, n
		if c := plain(c); c != invisible {
			return c
		}
	}
	return 0
}

var controlSequence = lazyregexp.New(`^\[[^@-~]*[@-~]`)

// shown returns the character that a text begins with, and its length. The sign that
// begins an escape may be escaped itself, in the same way or another.
func shown(text []byte, level int) (rune, int) {
	if text[0] >= utf8.RuneSelf {
		return utf8.DecodeRune(text)
	}
	c, n := rune(text[0]), 1
	if escapeSigns[c] {
		c, n = unescape(text[:min(len(text), 16)])
	}
	if n > 1 && c < utf8.RuneSelf && escapeSigns[c] && level < maxNesting {
		inner := append([]byte{byte(c)}, text[n:min(len(text), n+16*maxNesting)]...)
		if in, m := shown(inner, level+1); m > 1 {
			return in, n + m - 1
		}
	}
	return c, n
}

var escapeSigns = classOf(`&%\=+`)

// unescape returns the character that an escape at the beginning of a text stands for, and
// the length of the escape: an entity of HTML, or an escape of a URL, a string, a style
// sheet or a mail.
func unescape(text []byte) (rune, int) {
	c, n := rune(text[0]), 1
	if len(text) < 3 {
		return c, n
	}
	switch next := text[1]; {
	case c == '&':
		if end := bytes.IndexAny(text[1:], "&;"); end >= 0 {
			text = text[:end+1+int(text[end+1]&1)] // with the semicolon
		}
		if out := html.UnescapeString(string(text)); len(out) < len(text) {
			r, n := utf8.DecodeRuneInString(out)
			return r, len(text) - len(out) + n
		}
	case c == '+': // UTF-7
		if raw, err := base64.RawStdEncoding.DecodeString(string(text[1:min(len(text), 4)])); err == nil && len(text) > 4 && text[4] == '-' && raw[0] == 0 {
			return rune(raw[1]), 5
		}
	case c == '=' && next == '\n':
		return 0, 2
	case c == '=' && next == '\r':
		return 0, 3
	case c == '=':
		if c, n := number(text, 1, 2, 2, 16); n > 1 && (c == '<' || c == '>' || c == '/') {
			return c, n
		}
	case next == 'u' || next == 'U' || next == 'x' || next == 'X': // \u003c, \u{3c}, %u003c
		size := map[byte]int{'u': 4, 'U': 8, 'x': 2, 'X': 2}[next]
		if text[2] != '{' {
			return number(text, 2, size, size, 16)
		}
		if c, n := number(text, 3, 1, 8, 16); n < len(text) && text[n] == '}' {
			return c, n + 1
		}
	case c == '%':
		var raw []byte
		for at := 0; at+2 < len(text) && text[at] == '%'; at += 3 {
			v, _ := number(text[at:], 1, 2, 2, 16)
			if raw = append(raw, byte(v)); utf8.FullRune(raw) {
				r, _ := utf8.DecodeRune(raw)
				return r, at + 3
			}
		}
	case next == 'e':
		return 0x1b, 2
	case next == 'n' || next == 'r' || next == 't':
		return ' ', 2
	case hexa[next]:
		if c, n := number(text, 1, 2, 3, 8); n == 4 && c >= ' ' || n > 1 && (n == len(text) || !hexa[text[n]]) {
			return c, n
		}
		if c, n = number(text, 1, 2, 6, 16); n > 1 && n < len(text) && text[n] == ' ' {
			n++ // it belongs to the escape of a style sheet
		}
	case !alnum[next]:
		return rune(next), 2
	}
	return c, n
}

// number reads a number of least to most digits from i on, and returns it with its end. If
// there is none, it returns the first character of the text.
func number(text []byte, i, least, most, base int) (rune, int) {
	end := min(len(text), i+most)
	for ; end >= i+least; end-- {
		if n, err := strconv.ParseUint(string(text[i:end]), base, 31); err == nil {
			return rune(n), end
		}
	}
	return rune(text[0]), 1
}

// plain returns a character in ASCII.
func plain(c rune) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return byte(c | 0x20)
	case unicode.IsSpace(c) || c == '\u2800' || c == '\u3164': // braille and Hangul have blank ones
		return ' '
	case c < ' ' || c == 0x7f:
		return invisible
	case c < utf8.RuneSelf:
		return byte(c)
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return invisible
	}
	if same := lookAlikes[unicode.ToLower(c)]; same != 0 {
		return same
	}
	if d := norm.NFKD.String(string(c)); d[0] < utf8.RuneSelf {
		return plain(rune(d[0]))
	}
	return other
}

// lookAlikes are letters and signs that look like those of a tag, in other alphabets.
var lookAlikes = func() map[rune]byte {
	all := map[rune]byte{}
	for _, same := range strings.Fields("pрρᴘҏ rгʀᴦɾ iıіιɪӏ vѵνᴠυ aаαᴀɑ tтτᴛ eеεᴇєҽ <‹〈⟨＜﹤❮˂ᐸ >›〉⟩＞﹥❯˃ᐳ /⁄∕／") {
		for _, c := range same[1:] {
			all[c] = same[0]
		}
	}
	return all
}()
