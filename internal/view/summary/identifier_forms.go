package summary

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxIdentifier bounds the length of an identifier in bytes. Longer runs are
// data (base64, minified code), and the bound keeps the scan linear.
const maxIdentifier = 240

// Parts of the expressions in forms.
const (
	letter  = `\w\p{Latin}\p{Greek}\p{Cyrillic}`
	name    = `[` + letter + `@+~-]`                         // of a file, without the dot
	version = `\d+(?:\.\d+)*(?:(?:-|\+|rc|beta)[\w.+-]*\w)?` // 1.2.3-rc.1
	clock   = `(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`
	digits  = `\d+(?:[.,_]\d+)*(?:e[+-]?\d+)?`
	// Units of scripts without spaces.
	cjkUnit = `(?:毫秒|微秒|秒|分钟|小时|天|元|万|亿|个月|ミリ秒|時間|分|円|밀리초|초|분|시간|원)`
)

// The ways in which an identifier begins.
const (
	withDigit = 1 << iota
	withLetter
	withMark
	spaced // not how it begins: it may hold spaces
)

// forms is the table of identifiers: how they begin, their class, and an expression.
// Where several match, the first is taken.
var forms = []struct {
	begins int
	class  Class
	expr   string
	words  map[string]bool // one of these is the first group within expr, if any are given
	needs  string          // one of these characters is in every match; empty: any
}{
	{withLetter, ClassURL, `[A-Za-z][A-Za-z0-9+]*://[\w.~:/?#@!$&*+,=%-]*[\w/?#@$&+=%-]`, nil, ":"},
	{withLetter, ClassURL, `www\.[\w.~:/?#@!$&*+,=%-]{4,}[\w/]`, nil, "."},
	{withDigit | withLetter | withMark, ClassVersion, name + `(?:[` + letter + `./+~-]*[` + letter + `])?@v?` + version, nil, "@"},
	{withDigit | withLetter, ClassURL, `[` + letter + `.+~-]+@[A-Za-z][\w-]*(?:\.[\w-]+)+`, nil, "@"},
	{withDigit | withLetter, ClassURL, `(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,}`, nil, ":"},
	{withDigit | spaced, ClassDate, `\d{4}-\d\d-\d\d(?:[T ]` + clock + `)?|` + clock + `|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4}|\d{4}年(?:\d+[月日号])*|\d+月(?:\d+[日号])+|\d{4}년(?: ?\d+[월일])*`, nil, "-/:年月년"},
	{withDigit | spaced, ClassDate, `\d{1,2}(?:st|nd|rd|th)? ([A-Z][a-z]+)(?:,? [12]\d{3})?`, months, " "},
	{withLetter | spaced, ClassDate, `([A-Z][a-z]+) (?:\d{1,2}(?:st|nd|rd|th)?(?:,? [12]\d{3})?|[12]\d{3})`, months, " "},
	{withDigit | withLetter, ClassHash, `[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`, nil, "-"},
	{withDigit | withLetter, ClassVersion, `v` + version + `|\d+(?:\.\d+){2,}(?:(?:-|\+|rc|beta)[\w.+-]*\w)?|[A-Za-z]{2,}\d+(?:\.\d+)+(?:(?:-|rc|beta)[\w.+-]*\w)?|[A-Za-z][\w./-]*:v?\d+(?:\.\d+)+`, nil, ""},
	{withDigit | spaced, ClassNumber, digits + `(?:-\d+)?[ /]?([A-Za-zµ°%]+(?:/[a-z]+)?)`, units, ""},
	{withDigit, ClassNumber, digits + cjkUnit, nil, "毫微秒分小天元万亿个ミ時円밀초시원"},
	{withDigit | withMark, ClassNumber, `[#$]` + digits + `|\d+(?:[.,_]\d+)+(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d{3,}(?:-\d+)?|\d+-\d{3,}`, nil, ""},
	{withDigit | withLetter, ClassHash, `[0-9a-fA-F]*(?:\d[a-fA-F]|[a-fA-F]\d)[0-9a-fA-F]*`, nil, ""},
	{withDigit, ClassNumber, `\d[A-Za-z0-9]{2,}`, nil, ""},
	{withMark, ClassPath, `(?:~|\.{1,2})?/[` + letter + `@.+~/-]*` + name + `/?(?::\d+(?::\d+)?)?`, nil, "/"},
	{withDigit | withLetter | withMark, ClassPath, `@?[` + letter + `.+~-]+/(?:[` + letter + `@.+~/-]*` + name + `)?/?(?::\d+(?::\d+)?)?`, nil, "/"},
	{withDigit | withLetter | withMark, ClassPath, `[` + letter + `.+~-]*` + name + `\.([A-Za-z0-9]{1,7})(?::\d+(?::\d+)?)?`, extensions, "."},
	{withMark, ClassPath, `\.(?:git\w*|dockerignore|env|editorconfig|\w+rc|profile|golangci|claude|config|local|ssh|cache|ci)`, nil, "."},
	{withDigit | withLetter | withMark, ClassSymbol, `[A-Za-z][\w.-]*\w\(\)|--[A-Za-z][\w-]*\w|\$\w+|\w+(?:::\w+)+|[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+|[A-Za-z0-9]+_\w+`, nil, "(-$:._"},
	{withDigit | withLetter | withMark, ClassSymbol, `[A-Za-z]*[a-z]\d*[A-Z]\w*|[A-Z]{2,}[a-z]{2,}\w*|[A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9-]*|[A-Z0-9]{2,}-\d+`, nil, ""},
}

// formExpr returns the compiled expressions of forms, each for a whole identifier at the
// start of a text: no letter or digit follows it, but scripts without spaces may.
var formExpr = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, f := range forms {
		all = append(all, regexp.MustCompile(`^(`+f.expr+`)(?:[^\pL\pN_]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]|$)`))
	}
	return all
})

// identifierAt returns the identifier at the start of text.
func identifierAt(text string) (class Class, end int) {
	begins := withLetter
	switch b := text[0]; {
	case isDigit(b):
		begins = withDigit
	case b < utf8.RuneSelf && !isWordByte(b):
		begins = withMark
	}
	words := window(text)
	word := words[:strings.IndexByte(words+" ", ' ')]
	for i, re := range formExpr() {
		f := &forms[i]
		text := word
		if f.begins&spaced != 0 {
			text = words
		}
		if f.begins&begins == 0 || f.needs != "" && !strings.ContainsAny(text, f.needs) {
			continue
		}
		at := re.FindStringSubmatchIndex(text)
		if at != nil && (f.words == nil || f.words[text[at[4]:at[5]]]) {
			return f.class, at[3]
		}
	}
	return "", 0
}

// window cuts a text to what one identifier may need: three words.
func window(text string) string {
	spaces := 0
	for i := range min(len(text), maxIdentifier+utf8.UTFMax) {
		if text[i] == ' ' {
			spaces++
		}
		if spaces == 3 || text[i] < ' ' {
			return text[:i]
		}
	}
	return text[:min(len(text), maxIdentifier+utf8.UTFMax)]
}

// chunk returns the end of the bytes from i on that hold no identifier: a plain word,
// or what stands between words. plain is false where one may begin at i.
func chunk(text string, i int) (end int, plain bool) {
	b := text[i]
	if b < utf8.RuneSelf && !isWordByte(b) {
		return i + escapeLen(text, i), strings.IndexByte("/.~-$#@", b) < 0 || i > 0 && isWordByte(text[i-1])
	}
	end = wordEnd(text, i)
	if end == i {
		_, n := utf8.DecodeRuneInString(text[i:])
		return i + n, true
	}
	hump := strings.ContainsFunc(text[i+1:end], func(r rune) bool { return r < utf8.RuneSelf && !isLower(byte(r)) })
	if hump || isDigit(b) || end < len(text) && joins(text, end) {
		return end, false
	}
	return end, end < i+3 || !strings.Contains("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", text[i:i+3])
}

// joins reports a mark at i that goes on with the word before it. One that a space follows
// ends it, but for the slash after a folder.
func joins(text string, i int) bool {
	b := text[i]
	return b == '/' || strings.IndexByte(".:@(-+~", b) >= 0 && i+1 < len(text) && text[i+1] > ' '
}

// escapeLen is the length of the byte at i, or of the escape that it begins: in quoted
// JSON "\nNext" the n is no part of the word.
func escapeLen(text string, i int) int {
	if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("ntrbf", text[i+1]) >= 0 {
		return 2
	}
	return 1
}

// wordEnd returns the end of the letters, digits and underscores from i on. A script
// without spaces ends a word: in 在main.go里 the path stands alone.
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !(r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) || spaceless(r) {
			break
		}
		i += n
	}
	return i
}

// refine corrects what an expression cannot tell, and reports whether the text is an
// identifier after all.
func (id *Identifier) refine() bool {
	c := id.Text
	letters := strings.ContainsFunc(c, unicode.IsLetter)
	switch {
	case len(c) > maxIdentifier, isDigit(c[0]) && ordinals[strings.TrimLeft(c, "0123456789")]:
		return false
	case id.Class == ClassHash && len(c) < 7 && isDigit(c[0]):
		id.Class = ClassNumber
	case id.Class == ClassHash && len(c) < 7:
		id.Class = ClassSymbol
	case id.Class == ClassPath:
		return letters && len(c) > 3 && !strings.Contains(c, "//") && !alternatives[strings.ToLower(c)]
	}
	return len(c) > 2 || id.Class == ClassNumber || id.Class == ClassVersion
}

var (
	ordinals = stringSet("st nd rd th")
	months   = stringSet(`January February March April May June July August September October November December
		Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec`)
	// Things that are merely counted (12 rows) are left to the sentence they stand in.
	units = stringSet(`ns us µs ms s sec secs min mins h hr hrs d B kB KB MB GB TB PB KiB MiB GiB TiB kb mb gb tb
		k K M G T % x Hz kHz MHz GHz px em rem pt pp mm cm m km kg g mg W kW V A °C C F USD EUR GBP bps kbps Mbps Gbps
		rps qps fps tps MB/s GB/s KB/s kB/s MiB/s GiB/s msg/s req/s ops/s
		seconds second minutes minute hours hour days day weeks week months month years year
		milliseconds microseconds nanoseconds bytes bits kilobytes megabytes gigabytes tokens percent dollars euros`)
	extensions = stringSet(`go mod sum py pyi ipynb js mjs cjs jsx ts tsx rs c h cc cpp hpp cs java kt
		swift rb php pl lua sh bash zsh fish ps1 bat sql html htm css scss less vue svelte xml svg json jsonl ndjson
		yaml yml toml ini cfg conf env lock md mdx rst txt log csv tsv parquet pdf doc docx xls xlsx ppt pptx
		png jpg jpeg gif webp ico bmp mp3 mp4 wav mov zip tar gz tgz zst xz bz2 7z db sqlite sqlite3 proto
		graphql tf hcl ex exs erl hs ml scala clj dart zig nim vim el tex bib patch diff pem crt key wasm so dll exe
		tmpl txtar golden`)
)

// alternatives are words with a slash that are no paths.
var alternatives = stringSet(`and/or or/and he/she she/he his/her him/her yes/no on/off true/false either/or
	read/write input/output in/out up/down start/stop pass/fail win/loss client/server before/after begin/end
	open/close left/right old/new if/else try/catch start/end user/assistant request/response enable/disable
	add/remove rows/s lines/s items/s`)
