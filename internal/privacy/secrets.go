package privacy

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// detector looks for a secret at a keyword, which is text[start:end].
type detector func(text []byte, start, end int) (Finding, bool)

// detectors returns the detectors by their keywords.
func detectors() map[string]detector {
	all := map[string]detector{"-----begin": privateKey, "eyj": webToken, "://": connection, "basic ": basic, "basic%20": basic, "hooks/": hooks}
	for _, letter := range "pwkaxtcsun" {
		all[" -"+string(letter)] = option
	}
	for _, k := range kinds {
		for _, name := range k.names {
			all[name] = k.assigned
		}
	}
	return all
}

// window is a part of a text in which a rule is tried.
type window struct{ rule, start, end int }

// Secrets finds the secrets of a text, in order and without overlaps.
func Secrets(text []byte) []Finding {
	set := loadRules()
	text = withoutMarks(text)
	found := set.secrets(unescaped(text))
	if decoded, at := withoutCover(text); at != nil {
		for _, f := range set.secrets(unescaped(decoded)) {
			found = append(found, Finding{at[f.Start], at[f.End], f.Kind})
		}
	}
	return disjoint(found)
}

// withoutMarks returns a text whose marks name no kind, because "secret" in a mark is no hint at what stands beside
// it. Every character is at its place.
func withoutMarks(text []byte) []byte {
	if !bytes.Contains(text, []byte(SecretMark)) {
		return text
	}
	return secretMark().ReplaceAllFunc(text, func(mark []byte) []byte {
		return append([]byte(SecretMark), bytes.Repeat([]byte("x"), len(mark)-len(SecretMark))...)
	})
}

var secretMark = lazyregexp.New(`\[redacted: [a-z0-9 ]{1,60}`)

// secrets finds the secrets of a text as it is, in any order.
func (set *ruleSet) secrets(text []byte) (found []Finding) {
	var windows []window
	var beside []Finding
	until := 0 // the end of the last finding of a detector
	words, state := set.keywords, 0
	for i, c := range text {
		state = words.step(state, c)
		for _, word := range words.found[state] {
			start, end := i+1-words.size[word], i+1
			for _, u := range set.uses[word] {
				switch {
				case u.beside != nil:
					beside = append(beside, u.beside(text, start, end)...)
				case u.detect != nil && start >= until:
					if f, ok := u.detect(text, start, end); ok {
						found = append(found, f)
						until = max(until, f.End)
					}
				case u.detect == nil:
					r := set.Rules[u.rule]
					r.prepare()
					if !r.After {
						windows = append(windows, window{u.rule, start - r.reach, end + r.reach})
					} else if !inWord(text, start) {
						found = r.find(set, text, end, min(len(text), run(text[:min(len(text), end+r.reach+longestMatch)], min(len(text), end+r.reach), opaque)+1), found)
					}
				}
			}
		}
	}
	return slices.Concat(inWindows(set, text, windows), found, beside)
}

// escapes are signs in the escapes of strings, URLs and HTML, with texts of the same
// length that show them plainly.
var escapes = strings.NewReplacer(`\n`, "  ", `\r`, "  ", `\t`, "  ", "&quot;", `     "`, "&#34;", `    "`, "&#39;", "    '", `\u0022`, `     "`, `\u003d`, "     =", `\u0026`, "     &")

// wideSigns are the signs of Chinese and Japanese before a value, and the quotes of several languages around one.
var wideSigns = strings.NewReplacer("：", " : ", "＝", " = ", "\u3000", "   ", "«", ` "`, "»", `" `, "„", `  "`, "“", `  "`, "”", `"  `)

// urlEscapes are those of JSON in a URL.
var urlEscapes = strings.NewReplacer("%22", `  "`, "%3A", "  :", "%3a", "  :", "%7B", "  {", "%7b", "  {", "%2C", "  ,", "%2c", "  ,")

// unescaped returns a text with such escapes decoded, if it has any, and every character
// at its place.
func unescaped(text []byte) []byte {
	if bytes.Contains(text, []byte("\xef\xbc")) || bytes.Contains(text, []byte("«")) || bytes.Contains(text, []byte("“")) {
		text = []byte(wideSigns.Replace(string(text)))
	}
	if bytes.IndexByte(text, '\\') < 0 && !bytes.Contains(text, []byte("%22%3")) && !bytes.Contains(text, []byte("&quot;")) && !bytes.Contains(text, []byte("&#3")) {
		return text
	}
	if bytes.Contains(text, []byte("%22%3")) {
		text = []byte(urlEscapes.Replace(string(text)))
	}
	return []byte(escapes.Replace(string(text)))
}

// withoutCover returns a text without what hides a secret in it: characters that have no width, the colours of a terminal, wide
// letters, and escapes that need not be. at has the place of each byte, and is nil if the text has no such thing.
func withoutCover(text []byte) (out []byte, at []int) {
	if !isCovered(text) {
		return nil, nil
	}
	for i := 0; i < len(text); {
		c, size := uncovered(text[i:min(len(text), i+32)])
		switch {
		case c == 0x1b || unicode.Is(unicode.Cf, c):
		case c < utf8.RuneSelf:
			out, at = append(out, byte(c)), append(at, i)
		default:
			for n := range size {
				out, at = append(out, text[i+n]), append(at, i+n)
			}
		}
		i += size
	}
	return out, append(at, len(text))
}

// isCovered reports whether a text has something that hides a secret.
func isCovered(text []byte) bool {
	for _, cover := range covers {
		if bytes.Contains(text, []byte(cover.sign)) && (cover.escape == nil || cover.escape().Match(text)) {
			return true
		}
	}
	return false
}

// covers are the signs of what hides a secret. An escape must be that of a character that keys and their names consist of.
var covers = []struct {
	sign   string
	escape func() *regexp.Regexp
}{
	{"\u200b", nil}, {"\u2060", nil}, {"\ufeff", nil}, {"\x1b[", nil}, {"\xef\xbd", nil}, // the last one begins wide letters
	{"%", lazyregexp.New(`%(?:3[0-9AaDd]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|2[BbDdFf])`)},
	{`\u00`, lazyregexp.New(`\\u00(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])`)},
	{`\x`, lazyregexp.New(`\\x(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])`)},
	{"&#", lazyregexp.New(`&#(?:[4-9]\d|1[012]\d|[xX][3-7][0-9A-Fa-f]);`)},
}

// uncovered returns the character that a text begins with, and its length.
func uncovered(text []byte) (rune, int) {
	c, size := rune(text[0]), 1
	switch {
	case c == 0x1b:
		return c, 1 + len(controlSequence().Find(text[1:]))
	case c >= utf8.RuneSelf:
		if c, size = utf8.DecodeRune(text); c == utf8.RuneError {
			return c, size
		} else if '！' <= c && c <= '～' { // the wide characters, in the order of ASCII
			c -= '！' - '!'
		}
		return c, size
	case c == '%':
		c, size = number(text[:min(len(text), 3)], 1, 2, 2, 16)
	case c == '\\' && len(text) > 3 && (text[1] == 'u' || text[1] == 'x'), c == '&' && len(text) > 3 && text[1] == '#':
		c, size = unescape(text[:min(len(text), 16)])
	}
	if c <= ' ' && size > 1 || c >= utf8.RuneSelf {
		return rune(text[0]), 1
	}
	return c, size
}

// inWindows tries the rules in their windows. It merges overlapping windows of a
// rule, so that time stays linear.
func inWindows(set *ruleSet, text []byte, windows []window) []Finding {
	var found []Finding
	slices.SortStableFunc(windows, func(a, b window) int { return cmp.Or(a.rule-b.rule, a.start-b.start) })
	for i := 0; i < len(windows); {
		w := windows[i]
		for i++; i < len(windows) && windows[i].rule == w.rule && windows[i].start <= w.end; i++ {
			w.end = max(w.end, windows[i].end)
		}
		from, to := max(0, w.start), min(len(text), w.end)
		for from > 0 && opaque[text[from-1]] && w.start-from < longestMatch { // begin and end between words
			from--
		}
		for to < len(text) && opaque[text[to]] && to-w.end < longestMatch {
			to++
		}
		if to < len(text) {
			to++ // an expression may need the character after a secret
		}
		found = set.Rules[w.rule].find(set, text, from, to, found)
	}
	return found
}

// disjoint sorts findings and merges overlapping ones under the kind of the
// first.
func disjoint(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int { return a.Start - b.Start })
	out := found[:0]
	for _, f := range found {
		if n := len(out); n > 0 && f.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, f.End)
			continue
		}
		out = append(out, f)
	}
	return out
}

// class is a set of characters.
type class [256]bool

func classOf(sets ...string) *class {
	var c class
	for _, set := range sets {
		for i := range len(set) {
			c[set[i]] = true
		}
	}
	return &c
}

const (
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters = "abcdefghijklmnopqrstuvwxyz" + upper
	digits  = "0123456789"
)

var (
	alnum    = classOf(letters, digits)
	hexa     = classOf(digits, "abcdefABCDEF")
	urlsafe  = classOf(letters, digits, "_-")
	opaque   = classOf(letters, digits, "_-.~+/=")
	token    = classOf(letters, digits, "_-.~+/=%:")
	heading  = classOf(letters, digits, " ")
	dashes   = classOf("-")
	keyLines = classOf(letters, digits, "_-.~+/= \t\r\n\\:,()")
)

// inWord reports whether the character at i continues a word or a key. Skipping
// those also keeps time linear.
func inWord(text []byte, i int) bool { return i > 0 && urlsafe[text[i-1]] }

// run returns the end of the characters of a class from i on.
func run(text []byte, i int, c *class) int {
	for i < len(text) && c[text[i]] {
		i++
	}
	return i
}

// longest is how long a token may be; longer runs are texts without spaces.
const longest = 4096

// prefixed returns a detector of tokens that begin with a prefix.
func prefixed(kind, prefix string) detector {
	return func(text []byte, i, from int) (Finding, bool) {
		if string(text[i:from]) != prefix {
			return Finding{}, false
		}
		if inWord(text, i) {
			return part(text, i, from, kind)
		}
		end := run(text[:min(len(text), from+longest)], from, token)
		for end > from && (text[end-1] == '.' || text[end-1] == '/') { // it ends the sentence or the URL
			end--
		}
		body := text[from:end]
		if at := bytes.IndexByte(body, '/'); at >= 16 && prefix != "ABSK" && !bytes.ContainsAny(body, "+=") {
			body, end = body[:at], from+at // a path follows
		}
		ok := len(body) >= 16 && bytes.ContainsAny(body, digits) && bytes.ContainsAny(body, letters) && entropy(body) >= 2.8 &&
			!isPlaceholder(body) && !isIdentifier(body) && !isWords(body) && turns(body)*8 >= min(len(body), 64)
		return Finding{i, end, kind}, ok
	}
}

// part finds a token inside a word, such as the name of a file: backup-ghp_….txt, __hf_…__.
func part(text []byte, i, from int, kind string) (Finding, bool) {
	end := run(text[:min(len(text), from+longest)], from, alnum)
	sign := text[from-1]
	ok := !alnum[text[i-1]] && (sign == '_' && from-i >= 3 || sign == '-' && from-i >= 5) && end-from >= 20 && isStrong(text[from:end])
	return Finding{i, end, kind}, ok
}

// webToken finds a JSON web token: parts in base64, of which the first two are
// JSON, or the five parts of an encrypted one.
func webToken(text []byte, i, _ int) (Finding, bool) {
	if inWord(text, i) || !bytes.HasPrefix(text[i:], []byte("eyJ")) {
		return Finding{}, false
	}
	head := run(text, i, urlsafe)
	if head-i < 12 || head >= len(text) || text[head] != '.' {
		return Finding{}, false
	}
	end, parts := head, 1
	for parts < 5 && end < len(text) && text[end] == '.' {
		end = run(text, end+1, urlsafe)
		parts++
	}
	if signed := bytes.HasPrefix(text[head:], []byte(".eyJ")); !signed && parts < 5 {
		return Finding{}, false
	}
	return Finding{i, end, "web token"}, parts >= 3 && end-head > 22
}

// privateKey finds the block of a private key, to its end or, if that is cut off,
// as far as it continues.
func privateKey(text []byte, i, _ int) (Finding, bool) {
	const begin = "-----BEGIN "
	if !bytes.HasPrefix(text[i:], []byte(begin)) {
		return Finding{}, false
	}
	name := text[i+len(begin) : min(len(text), i+len(begin)+40)]
	mark := secretBlock().FindIndex(name)
	if mark == nil {
		return Finding{}, false
	}
	from := i + len(begin) + mark[1]
	block := text[from:min(len(text), from+longestBlock)]
	const tail = "-----END "
	if at := bytes.Index(block, []byte(tail)); at >= 0 {
		end := run(text, run(text, from+at+len(tail), heading), dashes)
		return Finding{i, end, "private key"}, count(block[:at], alnum) >= 40
	}
	end := run(block, 0, keyLines)
	return Finding{i, from + end, "private key"}, count(block[:end], alnum) >= 40
}

// secretBlock matches the names of blocks that are secrets; the second one is OpenVPN's.
var secretBlock = lazyregexp.New(`^[^\n]*?(?:PRIVATE KEY|Static key V1)`)

// longestBlock is how long a private key may be.
const longestBlock = 64 << 10

func count(text []byte, c *class) (n int) {
	for _, b := range text {
		if c[b] {
			n++
		}
	}
	return n
}

// basic finds the credentials of an authorization header: base64 of a name, a
// colon and a password.
func basic(text []byte, i, from int) (Finding, bool) {
	if inWord(text, i) {
		return Finding{}, false
	}
	end := run(text[:min(len(text), from+longest)], from, opaque)
	return Finding{from, end, "basic authorization"}, isLogin(text[from:end])
}

// isLogin reports whether a value is base64 of a name, a colon and a password.
func isLogin(value []byte) bool {
	value = bytes.TrimRight(value, "=")
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(value)))
	n, err := base64.RawStdEncoding.Decode(data, value)
	if data = data[:n]; err != nil || len(data) < 5 || !utf8.Valid(data) {
		return false
	}
	colon := bytes.IndexByte(data, ':')
	return colon >= 0 && colon < len(data)-1 && !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' })
}

// connection finds the password in a URL: scheme://name:password@host.
func connection(text []byte, i, from int) (Finding, bool) {
	if i < 2 || !alnum[text[i-1]] || !alnum[text[i-2]] && text[i-2] != '+' { // neo4j+s
		return Finding{}, false
	}
	colon, at := -1, -1
	for j := from; j < len(text) && j-from < 512; j++ {
		c := text[j]
		if c <= ' ' || afterLogin[c] {
			break
		}
		if c == '@' {
			at = j // the last one counts: a password may contain one
		}
		if c == ':' && colon < 0 {
			colon = j
		}
	}
	if colon < 0 || at < colon {
		return link(text, from)
	}
	name, password := text[from:colon], text[colon+1:at]
	ok := len(password) >= 4 && !bytes.EqualFold(name, password) && !isPlaceholder(password) && !isReference(password) &&
		!bytes.EqualFold(password, []byte("pass")) && password[0] != ':'
	return Finding{colon + 1, at, "password"}, ok
}

// hooks finds the address of a webhook without its host.
func hooks(text []byte, start, _ int) (Finding, bool) { return link(text, start) }

// link finds the random part of an address that anyone who has it may use: a webhook, an
// invitation, a signed address.
func link(text []byte, from int) (Finding, bool) {
	var last, before []byte
	to := from
	for to < len(text) && to-from < 2048 && text[to] > ' ' && !afterURL[text[to]] {
		to++
	}
	for i := from; i < to; i++ {
		start := i
		for i < to && bytes.IndexByte([]byte("/?&=#"), text[i]) < 0 {
			i++
		}
		part := bytes.TrimPrefix(text[start:i], []byte("private-"))
		switch {
		case len(part) < 10 || isHash(part) || start == from || text[start-1] == '#' && isHexadecimal(part) || !isUniform(part) && !isStrong(part):
		case len(part) < i-start || opens().Match(last) || hook().Match(before):
			return Finding{start, to, "address"}, true
		}
		last, before = text[start:i], last
	}
	return Finding{}, false
}

var (
	afterURL = classOf("\"'`<>()[]{}\\,|")
	opens    = lazyregexp.New(`(?i)hook|token|secret|key$|^sig|auth|^code$|pass|invite|incoming|deploy|trigger|ping|alert|input|integration|receiver|collect|reset|verify|magic|^live\d?$|^bot|appid|^session|^v\d$|^http$|^tkn$|^t$|^rss$|^feeds?$|^ical$`)
	hook     = lazyregexp.New(`(?i)hook|deploy|integration`)
)

var afterLogin = classOf("/\"'`<>()[]{}\\,")
