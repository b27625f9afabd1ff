package redact_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

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

// TestFormats: of realistic formats at least 95 of a hundred lose their secret,
// whatever it is.
func TestFormats(t *testing.T) {
	formats := readFormats(t)
	if len(formats) < 120 {
		t.Fatalf("only %d formats", len(formats))
	}
	const rounds = 25
	missed, all := 0, 0
	for i, f := range formats {
		r := rand.New(rand.NewPCG(uint64(i), 14))
		failed, sample := 0, ""
		for range rounds {
			text := fill(r, f[1])
			_, rest, ok := strings.Cut(text, "«")
			secret, _, closed := strings.Cut(rest, "»")
			if !ok || !closed {
				t.Fatalf("%s marks no secret", f[0])
			}
			text = strings.NewReplacer("«", "", "»", "").Replace(text)
			got, _ := redact.Redactor{Secrets: true}.Text([]byte(text))
			if got == nil || strings.Contains(string(got), secret) {
				failed++
				sample = text
			}
			if again, n := (redact.Redactor{Secrets: true}).Text(got); again != nil {
				t.Errorf("%s: redacted twice: %q, then %q %+v", f[0], got, again, n)
			}
		}
		all += rounds
		missed += failed
		if failed > 0 {
			t.Logf("%s: %d of %d missed, such as %q", f[0], failed, rounds, sample)
		}
	}
	rate := 100 * float64(all-missed) / float64(all)
	t.Logf("%d formats, %.1f %% found", len(formats), rate)
	if rate < 95 {
		t.Errorf("%.1f %% found, want 95", rate)
	}
}
