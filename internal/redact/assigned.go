package redact

import (
	"bytes"
	"slices"
	"strings"
)

// nameKind is a group of names that secrets are assigned to. Code and manuals
// also assign harmless values to them, so accepts checks the value.
type nameKind struct {
	kind string
	// names are endings of the names, in lower case. A short one must begin a
	// word of the name: bypass does not end in "pass".
	names []string
	short bool
	// ends says that no letter or digit follows: agent_path does not have "_pat".
	ends    bool
	accepts func(v assignment) bool
}

// assignment is an assigned value and how it was written.
type assignment struct {
	value  []byte
	quoted bool
	tight  bool // "=" directly before the value, as in a shell
	comma  bool // the sign is a comma, as in define('NAME', 'value')
	joined bool // the name has a qualifier: X-Server-Token, _authToken
}

var kinds = []*nameKind{
	{
		kind:    "password",
		names:   []string{"password", "passwd", "passphrase", "passcode", "password_hash", "passwort", "contraseña"},
		accepts: assignment.isPassword,
	},
	{
		kind:    "password",
		names:   []string{"pass", "pwd", "pw", "psk", "bindpw", "rootpw", "pin_code"},
		short:   true,
		accepts: assignment.isPassword,
	},
	{
		kind: "secret",
		names: []string{
			"apikey", "api_key", "api-key", "api key", "apitoken", "secretkey", "secret_key", "secret-key", "accesskey", "access_key", "access-key",
			"privatekey", "private_key", "private-key", "private key", "secret", "credential", "credentials", "key-data", "accountkey", "account_key",
			"account-key", "encryption_key", "encryption-key", "encryptionkey", "signing_key", "signing-key", "signingkey", "master_key", "master-key",
			"masterkey", "license_key", "licensekey", "app_key", "appkey", "admin_key", "adminkey", "auth_key", "auth-key", "authkey", "secret_key_base", "creds",
		},
		accepts: assignment.isKey,
	},
	{
		kind:    "secret",
		names:   []string{"_pat"},
		ends:    true,
		accepts: assignment.isKey,
	},
	{
		kind:  "token",
		names: []string{"token", "jwt", "webhook_url", "sessionid", "session_id", "session-id", "connect.sid", "phpsessid", "jsessionid", "amz-signature", "goog-signature"},
		accepts: func(v assignment) bool {
			return len(v.value) >= 16 && random(v.value) || v.joined && isUUID(v.value)
		},
	},
	{
		kind:    "login",
		names:   []string{"_auth", "\"auth", "'auth"},
		accepts: func(v assignment) bool { return isLogin(v.value) },
	},
	{
		kind:  "secret",
		names: []string{"key", "auth", "sig", "signature", "salt", "seed", "cookie", "session", "sid", "dsn", "sas", "code"},
		short: true,
		accepts: func(v assignment) bool {
			return len(v.value) >= 20 && random(v.value) && !isHexadecimal(v.value) && !v.comma
		},
	},
}

func (v assignment) isKey() bool { return len(v.value) >= 16 && (random(v.value) || isUUID(v.value)) }

// longestValue is how long a value may be.
const longestValue = 8192

var (
	beforeSign  = classOf(" \t\"'`])\\?")
	beforeValue = classOf(" \t=>(")
	afterValue  = classOf("\"'`,;)}]<\\|")
)

// assigned finds the value assigned to the name that ends with text[start:end],
// or shortly after it.
func (k *nameKind) assigned(text []byte, start, end int) (Finding, bool) {
	if k.short && start > 0 && alnum[text[start-1]] && !(kindOf(text[start]) == isUpper && kindOf(text[start-1]) != isUpper) {
		return Finding{}, false
	}
	// TOKEN_PROD, passwordHash and API_KEY_2 are names of secrets too.
	i := end
	for i < len(text) && i-end < 16 && urlsafe[text[i]] {
		i++
	}
	if i > end && (k.short || k.ends) && alnum[text[end]] {
		return Finding{}, false
	}
	v, from, to := valueAfter(text, i)
	if v.value == nil || len(v.value) > longestValue || isMark(v.value) || isPlaceholder(v.value) {
		return Finding{}, false
	}
	v.joined = start > 0 && urlsafe[text[start-1]]
	if k.short && !v.joined && !v.quoted && !v.tight && bytes.IndexByte(v.value, '/') >= 0 {
		return Finding{}, false // PASS: TestName/case
	}
	return Finding{from, to, k.kind}, k.accepts(v)
}

// valueAfter returns the value assigned to the name that ends at i: between
// quotes, else up to a space or the end of a list.
func valueAfter(text []byte, i int) (v assignment, from, to int) {
	limit := min(len(text), i+longestValue+64)
	quotedName := false
	for n := 0; i < limit && n < 8 && beforeSign[text[i]]; n++ {
		quotedName = quotedName || text[i] == '"' || text[i] == '\''
		i++
	}
	if i >= limit {
		return v, 0, 0
	}
	sign := i + 1
	v.comma = text[i] == ','
	switch {
	case bytes.IndexByte([]byte(":=,>"), text[i]) < 0, // <password>…</password> has the last one
		text[i] == ':' && sign < limit && text[sign] == ':', // C++, Rust
		v.comma && !quotedName:
		return assignment{}, 0, 0
	}
	i = sign
	for n := 0; i < limit && n < 8 && beforeValue[text[i]]; n++ {
		i++
	}
	v.tight = i == sign && text[sign-1] == '='
	for i < limit && text[i] == '\\' { // a quote inside a string
		i++
	}
	if i < limit && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		quote := text[i]
		for to = i + 1; to < limit && text[to] != quote && text[to] != '\\' && text[to] > ' '; to++ {
		}
		v.value, v.quoted = text[i+1:to], true
		return v, i + 1, to
	}
	if v.comma {
		return assignment{}, 0, 0
	}
	for to = i; to < limit && text[to] > ' ' && !afterValue[text[to]] && !(text[to] == '&' && isParameter(text[to+1:])); to++ {
	}
	for to > i && (text[to-1] == '.' || text[to-1] == ':') { // it ends the sentence
		to--
	}
	v.value = text[i:to]
	return v, i, to
}

// isParameter reports whether a text begins with name=, as after the & of a URL.
func isParameter(text []byte) bool {
	n := run(text[:min(len(text), 40)], 0, urlsafe)
	return n == 0 || n < len(text) && text[n] == '='
}

// isPassword reports whether a value can be a password: not a word, not code, and
// mixed enough for how it was written.
func (v assignment) isPassword() bool {
	n, mix := len(v.value), classes(v.value)
	switch {
	case n < 6 || isReference(v.value) || !v.quoted && isCode(v.value):
		return false
	case isUUID(v.value) || n >= 12 && random(v.value):
		return true
	case n >= 8 && mix >= 3 && !isIdentifier(v.value):
		return true
	}
	return (v.quoted || v.tight) && mix >= 2 && bytes.ContainsAny(v.value, digits) && bytes.ContainsAny(v.value, letters) && !isIdentifier(v.value)
}

// isIdentifier reports whether a value is a name in a program: words of letters,
// perhaps with a number at the end.
func isIdentifier(value []byte) bool {
	words := bytes.TrimRight(value, digits)
	for _, c := range words {
		if k := kindOf(c); k == isDigit || k == 0 && c != '_' && c != '.' && c != '-' && c != ':' && c != '/' {
			return false
		}
	}
	// userName2 is one; dragon42 and DiNoeKgCPc7 are passwords.
	return len(value)-len(words) <= 1 && len(words) >= 3 && turns(words)*4 <= len(words)
}

// examples are strings that mark a value as an example.
var examples = []string{
	"example", "placeholder", "changeme", "change-me", "change_me", "xxxx", "****", "....", "redacted", "dummy", "your-", "your_", "yourpass",
	"insert", "undefined", "foobar", "1234567890", "abcdefgh", "<your", "todo", "n/a",
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
	if isCode(value) || isUUID(value) || isIdentifier(value) {
		return false
	}
	n := min(len(value), 100)
	if !bytes.ContainsAny(value, digits) { // letters alone must alternate more often
		return n >= 20 && turns(value)*4 >= n && entropy(value) >= 3.5
	}
	return bytes.ContainsAny(value, letters) && turns(value)*6 >= n && entropy(value) >= 3
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
		return !isPlaceholder(value) && assignment{value: value, quoted: true}.isPassword()
	},
	"random": func(value []byte) bool { return !isPlaceholder(value) && random(value) },
	"login":  isLogin,
}
