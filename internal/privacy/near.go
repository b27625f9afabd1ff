package privacy

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// hint says how much a word tells about the values beside it.
type hint int

const (
	// weak is a tool that takes passwords, or a word such as key or login: a value that
	// can be nothing else is a secret.
	weak hint = iota + 1
	// sure is a word for a credential: beside it hexadecimal digits are one too.
	sure
)

// wordFile is the table of the words near which values are looked for. A row is a hint, a word
// and a text in which the value between «» is found because of the word.
//
//go:embed rules/words.tsv
var wordFile string

// nearWord is a row of the table. The words for a password are sure, and names of passwords too.
type nearWord struct {
	hint     hint
	password bool
	word     string
	fixture  string
}

var nearWords = sync.OnceValue(func() (all []nearWord) {
	for line := range strings.Lines(wordFile) {
		if cells := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3); len(cells) == 3 && line[0] != '#' {
			w := nearWord{hint: sure, password: cells[0] == "password", word: cells[1], fixture: cells[2]}
			if cells[0] == "weak" {
				w.hint = weak
			}
			all = append(all, w)
		}
	}
	return all
})

// harmless are the last words of names whose values are random and no secrets.
const harmless = " id ids uuid guid hash sum digest integrity checksum sha sha1 sha256 sha384 sha512 md5 h1 commit rev revision ref etag nonce fingerprint thumbprint kid public rsa ed25519 nistp256 " +
	"trace span request resolved version checkout image container pod exec index object blob tree tx block address project tenant release cache idempotency websocket primary foreign sort partition routing row group encoded algorithm site socket uid v "

// isHarmless reports whether a value that begins at i has a harmless name before it, on
// its line.
func isHarmless(text []byte, i int) bool {
	for n := 0; i > 0 && n < 8 && beforeAny[text[i-1]]; n++ {
		i--
	}
	from := i
	for from > 0 && i-from < 24 && alnum[text[from-1]] && (from == i || kindOf(text[from-1]) == isUpper || kindOf(text[from]) != isUpper) {
		from--
		if from > 0 && kindOf(text[from]) == isUpper && kindOf(text[from-1]) == isLower {
			break // the next word of publicKeyId
		}
	}
	return strings.Contains(harmless, " "+strings.ToLower(string(text[from:i]))+" ") || i-from == 1 && from > 0 && text[from-1] == '"' || // "n" of a public JSON web key
		isPublicName(text[:i])
}

var beforeAny = classOf(" \t\"'`:=>()\\")

// isHint reports whether text[start:end] is a hint: keyboard is no key, nor are two letters of
// a random word a hint, nor is the key of a cache.
func isHint(text []byte, start, end int, h hint) bool {
	if end-start < 6 && alnum[text[end-1]] {
		from, to := start, end
		for from > 0 && start-from < 64 && urlsafe[text[from-1]] {
			from--
		}
		if to = run(text[:min(len(text), end+64)], to, urlsafe); to > end && kindOf(text[end]) == isLower && text[end] != 's' || isStrong(text[from:to]) {
			return false
		}
	}
	return !bytes.HasSuffix(text[:start], []byte("-----BEGIN PGP ")) && !isPublicName(text[:start]) &&
		!(h == weak && start > 0 && urlsafe[text[start-1]] && (isHarmless(text, start) || isHarmless(text, start-1)))
}

// linesBelow returns the end of the lines below the one that ends at from: those of a table
// with so many columns, and two short ones.
func linesBelow(text []byte, from, columns int) int {
	to := from
	for lines := 0; to-from < 4096 && to < len(text) && text[to] == '\n'; lines++ {
		below := lineEnd(text[:min(len(text), to+400)], to+1)
		if line := text[to+1 : below]; columns == 0 || columnsOf(line) != columns {
			if words := bytes.Fields(line); len(words) > 3 || lines > 1 || lines > 0 && len(words) > 1 {
				break
			}
		}
		to = below
	}
	return to
}

// near finds the random values in the line of the hint text[start:end], and in short lines
// below it.
func near(text []byte, start, end int, beside nearWord) (found []Finding) {
	h := beside.hint
	if !isHint(text, start, end, h) {
		return nil
	}
	from, to := max(0, start-100), lineEnd(text[:min(len(text), end+220)], end)
	if n := bytes.LastIndexByte(text[from:start], '\n'); n >= 0 {
		from += n + 1
	}
	for from > 0 && !betweenWords[text[from-1]] && start-from < 400 { // a word is seen whole
		from--
	}
	head, columns, column := to, 0, 0 // of the table that the line is the head of, and the place of the hint in it
	if h == sure && count(text[from:to], digit) == 0 {
		columns, column = columnsOf(text[from:to]), columnsOf(text[from:start])
	}
	headed := beside.password && columns > 0 && underHead().Match(text[head:])
	to = linesBelow(text, head, columns)
	words := 0 // after the hint
	for i := from; i < to; {
		if betweenWords[text[i]] {
			i++
			continue
		}
		word := i
		for i < to && !betweenWords[text[i]] {
			i++
		}
		for i == to && i < len(text) && !betweenWords[text[i]] && i-word < 400 { // it is longer
			i, to = i+1, to+1
		}
		if word >= end {
			words++
		}
		if word < end && end < i && text[end-1] == ':' && text[end] != '/' {
			word = end // of root:
		}
		a, b := valueIn(text, word, i)
		if b-a < 8 || a < end && start < b {
			continue
		}
		value := text[a:b]
		if isHash(value) || bytes.HasSuffix(text[:a], []byte("base64,")) || isNamed(text, a, b) || isListed(text, a, b) || // or a data URL
			h == weak && (inAddress(text, a) || isID(value)) || b <= start && isIDAfter(text[:a]) {
			continue
		}
		inColumn := columns > 0 && a > head && isCell(text, start, end) && isCell(text, a, b) && columnsOf(text[from+bytes.LastIndexByte(text[from:a], '\n')+1:a]) == column
		called := h == sure || text[end-1] == '(' && word > start && words < 3
		switch {
		case (h == sure || b-a >= 10) && isStrong(value) && !isHarmless(text, a):
		case inColumn && (isUniform(value) && !isHarmless(text, a) || (headed || classes(value) == 4) && !isPlaceholder(value) && assignment{value: value, quoted: true}.isPassword()):
		case called && words < 8 && (word > end || start-i < 40) && isUniform(value) && !isHarmless(text, a) && (text[end-1] == '(' || !fileHash().Match(text[from:to])):
		default:
			continue
		}
		found = append(found, Finding{a, b, "secret"})
	}
	return found
}

// isNamed reports whether text[from:to] is a name in a program: it is called, indexed or assigned to.
func isNamed(text []byte, from, to int) bool {
	rest := text[to:min(len(text), to+4)]
	return count(text[from:to], inPath) == to-from && (bytes.HasPrefix(rest, []byte("(")) || bytes.HasPrefix(rest, []byte("[")) ||
		bytes.HasPrefix(rest, []byte(" = ")) || bytes.HasPrefix(rest, []byte(" := ")))
}

// isListed reports whether text[from:to] is a hash at the beginning of a line, with the name
// of a file after it, as md5sum and git write them.
func isListed(text []byte, from, to int) bool {
	n := to - from
	before := bytes.TrimRight(text[max(0, from-4):from], " +-U") // near enough, so that time stays linear
	return (n == 32 || n == 40 || n == 64) && isHexadecimal(text[from:to]) && to+1 < len(text) && text[to] == ' ' && text[to+1] != '\n' &&
		(bytes.HasSuffix(before, []byte("\n")) || len(before) == 0 && from < 4)
}

// isPublicName reports whether the last words of a text say that what follows is public.
func isPublicName(text []byte) bool {
	before := bytes.TrimRight(bytes.ToLower(text[max(0, len(text)-14):]), "_- ")
	before = bytes.TrimRight(bytes.TrimSuffix(before, []byte("key")), "_- ")
	return bytes.HasSuffix(before, []byte("public")) || bytes.HasSuffix(before, []byte("publishable"))
}

// isIDAfter reports whether a text ends with a word for something that has an id: the hint
// comes later, as in "event 4f… : token missing".
func isIDAfter(text []byte) bool {
	words := bytes.Fields(bytes.TrimRight(text[max(0, len(text)-24):], "="))
	return len(words) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '=') && bytes.Contains([]byte(" event session user customer job task run build message thread order ticket "), append(append([]byte(" "), bytes.ToLower(words[len(words)-1])...), ' '))
}

// inAddress reports whether the value at i is a parameter of a URL. Those with the name of a
// secret are found by their names.
func inAddress(text []byte, i int) bool {
	word := text[max(0, i-200):i]
	word = word[bytes.LastIndexAny(word, " \t\n\"'<(")+1:]
	return bytes.HasSuffix(word, []byte("=")) && bytes.Contains(word, []byte("://"))
}

var inPath = classOf(letters, digits, "_-.$:")

// columnsOf returns how many columns of a table end in a line.
func columnsOf(line []byte) int {
	return max(bytes.Count(line, []byte("|")), bytes.Count(line, []byte(",")), bytes.Count(line, []byte("\t")), bytes.Count(line, []byte(";")))
}

// isCell reports whether a cell of a table ends with text[from:to].
func isCell(text []byte, from, to int) bool {
	after := bytes.TrimLeft(text[to:min(len(text), to+40)], " \"'`*")
	before := bytes.TrimRight(text[max(0, from-40):from], " \"'`*")
	return (len(after) == 0 || betweenCells[after[0]]) && (len(before) == 0 || betweenCells[before[len(before)-1]] || urlsafe[before[len(before)-1]])
}

// underHead matches the line between the head of a table and its rows.
var underHead = lazyregexp.New(`^\r?\n[ \t]*\|?[ \t]*:?--[-|:+ \t]*(?:\r?\n|$)`)

var betweenCells = classOf("|,;\t\r\n")

// fileHash matches what lines say that hold the hashes of files and commits.
var fileHash = lazyregexp.New(`(?i)commit|sha\d|md5|digest|checksum|integrity|hash|docker|image|finger|resolved|uuid|_id\b|\bid\b|\bgit (?:cat-file|ls-tree|merge|cherry|rev|rebase|reset|checkout|show|log|diff|bisect|tag|describe|branch)`)

// valueIn returns the value in the word text[from:to]: without the end of a sentence, an
// option of one letter, and a name before it.
func valueIn(text []byte, from, to int) (int, int) {
	for to > from && bytes.IndexByte([]byte(".:!?"), text[to-1]) >= 0 {
		to--
	}
	for to-from > 2 && text[from] == '*' && text[to-1] == '*' { // emphasis
		from, to = from+1, to-1
	}
	word := text[from:to]
	if bytes.Contains(word, []byte("://")) || bytes.HasPrefix(word, []byte("arn:")) {
		return from, from
	}
	at := bytes.IndexByte(word, '@')
	slash := bytes.LastIndexByte(word[:max(at, 0)], '/')
	switch {
	case len(word) < 8:
	case slash > 0 && isStrong(word[slash+1:at]): // scott/…@host
		return from + slash + 1, from + at
	case word[0] == '>':
		from++
	case word[0] == '-' && word[1]|0x20 == 'p' && !isIdentifier(word[1:]): // -pVALUE
		return from + 2, to
	case bytes.HasPrefix(word, []byte("-hp")):
		return from + 3, to
	}
	if name := bytes.IndexByte(word, ':') + 1; name > 0 && (isTime(word[name:]) || isHarmless(text, from+name)) {
		from += name // Timestamp:…
	} else if name > 0 && !isStrong(word) {
		from += bytes.LastIndexByte(word, ':') + 1 // root:…
	}
	return from, to
}

// isUniform reports whether a value is of one alphabet, as hexadecimal and base 32 are, and
// long enough for a key.
func isUniform(value []byte) bool {
	n, mix := len(value), classes(value)
	if dashes := n - count(value, alnum); dashes > 0 {
		mix -= 1 + dashes/2
	}
	return !isPlaceholder(value) && (isUUID(value) || n >= 20 && n <= 128 && mix == 2 && count(value, urlsafe) == n && bytes.ContainsAny(value, digits) && bytes.ContainsAny(value, letters) &&
		turns(value)*5 >= n && entropy(value) >= 3 && !isWords(value))
}

// option finds a secret after an option of one letter, which is text[start:end].
func option(text []byte, start, end int) (Finding, bool) {
	for end < len(text) && (text[end] == ' ' || text[end] == '"' || text[end] == '\'') && end-start < 8 {
		end++
	}
	to := end
	for to < len(text) && to-end < 200 && !betweenWords[text[to]] {
		to++
	}
	from, to := valueIn(text, end, to)
	return Finding{from, to, "secret"}, !isPublic(text[from:to]) && (isStrong(text[from:to]) || to-from >= 32 && isUniform(text[from:to]) && !fileHash().Match(text[max(0, start-40):start]))
}

func lineEnd(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	if n := bytes.IndexByte(text[i:min(len(text), i+1000)], '\n'); n >= 0 {
		return i + n
	}
	return len(text) // or so far away that it does not matter
}

var (
	digit = classOf(digits)
	lower = classOf("abcdefghijklmnopqrstuvwxyz")
	alpha = classOf(letters)
)

var betweenWords = classOf(" \t\r\n\"'`<>(){}[]|,;=\\")

// isStrong reports whether a value can be nothing but a secret, whatever stands before
// it: characters that alternate so often are neither words nor names.
func isStrong(value []byte) bool {
	n := len(value)
	if n < 8 || n > longestValue || count(value, alpha)*4 < n {
		return false
	}
	many, mix, number := turns(value), classes(value), bytes.ContainsAny(value, digits)
	if count(value, alnum) < n && count(value, urlsafe) == n {
		mix-- // a dash does not make words random
	}
	switch {
	case mix >= 3 && number && many*4 >= min(n, 100) && many >= 3, n >= 12 && many*2 >= min(n, 100):
		if !random(value) {
			return false
		}
	case mix == 4 && many >= 2 && bytes.ContainsAny(value[1:], "!#$%&*+?^~"):
	case n >= 10 && mix >= 2 && many >= 2 && isGibberish(value):
	default:
		return false
	}
	return !isCode(value) && !isMark(value) && !isHexadecimal(value) && !(bytes.Count(value, []byte("/")) > 1 && n < 40) && !isPath(value) && !(bytes.IndexByte(value, '@') > 0 && bytes.IndexByte(value, '.') > 0) &&
		!isWords(value) && !isFile(value) && !isTime(value) && !isPlaceholder(value)
}

// isPath reports whether a value is a path or the name of a branch: its parts are words, numbers and hashes.
func isPath(value []byte) bool {
	if bytes.IndexByte(value, '/') <= 0 {
		return false
	}
	for part := range bytes.FieldsFuncSeq(value, func(r rune) bool { return r >= utf8.RuneSelf || !alnum[r] }) {
		if !isHexadecimal(part) && !isWords(part) {
			return false
		}
	}
	return true
}

// isFile reports whether a value is the name of a file or a host, or a version. A password may have a dot too.
func isFile(value []byte) bool {
	dot := bytes.LastIndexByte(value, '.')
	return dot > 0 && count(value, inVersion) == len(value) && (turns(value)*4 < len(value) || classes(value) < 4 || strings.Contains(extensions, string(value[dot:])+" "))
}

// extensions are those of files whose names have something random.
const extensions = ".js .mjs .cjs .ts .tsx .css .map .html .json .yml .yaml .xml .txt .md .py .go .rs .java .class .jar .whl .gz .zip .tgz .tar .so .dll .exe .pdf .png .jpg .jpeg .gif .svg .webp .mp4 .woff .woff2 .log .sql .csv .pem .key .crt .conf .ini .bak "

var inVersion = classOf(letters, digits, "_-.~+:")

// bigrams says how often a letter follows another in words and names, from 0 to 9, for aa, ab to zz.
const bigrams = "024400403014350305452002205010600031060050043040005050005006104300600305300000421371205002104103522000104045220010032502066301230050004400600300600413400010" +
	"300070134001133005423000006100700050001060031320000011343230000436420345020100400070002020005100704000002112711050020312015220000050146000500500500033300020" +
	"630060004001414500301000003045525030210140005612000010330210003446330533423000600060013004005305243000000000000000040000110090000050237020501022500344210030" +
	"403060034011003300473010104020710450010051044320001023224110200446130555000000600080005000002000000000005111500460011451054200000042414200400120160217000020" +
	"3221410130043435035600200030007100400110220232200036"

// isGibberish reports whether the letters of a value follow each other as they do not in
// words. Of random ones 93 in a hundred do so, of words and names in programs 2.
func isGibberish(value []byte) bool {
	sum, pairs := 0, 0
	for i := 1; i < len(value); i++ {
		if a, b := value[i-1]|0x20, value[i]|0x20; lower[a] && lower[b] && kindOf(value[i-1]) > 0 && kindOf(value[i]) > 0 {
			sum += int(bigrams[int(a-'a')*26+int(b-'a')] - '0')
			pairs++
		}
	}
	return pairs >= 6 && sum*2 < pairs*5
}
