// Package redacttest makes the texts with secrets that tests of masking share.
package redacttest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// Format is a text in which {alnum:20} and the like stand for random characters, so
// that none of the secrets is anybody's, and «» for where the secret begins and ends.
type Format struct{ Name, Text string }

// Read reads a table of realistic formats: a line is a name, a tab and a text.
func Read(t testing.TB, path string) []Format {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []Format
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		name, format, ok := strings.Cut(line, "\t")
		if !ok || strings.Count(format, "«") != 1 || strings.Count(format, "»") != 1 {
			t.Fatalf("no tab, or not one secret: %q", line)
		}
		all = append(all, Format{name, strings.ReplaceAll(format, `\n`, "\n")})
	}
	return all
}

var variable = regexp.MustCompile(`\{([a-z0-9]+)(?::(\d+))?\}`)

// Fill returns the format with a random secret, and the secret.
func (f Format) Fill(r *rand.Rand) (text, secret string) {
	text = fill(r, f.Text)
	_, rest, _ := strings.Cut(text, "«")
	secret, _, _ = strings.Cut(rest, "»")
	return strings.NewReplacer("«", "", "»", "").Replace(text), secret
}

// fill replaces the variables of a format.
func fill(r *rand.Rand, format string) string {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	sets := map[string]string{
		"alnum": lower + upper + digits, "hex": digits + "abcdef", "b64": lower + upper + digits + "+/", "url": lower + upper + digits + "_-",
		"caps": upper + digits, "low": lower + digits, "digits": digits, "b32": upper + "234567",
		"bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "bechl": "qpzry9x8gf2tvdw0s3jn54khce6mua7l", "capshex": digits + "ABCDEF", "b64url": lower + upper + digits + "_-",
	}
	draw := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	password := func() string {
		return draw(upper, 1) + draw(lower, 4) + draw("!#%*+=?", 1) + draw(digits, 2) + draw(lower+upper, 4)
	}
	return variable.ReplaceAllStringFunc(format, func(v string) string {
		m := variable.FindStringSubmatch(v)
		n, _ := strconv.Atoi(m[2])
		switch m[1] {
		case "abcd":
			return draw("bcdfghjklmnpqrstvwxzaeiou", 4)
		case "pw":
			return password()
		case "weak": // a name and a number, as people choose them
			return []string{"sunshine", "dragon", "Monkey", "hunter", "winter"}[r.IntN(5)] + draw(digits, 2)
		case "login":
			return base64.StdEncoding.EncodeToString([]byte("deploy:" + password()))
		case "uuid":
			return fmt.Sprintf("%s-%s-4%s-a%s-%s", draw(sets["hex"], 8), draw(sets["hex"], 4), draw(sets["hex"], 3), draw(sets["hex"], 3), draw(sets["hex"], 12))
		case "jwt":
			head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
			body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + draw(digits, 10) + `","iat":1516239022}`))
			return head + "." + body + "." + draw(sets["url"], 43)
		}
		set, ok := sets[m[1]]
		if !ok {
			return v
		}
		return draw(set, n)
	})
}

// Shows reports whether an output has a secret, however it is escaped there.
func Shows(output, secret string) bool {
	return strings.Contains(output, secret) || strings.Contains(Plain(output), Plain(secret))
}

// Plain returns a text without the escapes of JSON.
func Plain(text string) string {
	for range 6 {
		text = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(text)
	}
	return text
}

// Carriers put a text into the places where texts are met. What is escaped there is
// undone by Plain.
var Carriers = map[string]func(text string) string{
	"plain text": func(text string) string { return text },
	"a sentence": func(text string) string { return "I tried it with\n\n" + text + "\n\nand it failed." },
	"JSON":       func(text string) string { return quoted(map[string]any{"role": "user", "content": text}) },
	"JSON in JSON": func(text string) string {
		return quoted(map[string]any{"a": quoted(map[string]any{"b": text, "n": 1})})
	},
	"deep JSON": func(text string) string { return quoted([]any{quoted([]any{quoted([]any{quoted(text)})})}) },
	"lines of JSON": func(text string) string {
		return quoted(map[string]any{"n": 1}) + "\n" + quoted(map[string]any{"log": text})
	},
	"cut JSON": func(text string) string { return quoted(map[string]any{"log": text}) + ` and {"more": "` },
	"YAML block": func(text string) string {
		return "steps:\n  - run: |\n      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
	},
	"YAML quotes": func(text string) string { return "note: " + quoted(text) + "\nnext: 1\n" },
	"TOML":        func(text string) string { return "[note]\ntext = " + quoted(text) + "\nnext = 1\n" },
	"TOML lines":  func(text string) string { return "[note]\ntext = '''\n" + text + "\n'''\n" },
	"tool arguments": func(text string) string {
		return quoted(map[string]any{"command": []any{"bash", "-lc", text}, "timeout": 10})
	},
	"tool result": func(text string) string {
		return quoted(map[string]any{"output": text, "metadata": map[string]any{"exit_code": 0}})
	},
}

// Encoders put a text into the encodings that masking decodes, and return it with what the
// secret in it looks like there.
var Encoders = map[string]func(text, secret string) (carried, hidden string){
	"base64": func(text, secret string) (string, string) {
		whole, from := base64.StdEncoding.EncodeToString([]byte(text)), strings.Index(text, secret)
		return "decode this: " + whole + " and go on", whole[(from+2)/3*4 : (from+len(secret))/3*4]
	},
	"hex": func(text, secret string) (string, string) {
		return "decode this: " + hex.EncodeToString([]byte(text)) + " and go on", hex.EncodeToString([]byte(secret))
	},
}

func quoted(v any) string {
	b, err := jsonstring.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Edit returns a text with a small change: a character more, less or another one, or a beginning or an
// end less.
func Edit(r *rand.Rand, text string) string {
	if len(text) < 2 {
		return text
	}
	i, signs := r.IntN(len(text)), "aZ7-_./=:\"' \n\\<>&%*,;[{"
	sign := signs[r.IntN(len(signs)):][:1]
	switch r.IntN(8) {
	case 0:
		return text[:i] + text[i+1:]
	case 1:
		return text[:i] + text[i:i+1] + text[i:]
	case 2:
		return text[:i] + strings.ToUpper(text[i:i+1]) + text[i+1:]
	case 3:
		return text[:i] + sign + text[i+1:]
	case 4:
		return text[:i] + sign + text[i:]
	case 5:
		return text[:i+1]
	case 6:
		return text[i:]
	}
	return text[:i] + text[min(len(text), i+2+r.IntN(10)):]
}
