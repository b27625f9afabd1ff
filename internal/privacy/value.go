package privacy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// isPassword reports whether a value can be a password: not a word, not code, and
// mixed enough for how it was written.
func (v assignment) isPassword() bool {
	n, mix := len(v.value), classes(v.value)
	switch {
	case n < 6 || isReference(v.value) || isTime(v.value) || !v.quoted && isCode(v.value) || !v.tight && algorithm().Match(v.value):
		return false
	case isUUID(v.value) || n >= 12 && random(v.value):
		return true
	case n >= 8 && (mix >= 3 && !isIdentifier(v.value) || isGibberish(v.value) && turns(v.value) > 0):
		return true
	case n >= 12 && (v.quoted || v.tight) && turns(v.value)*7 >= 2*n:
		return true
	case v.line && n >= 8 && count(v.value, digit) >= 2: // password: hunter22
		v.tight = true
	}
	return (v.quoted || v.tight) && mix >= 2 && bytes.ContainsAny(v.value, digits) && bytes.ContainsAny(v.value, letters) && !isIdentifier(v.value)
}

// algorithm matches the names of hashes, ciphers and encodings, which are assigned to
// names like password_encryption.
var algorithm = lazyregexp.New(`(?i)^(?:h?sha\d|s?md\d|[a-z]*crypt|argon|pbkdf|base\d|aes|utf|hmac|[hrep]s\d|ed25|ecdsa|oauth|x509)`)

// isWords reports whether a value consists of words, names and numbers, as
// sha2-nistp256-cert-v01 and 2*s.SourceTokens do.
func isWords(value []byte) bool {
	for i := 0; i < len(value); i++ {
		from := i
		i = run(value, i, alnum)
		word := bytes.TrimRight(value[from:i], digits)
		if isCamel(value[from:i]) {
			continue
		}
		if count(word, digit) > 0 || len(value[from:i])-len(word) > 4 && len(word) > 0 || turns(word)*3 > len(word) || isGibberish(word) {
			return false
		}
	}
	return true
}

// isCamel reports whether a value is a name in a program: it begins with no digit, and at least two thirds of it are
// words that begin with a capital, or abbreviations, as in K8SPodUIDKey and x509KeyPair.
func isCamel(value []byte) bool {
	words, covered := 0, 0
	for i := 0; i < len(value); {
		from := i
		if kindOf(value[i]) == isUpper {
			i++
		}
		if i = run(value, i, lower); i-from < 3 { // no word, but perhaps capitals up to the next one
			for i = from; i < len(value) && kindOf(value[i]) == isUpper && (i+1 == len(value) || kindOf(value[i+1]) != isLower); i++ {
			}
		}
		if i-from > 2 {
			words++
			covered += i - from
		}
		i = max(i, from+1)
	}
	return len(value) > 8 && kindOf(value[0]) != isDigit && words > 1 && covered*3 >= len(value)*2 && !isGibberish(value)
}

// isHash reports whether a word is an address, an id, a public key, or the hash of a file.
func isHash(word []byte) bool {
	// A pointer, an account of a chain, or a commit after the sign of git's status.
	if hex := bytes.TrimPrefix(bytes.TrimLeft(word, "+-"), []byte("0x")); len(hex) < len(word) && len(hex) <= 40 && isHexadecimal(hex) {
		return true
	}
	if hex, version, ok := bytes.Cut(word, []byte("@v")); ok && isHexadecimal(hex) && count(version, digit) == len(version) { // the copy of a file
		return true
	}
	if slash := bytes.LastIndexByte(word, '/'); slash > 0 && isUUID(word[slash+1:]) { // the path of a session's files
		return true
	}
	return bytes.Contains(word, []byte("://")) || bytes.Contains(word, []byte("+0x")) || isULID(word) || isCacheKey(word) || isKebab(word) || isPublic(word) || hasPrefix(word, hashes)
}

var hashes = []string{"h1:", "sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "SHA256:", "msg_", "toolu_", "ses_", "prt_", "call_", "chatcmpl-", "urn:", "GHSA-", "bafy", "ami-", "vpc-"}

// isPublic reports whether a value is meant to be seen: the key of a site, or a public key.
func isPublic(value []byte) bool { return hasPrefix(value, public) }

var public = []string{"pk_live_", "pk_test_", "pk.", "phc_", "age1", "AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "RWQ", "RWR", "RWS", "RWT",
	"MIGfMA0GCSqG", "MIIBIjANBgkq", "MIICIjANBgkq", "MFkwEwYHKoZI", "MCowBQYDK2V"} // the last five in ASN.1

// isID reports whether a value begins as the ids of payment and cloud services do.
func isID(value []byte) bool { return hasPrefix(value, ids) }

var ids = []string{"price_", "cus_", "pi_", "sub_", "prod_", "acct_", "evt_", "ch_", "u_", "usr_", "user_", "org_", "team_", "job_", "run_", "req_", "order_", "txn_"}

func hasPrefix(word []byte, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(s string) bool { return bytes.HasPrefix(word, []byte(s)) })
}

// isKebab reports whether a word is the name of a pod, a host or a branch: two words and
// perhaps something random, joined by dashes.
func isKebab(word []byte) bool {
	words, long := 0, 0
	for part := range bytes.FieldsFuncSeq(word, func(r rune) bool { return r == '-' || r == '/' || r == '.' }) {
		if n := len(part); n >= 3 && count(part, lower) == n && !isGibberish(part) {
			words++
		} else if n > 10 || count(part, lower)+count(part, digit) < n {
			long++
		}
	}
	return words >= 2 && long == 0
}

// isCacheKey reports whether a word is the name of a cache: words, and the hash of a file.
func isCacheKey(word []byte) bool {
	dash := max(0, bytes.LastIndexByte(word, '-'))
	return len(word)-dash == 65 && isHexadecimal(word[dash+1:]) && bytes.IndexByte(word[:dash], '-') > 0 && isWords(word[:dash])
}

// isULID reports whether a word is an id that begins with a time, in Crockford's base 32.
func isULID(word []byte) bool {
	return len(word) == 26 && word[0] == '0' && count(word, crockford) == 26
}

var crockford = classOf("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

// isTime reports whether a value begins with a date, as 2026-01-31T12:00:00Z does.
func isTime(value []byte) bool {
	return len(value) >= 10 && value[4] == value[7] && (value[4] == '-' || value[4] == '.') && count(value[:10], digit) == 8
}

// isIdentifier reports whether a value is a name in a program: words of letters,
// perhaps with a number at the end.
func isIdentifier(value []byte) bool {
	words := bytes.TrimRight(value, digits)
	if constant().Match(value) && isWords(value) {
		return true
	}
	// userName2 is one; dragon42 and DiNoeKgCPc7 are passwords.
	return len(value)-len(words) <= 1 && len(words) >= 3 && count(words, inName) == len(words) && turns(words)*4 <= len(words) && isWords(words)
}

// constant matches names like PGX_TEST_MD5_PASSWORD.
var constant = lazyregexp.New(`^[A-Z]{3,}[0-9]?(?:_[A-Z]+[0-9]?){2,}$`)

var inName = classOf(letters, "_.-:/")

// examples are strings that mark a value as an example.
var examples = []string{
	"example", "placeholder", "changeme", "change-me", "change_me", "xxxx", "***", "12345678-1234", "00000000-0000", "....", "redacted", "dummy", "your-", "your_", "yourpass",
	"insert", "undefined", "scram-sha", "foobar", "1234567890", "abcdefgh", "<your", "todo", "n/a",
}

// fillers are words that examples consist of: a value with little else is an
// example.
var fillers = []string{
	"password", "passwd", "secret", "token", "apikey", "api_key", "api-key", "sample", "test", "your", "my", "some", "123456789", "12345", "1234", "123",
	"abc", "value", "here", "none", "null", "true", "false", "string", "key",
}

func isPlaceholder(value []byte) bool {
	low := strings.ToLower(string(value))
	if slices.ContainsFunc(examples, func(s string) bool { return strings.Contains(low, s) }) {
		return true
	}
	left := low
	for _, s := range fillers {
		left = strings.ReplaceAll(left, s, "")
	}
	return len(strings.Trim(left, "-_.!@#$")) < 4 && len(left) < len(low)
}

// isMark reports whether a value is the mark of a redacted secret.
func isMark(value []byte) bool {
	return bytes.Contains(value, []byte("[redacted")) || bytes.HasPrefix(value, []byte(PrivateMark))
}

// isReference reports whether a value refers to a secret elsewhere: a variable, a
// template, a path.
func isReference(value []byte) bool {
	if len(value) == 0 {
		return true
	}
	switch value[0] {
	case '$':
		return len(value) < 2 || value[1] == '{' || value[1] == '(' || kindOf(value[1]) == isUpper || value[1] == '_'
	case '{', '<', '~', '(':
		return true
	case '%':
		return len(value) > 1 && (value[len(value)-1] == '%' || len(value) < 4)
	case '/', '.':
		return len(value) < 16 || turns(value)*4 < len(value) // base64 may begin with a slash
	}
	if at := bytes.Index(value, []byte("_01")); at > 1 && at < 9 && len(value) > at+20 && count(value[:at], lower) == at {
		return true // msg_01…, toolu_01…: ids of Anthropic's API
	}
	return bytes.Contains(value, []byte("{{")) || bytes.Contains(value, []byte("${")) || bytes.Contains(value, []byte("://"))
}

// isCode reports whether a value is an expression, a path or a reference.
func isCode(value []byte) bool {
	return isReference(value) || bytes.ContainsAny(value, "(){}[]<>|;,\"'`") || bytes.Contains(value, []byte("::")) ||
		bytes.IndexByte([]byte("@#&*"), value[0]) >= 0
}

// random reports whether a value looks random: letters and digits alternate
// often, and few characters repeat.
func random(value []byte) bool {
	if isCode(value) || isUUID(value) || isIdentifier(value) || isWords(value) || isTime(value) || bytes.Count(value, []byte("/")) > 1 && isPath(value) {
		return false
	}
	n := min(len(value), 100)
	if !bytes.ContainsAny(value, digits) { // letters alone must alternate more often
		return n >= 20 && turns(value)*4 >= n && entropy(value) >= 3.5
	}
	return bytes.ContainsAny(value, letters) && turns(value)*6 >= n && entropy(value) >= 2.8
}

// turns counts how often letters and digits, or lower and upper case, alternate.
// The capital that begins a word does not count twice.
func turns(value []byte) int {
	n, last := 0, 0
	for _, c := range value {
		kind := kindOf(c)
		if kind == 0 {
			continue
		}
		if last != 0 && kind != last && !(last == isUpper && kind == isLower) {
			n++
		}
		last = kind
	}
	return n
}

// The kinds of characters; 0 is any other.
const (
	isLower = 1
	isUpper = 2
	isDigit = 3
)

func kindOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return isLower
	case 'A' <= c && c <= 'Z':
		return isUpper
	case '0' <= c && c <= '9':
		return isDigit
	}
	return 0
}

// classes counts how many of lower case, upper case, digits and others occur.
func classes(value []byte) int {
	var seen [4]bool
	n := 0
	for _, c := range value {
		if k := kindOf(c); !seen[k] {
			seen[k] = true
			n++
		}
	}
	return n
}

func isHexadecimal(value []byte) bool { return count(value, hexa) == len(value) }

func isUUID(value []byte) bool {
	if len(value) != 36 {
		return false
	}
	for i, c := range value {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !hexa[c] {
			return false
		}
	}
	return true
}

// checks are the conditions that a rule may name besides entropy.
var checks = map[string]func([]byte) bool{
	"password": func(value []byte) bool {
		return !isPlaceholder(value) && bytes.IndexByte(value, '(') < 0 && assignment{value: value, quoted: true}.isPassword()
	},
	"random": func(value []byte) bool { return !isPlaceholder(value) && random(value) },
	"key": func(value []byte) bool {
		return !isPlaceholder(value) && len(value) >= 16 && (random(value) || isUUID(value))
	},
	"letters": isGibberish,
	"codes":   func(value []byte) bool { return count(value, digit)*5 >= count(value, alnum) },
	"value": func(value []byte) bool {
		return !isPlaceholder(value) && !isReference(value) && !isIdentifier(value) || turns(value) >= 2
	},
}
