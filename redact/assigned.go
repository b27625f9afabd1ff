package redact

import (
	"bytes"
	"math"
	"strings"
)

// names end the names of things that are secret.
var names = []string{
	"apikey", "api_key", "api-key", "secretkey", "secret_key", "secret-key", "accesskey", "access_key", "access-key", "privatekey",
	"private_key", "private-key", "secret", "token", "password", "passwd", "passphrase", "pwd", "credential", "credentials",
}

// longestName is how far back a name is looked for, longestValue how far on
// a value.
const (
	longestName  = 64
	longestValue = 256
)

var (
	beforeSign = classOf(" \t\"'`]\\?")
	afterValue = classOf("\"'`,;)}]<\\&|")
	afterLogin = classOf("/?\"'`<>()[]{}\\,")
)

// assigned finds the value that is assigned to a secret's name, if it looks
// like one: a name and a value say nothing yet, as code and manuals show.
func assigned(text []byte, i int) (Finding, bool) {
	name := nameBefore(text, i)
	if name == "" || !isSecretName(name) {
		return Finding{}, false
	}
	from, end := valueAfter(text, i+1)
	value := text[from:end]
	switch {
	case len(value) > longestValue || isPlaceholder(value):
		return Finding{}, false
	case isPassword(name):
		return Finding{from, end, "password"}, len(value) >= 10 && classes(value) >= 3 && !isCode(value) || len(value) >= 16 && random(value)
	}
	return Finding{from, end, "secret"}, len(value) >= 16 && random(value)
}

// nameBefore returns the name in front of a sign of assignment, in lower case.
func nameBefore(text []byte, i int) string {
	end := i
	for end > 0 && i-end < 8 && beforeSign[text[end-1]] {
		end--
	}
	from := end
	for from > 0 && end-from < longestName && urlsafe[text[from-1]] {
		from--
	}
	return strings.ToLower(string(text[from:end]))
}

func isSecretName(name string) bool {
	for _, n := range names {
		if strings.HasSuffix(name, n) {
			return true
		}
	}
	return false
}

func isPassword(name string) bool {
	for _, n := range []string{"password", "passwd", "passphrase", "pwd"} {
		if strings.HasSuffix(name, n) {
			return true
		}
	}
	return false
}

// valueAfter returns where the value behind a sign of assignment stands: what
// is between quotes, else up to a space or the end of a list.
func valueAfter(text []byte, i int) (from, end int) {
	limit := min(len(text), i+longestValue+16)
	for n := 0; i < limit && n < 8 && (text[i] == ' ' || text[i] == '\t' || text[i] == '=' || text[i] == '>'); n++ {
		i++
	}
	for i < limit && text[i] == '\\' { // a quote inside a string
		i++
	}
	if i < limit && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		quote := text[i]
		for end = i + 1; end < limit && text[end] != quote && text[end] != '\\' && text[end] > ' '; end++ {
		}
		return i + 1, end
	}
	for end = i; end < limit && text[end] > ' ' && !afterValue[text[end]]; end++ {
	}
	return i, end
}

// samples occur in values that are not meant.
var samples = []string{
	"example", "your", "placeholder", "changeme", "change-me", "change_me", "xxxx", "****", "....", "redacted", "dummy", "sample", "secret",
	"password", "token", "apikey", "api_key", "api-key", "insert", "undefined", "foobar", "1234567890", "123456789", "abcdef",
}

func isPlaceholder(value []byte) bool {
	low := strings.ToLower(string(value))
	for _, s := range samples {
		if strings.Contains(low, s) {
			return true
		}
	}
	return false
}

// isCode reports whether a value is rather an expression, a path or a
// reference to where the secret is kept.
func isCode(value []byte) bool {
	return len(value) == 0 || bytes.ContainsAny(value, "(){}[]<>$|;,\"'`") || bytes.Contains(value, []byte("://")) || bytes.Contains(value, []byte("::")) ||
		bytes.IndexByte([]byte("/~.@%#&*"), value[0]) >= 0
}

// random reports whether a value looks drawn at random: letters and digits
// that take turns often, and few characters more than once.
func random(value []byte) bool {
	if isCode(value) || isPlaceholder(value) || isUUID(value) {
		return false
	}
	turns, last, numbers := 0, 0, 0
	for _, c := range value {
		kind := kindOf(c)
		if kind == 3 {
			numbers++
		}
		if kind != 0 && last != 0 && kind != last {
			turns++
		}
		if kind != 0 {
			last = kind
		}
	}
	return turns >= 4 && numbers >= 2 && entropy(value) >= 3
}

// kindOf tells lower case, upper case and digits apart; 0 is anything else.
func kindOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return 1
	case 'A' <= c && c <= 'Z':
		return 2
	case '0' <= c && c <= '9':
		return 3
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

// entropy is Shannon's, in bits for each character.
func entropy(value []byte) float64 {
	var count [256]int
	for _, c := range value {
		count[c]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

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

// connection finds the password in an address: scheme://name:password@host.
func connection(text []byte, i int) (Finding, bool) {
	if i < 2 || !alnum[text[i-1]] || !alnum[text[i-2]] {
		return Finding{}, false
	}
	from := i + len("://")
	colon := -1
	for at := from; at < len(text) && at-from < 512; at++ {
		switch c := text[at]; {
		case c == '@':
			if colon < 0 {
				return Finding{}, false
			}
			name, password := text[from:colon], text[colon+1:at]
			ok := len(password) >= 4 && !bytes.EqualFold(name, password) && !isPlaceholder(password) && !isCode(password) &&
				!bytes.EqualFold(password, []byte("pass")) && !bytes.HasPrefix(password, []byte(":"))
			return Finding{colon + 1, at, "password"}, ok
		case c == ':' && colon < 0:
			colon = at
		case c <= ' ' || afterLogin[c]:
			return Finding{}, false
		}
	}
	return Finding{}, false
}
