package redact

import (
	"bytes"
)

// rule is the shape of a key or token that tells itself by how it begins.
type rule struct {
	prefix   string
	kind     string
	class    *class
	min, max int  // characters after the prefix; a max of 0 is none
	mixed    bool // there must be letters and digits among them
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
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

var (
	alnum    = classOf(lower, upper, digits)
	hexa     = classOf(digits, "abcdefABCDEF")
	capital  = classOf(upper, digits)
	word     = classOf(lower, upper, digits, "_")
	urlsafe  = classOf(lower, upper, digits, "_-")
	dotted   = classOf(lower, upper, digits, "_-.")
	pathlike = classOf(lower, upper, digits, "/")
	opaque   = classOf(lower, upper, digits, "_-.~+/=")
)

// rules are the keys of providers whose shape is known, longer prefixes first
// where one begins like another.
var rules = []rule{
	{"sk-ant-", "anthropic key", urlsafe, 32, 0, true},
	{"sk-proj-", "openai key", urlsafe, 32, 0, true},
	{"sk-svcacct-", "openai key", urlsafe, 32, 0, true},
	{"sk-or-v1-", "openrouter key", hexa, 48, 0, true},
	{"sk-", "api key", alnum, 32, 0, true},
	{"sk_live_", "stripe key", alnum, 20, 0, true},
	{"sk_test_", "stripe key", alnum, 20, 0, true},
	{"rk_live_", "stripe key", alnum, 20, 0, true},
	{"whsec_", "stripe secret", opaque, 24, 0, true},
	{"AIza", "google key", urlsafe, 35, 35, true},
	{"ya29.", "google token", dotted, 40, 0, true},
	{"GOCSPX-", "google secret", urlsafe, 28, 28, true},
	{"AKIA", "aws key", capital, 16, 16, true},
	{"ASIA", "aws key", capital, 16, 16, true},
	{"ghp_", "github token", alnum, 36, 0, true},
	{"gho_", "github token", alnum, 36, 0, true},
	{"ghu_", "github token", alnum, 36, 0, true},
	{"ghs_", "github token", alnum, 36, 0, true},
	{"ghr_", "github token", alnum, 36, 0, true},
	{"github_pat_", "github token", word, 60, 0, true},
	{"glpat-", "gitlab token", dotted, 20, 0, true},
	{"glrt-", "gitlab token", dotted, 20, 0, true},
	{"gldt-", "gitlab token", dotted, 20, 0, true},
	{"glptt-", "gitlab token", dotted, 20, 0, true},
	{"xoxb-", "slack token", urlsafe, 20, 0, true},
	{"xoxp-", "slack token", urlsafe, 20, 0, true},
	{"xoxa-", "slack token", urlsafe, 20, 0, true},
	{"xoxr-", "slack token", urlsafe, 20, 0, true},
	{"xoxs-", "slack token", urlsafe, 20, 0, true},
	{"xapp-", "slack token", urlsafe, 30, 0, true},
	{"hooks.slack.com/services/", "slack webhook", pathlike, 30, 0, true},
	{"npm_", "npm token", alnum, 36, 36, true},
	{"pypi-AgE", "pypi token", urlsafe, 50, 0, true},
	{"dop_v1_", "digitalocean token", hexa, 64, 64, true},
	{"SG.", "sendgrid key", dotted, 60, 0, true},
	{"hf_", "huggingface token", alnum, 34, 40, false},
	{"r8_", "replicate token", alnum, 37, 40, true},
	{"gsk_", "groq key", alnum, 40, 0, true},
	{"xai-", "xai key", alnum, 60, 0, true},
	{"pplx-", "perplexity key", alnum, 40, 0, true},
	{"nvapi-", "nvidia key", urlsafe, 50, 0, true},
	{"shpat_", "shopify token", hexa, 32, 32, true},
	{"shpss_", "shopify token", hexa, 32, 32, true},
	{"AGE-SECRET-KEY-1", "age key", capital, 58, 58, true},
	{"hvs.", "vault token", urlsafe, 24, 0, true},
	{"tskey-", "tailscale key", urlsafe, 20, 0, true},
	{"dckr_pat_", "docker token", urlsafe, 20, 0, true},
	{"lin_api_", "linear key", alnum, 32, 0, true},
	{"figd_", "figma token", urlsafe, 36, 0, true},
	{"ntn_", "notion token", alnum, 40, 0, true},
	{"sbp_", "supabase token", hexa, 40, 40, true},
	{"ATATT3", "atlassian token", opaque, 100, 0, true},
}

// byFirst finds the rules that a character may begin.
var byFirst = func() (at [256][]*rule) {
	for i := range rules {
		c := rules[i].prefix[0]
		at[c] = append(at[c], &rules[i])
	}
	return at
}()

// telltale are the characters at which a secret may be noticed.
var telltale = func() *class {
	c := classOf("e-:=bB")
	for i, all := range byFirst {
		c[i] = c[i] || all != nil
	}
	return c
}()

// Secrets finds the secrets of a text, in order and without overlaps.
func Secrets(text []byte) []Finding {
	var found []Finding
	for i := 0; i < len(text); {
		if !telltale[text[i]] {
			i++
			continue
		}
		f, ok := secretAt(text, i)
		if !ok {
			i++
			continue
		}
		// What was found may begin before the character that gave it away.
		for len(found) > 0 && found[len(found)-1].End > f.Start {
			f.Start = found[len(found)-1].End
		}
		if f.Start < f.End {
			found = append(found, f)
		}
		i = max(i+1, f.End)
	}
	return found
}

// secretAt looks for a secret that the character at i gives away.
func secretAt(text []byte, i int) (Finding, bool) {
	c := text[i]
	if all := byFirst[c]; all != nil && !inWord(text, i) {
		for _, r := range all {
			if f, ok := r.at(text, i); ok {
				return f, true
			}
		}
	}
	switch c {
	case 'e':
		return webToken(text, i)
	case '-':
		return privateKey(text, i)
	case ':':
		if bytes.HasPrefix(text[i:], []byte("://")) {
			return connection(text, i)
		}
		return assigned(text, i)
	case '=':
		return assigned(text, i)
	case 'b', 'B':
		return bearer(text, i)
	}
	return Finding{}, false
}

// inWord reports whether the character at i goes on with a word or a key. It
// also keeps time linear: what a key is looked for in is not looked at again.
func inWord(text []byte, i int) bool { return i > 0 && urlsafe[text[i-1]] }

// run returns the end of the characters of a class from i on.
func run(text []byte, i int, c *class) int {
	for i < len(text) && c[text[i]] {
		i++
	}
	return i
}

// longest is how long a key may be: what goes on is no key but a text without
// spaces.
const longest = 512

func (r *rule) at(text []byte, i int) (Finding, bool) {
	if !bytes.HasPrefix(text[i:], []byte(r.prefix)) {
		return Finding{}, false
	}
	from := i + len(r.prefix)
	end := run(text[:min(len(text), from+longest)], from, r.class)
	n := end - from
	if n < r.min || r.max > 0 && n > r.max || n == longest || r.mixed && !mixed(text[from:end]) {
		return Finding{}, false
	}
	return Finding{i, end, r.kind}, true
}

// mixed reports whether there are letters and digits, and not just a few
// characters again and again as in an example.
func mixed(text []byte) bool {
	var letters, numbers, kinds int
	var seen [256]bool
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			numbers++
		case alnum[c]:
			letters++
		}
		if !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	return letters > 0 && numbers > 0 && kinds >= 6
}

// webToken finds a JSON web token: three parts of base64, of which the first
// two are JSON.
func webToken(text []byte, i int) (Finding, bool) {
	if inWord(text, i) || !bytes.HasPrefix(text[i:], []byte("eyJ")) {
		return Finding{}, false
	}
	head := run(text, i, urlsafe)
	if head-i < 12 || !bytes.HasPrefix(text[head:], []byte(".eyJ")) {
		return Finding{}, false
	}
	body := run(text, head+1, urlsafe)
	if body-head < 12 || body >= len(text) || text[body] != '.' {
		return Finding{}, false
	}
	end := run(text, body+1, urlsafe)
	return Finding{i, end, "web token"}, end-body > 10
}

// privateKey finds a block of a private key, to its end or, where that was cut
// off, as far as it goes on.
func privateKey(text []byte, i int) (Finding, bool) {
	const begin, mark = "-----BEGIN ", "PRIVATE KEY"
	if !bytes.HasPrefix(text[i:], []byte(begin)) {
		return Finding{}, false
	}
	name := text[i+len(begin) : min(len(text), i+len(begin)+40)]
	n := bytes.Index(name, []byte(mark))
	if n < 0 || bytes.IndexByte(name[:n], '\n') >= 0 {
		return Finding{}, false
	}
	from := i + len(begin) + n + len(mark)
	block := text[from:min(len(text), from+longestBlock)]
	const tail = "-----END "
	if at := bytes.Index(block, []byte(tail)); at >= 0 {
		end := run(text, run(text, from+at+len(tail), heading), dashes)
		return Finding{i, end, "private key"}, count(block[:at], alnum) >= 40
	}
	end := run(block, 0, keyLines)
	return Finding{i, from + end, "private key"}, count(block[:end], alnum) >= 40
}

// longestBlock is how long a private key may be.
const longestBlock = 64 << 10

var (
	heading  = classOf(upper, " ")
	dashes   = classOf("-")
	keyLines = classOf(lower, upper, digits, "_-.~+/= \t\r\n\\:,()")
)

func count(text []byte, c *class) (n int) {
	for _, b := range text {
		if c[b] {
			n++
		}
	}
	return n
}

// bearer finds the token of an authorization header.
func bearer(text []byte, i int) (Finding, bool) {
	const name = "bearer "
	if inWord(text, i) || len(text)-i < len(name) || !bytes.EqualFold(text[i:i+len(name)], []byte(name)) {
		return Finding{}, false
	}
	from := i + len(name)
	end := run(text[:min(len(text), from+longest)], from, opaque)
	token := text[from:end]
	return Finding{from, end, "bearer token"}, len(token) >= 20 && random(token)
}
