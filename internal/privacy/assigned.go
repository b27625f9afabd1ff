package privacy

import "bytes"

// nameKind is a group of names that secrets are assigned to. Code and manuals
// also assign harmless values to them, so accepts checks the value.
type nameKind struct {
	kind string
	// names are endings of the names, in lower case. A short one must begin a
	// word of the name: bypass does not end in "pass".
	names   []string
	short   bool
	accepts func(v assignment) bool
}

// assignment is an assigned value and how it was written.
type assignment struct {
	value  []byte
	quoted bool
	tight  bool // "=" directly before the value, as in a shell
	comma  bool // the sign is a comma, as in define('NAME', 'value')
	line   bool // it is the rest of its line
	joined bool // the name has a qualifier: X-Server-Token, _authToken
}

var kinds = []*nameKind{
	{
		kind:    "password",
		names:   []string{"password_hash", "mot_de_passe", "motdepasse"},
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
			"secret id", "unseal key", "unseal_key", "recovery key", "signing secret", "secret key", "access key", "hmac_key", "hmackey", "_p12", "p12_", "_p8", "_pfx", "pfx_", "_private", "keystore", "reporter_id",
		},
		accepts: assignment.isKey,
	},
	{
		kind:  "token",
		names: []string{"token", "jwt", "webhook_url", "connect.sid", "phpsessid", "jsessionid", "amz-signature", "goog-signature", "authtok", "li_at"},
		accepts: func(v assignment) bool {
			return len(v.value) >= 16 && random(v.value) || v.joined && isUUID(v.value)
		},
	},
	{
		kind:    "token",
		names:   []string{"sessionid", "session_id", "session-id"}, // a UUID names the session of an agent
		accepts: func(v assignment) bool { return len(v.value) >= 16 && random(v.value) },
	},
	{
		kind:    "login",
		names:   []string{"_auth", "\"auth", "'auth"},
		accepts: func(v assignment) bool { return isLogin(v.value) },
	},
	{
		kind:  "secret",
		names: []string{"key", "auth", "crumb", "community", "team", "sig", "salt", "seed", "cookie", "session", "sid", "dsn", "sas", "code", "pat", "signature"},
		short: true, accepts: func(v assignment) bool { return v.isShortKey() && !(v.quoted && signsThinking(v.value)) },
	},
}

func (v assignment) isKey() bool {
	n := len(v.value)
	return n >= 16 && (random(v.value) || isUUID(v.value)) || n >= 40 && (v.quoted || v.tight) && isDense(v.value)
}

// isDense reports whether a value is random although it has brackets and the like, as the
// keys of Django and WordPress do.
func isDense(value []byte) bool {
	return classes(value) >= 3 && bytes.ContainsAny(value, digits) && entropy(value) >= 4.2 && !isReference(value) && !isIdentifier(value) &&
		count(value, urlsafe)*20 < len(value)*19
}

func (v assignment) isShortKey() bool {
	if v.joined {
		return v.isKey()
	}
	return len(v.value) >= 20 && random(v.value) && !isCacheKey(v.value) && !isBelow(v.value) && !isHexadecimal(v.value) && !v.comma || v.comma && len(v.value) >= 40 && isDense(v.value)
}

// isBelow reports whether a value is the path of a file below other directories.
func isBelow(value []byte) bool {
	return hasPrefix(value, []string{"/", "~/"}) && bytes.Count(value, []byte("/")) >= 3
}

// signsThinking reports whether a value looks like the signature of a thinking block of
// Anthropic's API. It is no secret, and without it the block cannot be sent again. It is
// base64 of a protobuf message that begins with field 2, so its first byte is 0x12.
func signsThinking(value []byte) bool {
	return len(value) >= 100 && value[0] == 'E' && 'g' <= value[1] && value[1] <= 'v'
}

// longestValue is how long a value may be.
const longestValue = 8192

var (
	beforeSign  = classOf(" \t\"'`])\\?")
	beforeValue = classOf(" \t=>(")
	afterValue  = classOf("\"'`,;)}]<\\|")
	star        = classOf("*")
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
	if i > end && k.short && alnum[text[end]] {
		return Finding{}, false
	}
	v, from, to := valueAfter(text, i)
	v.joined = start > 0 && urlsafe[text[start-1]]
	if suffix := bytes.ToLower(text[end:i]); bytes.HasSuffix(suffix, []byte("algorithm")) || (text[end-1]|0x20 == 'y' || k.short && isUUID(v.value)) && bytes.HasSuffix(suffix, []byte("id")) || bytes.HasSuffix(suffix, []byte("challenge")) || v.joined && text[end-1]|0x20 == 'y' && (isHarmless(text, start) || isHarmless(text, start-1)) {
		return Finding{}, false // cache_key, PublicKey, model_session_id
	}
	if k.kind != "password" && isPublicName(text[:start]) {
		return Finding{}, false // PublicKeyToken
	}
	switch {
	case v.value == nil || len(v.value) > longestValue || isMark(v.value) || isPlaceholder(v.value) || k.kind != "password" && isPublic(v.value):
	case !v.joined && !v.quoted && !v.tight && string(text[start:end]) == "PASS" && isTest(v.value):
	case k.accepts(v):
		return Finding{from, quoteEnd(text, from, to, v.quoted), k.kind}, true
	}
	return Finding{}, false
}

// isTest reports whether a value is the name of a test.
func isTest(value []byte) bool {
	return bytes.HasPrefix(value, []byte("Test")) || bytes.HasPrefix(value, []byte("test")) || bytes.IndexByte(value, '/') >= 0
}

// quoteEnd returns the end of the quoted value of which text[from:to] is the beginning:
// it may go on after a space or an escape.
func quoteEnd(text []byte, from, to int, quoted bool) int {
	if !quoted {
		return to
	}
	quote, escapes := text[from-1], 0
	for escapes < from-1 && text[from-2-escapes] == '\\' {
		escapes++
	}
	line := text[to:min(len(text), to+256)]
	for i := 0; i < len(line) && line[i] != '\n'; i++ {
		n := 0
		for i < len(line) && line[i] == '\\' {
			i++
			n++
		}
		if i < len(line) && line[i] == quote && n <= escapes {
			return to + i - n
		}
	}
	return to
}

// valueAfter returns the value assigned to the name that ends at i: between
// quotes, else up to a space or the end of a list.
func valueAfter(text []byte, i int) (v assignment, from, to int) {
	limit := min(len(text), i+longestValue+64)
	quotedName := false
	if bytes.HasPrefix(text[i:], []byte("**")) { // **password**: …
		i += 2
	}
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
	for n := 0; i < limit && (n < 8 || v.comma && n < 32) && beforeValue[text[i]]; n++ {
		i++
	}
	v.tight = i == sign && text[sign-1] == '='
	stars := run(text[:limit], i, star) - i
	if stars == 2 && i == sign && i+2 < limit && text[i+2] == ' ' { // **password:** …
		i, stars = i+3, 0
	}
	for i < limit && text[i] == '\\' { // a quote inside a string
		i++
	}
	if i < limit && (text[i] == '"' || text[i] == '\'' || text[i] == '`' || text[i] == '{' && v.tight) {
		quote := text[i]
		if quote == '{' { // Pwd={…} of ODBC
			quote = '}'
		}
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
	if to-i > 2*stars && bytes.Equal(text[i:i+stars], text[to-stars:to]) { // **…**
		i, to = i+stars, to-stars
	}
	v.value = text[i:to]
	v.line = to == len(text) || text[to] == '\n' || text[to] == '\r'
	return v, i, to
}

// isParameter reports whether a text begins with name=, as after the & of a URL.
func isParameter(text []byte) bool {
	n := run(text[:min(len(text), 40)], 0, urlsafe)
	return n == 0 || n < len(text) && text[n] == '='
}
