package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/jsonstring"
	"github.com/lossless-context/lcm/internal/redact"
)

// readFormats reads the table of realistic formats: a line is a name, a tab and
// a text in which {alnum:20} and the like stand for random characters, so that
// none of the secrets is anybody's, and «» for where the secret begins and ends.
func readFormats(t *testing.T) [][2]string {
	t.Helper()
	text, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all [][2]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		name, format, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab: %q", line)
		}
		all = append(all, [2]string{name, strings.ReplaceAll(format, `\n`, "\n")})
	}
	return all
}

var variable = regexp.MustCompile(`\{([a-z0-9]+)(?::(\d+))?\}`)

// fill replaces the variables of a format.
func fill(r *rand.Rand, format string) string {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	sets := map[string]string{
		"alnum": lower + upper + digits, "hex": digits + "abcdef", "b64": lower + upper + digits + "+/", "url": lower + upper + digits + "_-",
		"caps": upper + digits, "low": lower + digits, "digits": digits, "b32": upper + "234567",
		"bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
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

// carriers put a text into the places where texts are met. What is escaped there is
// undone by plain.
var carriers = map[string]func(text string) string{
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

func quoted(v any) string {
	b, err := jsonstring.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// plain returns a text without escapes, so that a secret is found however it is written.
func plain(text []byte) string {
	for range 6 {
		text = []byte(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(string(text)))
	}
	return string(text)
}

// TestFormats: of realistic formats at least 97 of a hundred lose their secret,
// whatever it is and wherever it stands, and nothing is found in the result.
func TestFormats(t *testing.T) {
	formats := readFormats(t)
	if len(formats) < 120 {
		t.Fatalf("only %d formats", len(formats))
	}
	const rounds = 4
	missed, all := map[string]int{}, 0
	r := redact.Redactor{Secrets: true}
	for i, f := range formats {
		random := rand.New(rand.NewPCG(uint64(i), 14))
		failed, sample := 0, ""
		for range rounds {
			text := fill(random, f[1])
			_, rest, ok := strings.Cut(text, "«")
			secret, _, closed := strings.Cut(rest, "»")
			if !ok || !closed {
				t.Fatalf("%s marks no secret", f[0])
			}
			text = strings.NewReplacer("«", "", "»", "").Replace(text)
			for name, carry := range carriers {
				carried := carry(text)
				got, _ := r.Text([]byte(carried))
				if got == nil || strings.Contains(plain(got), secret) || strings.Contains(plain(got), plain([]byte(secret))) {
					missed[name]++
					failed++
					sample = name + ": " + carried
				}
				if again, _ := r.Text(got); again != nil {
					t.Errorf("%s: redacted twice: %q, then %q", f[0], got, again)
				}
				if json.Valid([]byte(carried)) && got != nil && !json.Valid(got) {
					t.Errorf("%s: %s is no JSON any more: %s", f[0], name, got)
				}
			}
		}
		all += rounds
		if failed > 0 {
			t.Logf("%s: %d of %d missed, such as in %s", f[0], failed, rounds*len(carriers), sample)
		}
	}
	for name := range carriers {
		rate := 100 * float64(all-missed[name]) / float64(all)
		t.Logf("%s: %d formats, %.1f %% found", name, len(formats), rate)
		if rate < 97 {
			t.Errorf("%s: %.1f %% found, want 97", name, rate)
		}
	}
}
