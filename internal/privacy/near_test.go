package privacy_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

// TestNear: of random values near a word for a credential at least 96 of a hundred are
// masked, and of hashes, ids, examples and code that stand in the same places none.
func TestNear(t *testing.T) {
	const rounds = 2
	r := privacy.Redactor{Secrets: true}
	for file, masked := range map[string]bool{"testdata/near.txt": true, "testdata/innocents.txt": false} {
		formats := redacttest.Read(t, file)
		wrong := 0
		for i, f := range formats {
			random := rand.New(rand.NewPCG(uint64(i), 28))
			for range rounds {
				text, secret := f.Fill(random)
				for _, name := range []string{"plain text", "JSON", "a sentence"} {
					carried := redacttest.Carriers[name](text)
					got, _ := r.Text([]byte(carried))
					if hidden := got != nil && (!masked || !redacttest.Shows(string(got), secret)); hidden != masked {
						t.Logf("%s: %s: %s", f.Name, name, carried)
						wrong++
						break
					}
				}
			}
		}
		rate := 100 * float64(wrong) / float64(rounds*len(formats))
		t.Logf("%s: %.1f %% wrong", file, rate)
		if limit := map[bool]float64{true: 4, false: 0}[masked]; rate > limit {
			t.Errorf("%s: %.1f %% wrong, want at most %.0f", file, rate, limit)
		}
	}
}

// TestListedHashes: a hash at the beginning of a line with a file's name after it is no secret,
// whatever the file is called; the same hash after a word for one is.
func TestListedHashes(t *testing.T) {
	const hash = "457288688eed230a426a881d782969d5"
	for text, found := range map[string]bool{
		hash + "  backup-passwords.tar.gz":             false,
		"ok\n+" + hash + " vendor/secret (v1)":         false,
		hash + hash[:8] + "  backup-passwords.tar.gz":  false,
		hash + hash + "  backup-passwords.tar.gz":      false,
		"the password is " + hash + " for the gateway": true,
		"password:\n" + hash + " a.tar.gz":             false,
		"password:\n" + hash + " \nthe gateway's":      true,
		"password:\n" + hash + " ":                     true,
	} {
		if got := privacy.Secrets([]byte(text)); (len(got) > 0) != found {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestSaid: secrets in the words in which people and programs were seen to say them.
func TestSaid(t *testing.T) {
	for _, text := range []string{
		"APIキー「«rXilPPqMwgX4Lo324Bqju4U6»」を使う", "APIキー「«946dc422962ecb375f1a04d5e1fa303e»」", "パスワード「«rXilPPqMwgX4»」",
		"Hasło to «Kotek.Okno.28»", "hasło do bazy to «dragon81»", "Hasło brzmi: «Tr0ub4dor&3»",
		"log in as admin with «Copper.Window.28»", "you can login as root with password «dragon81» on staging", "logged in as `ada` using «hunter2Xq»",
		"| User | Password |\n|------|:--------:|\n| admin | «dragon81» |\n", "| Host | Password | Notes |\n| --- | --- | --- |\n| db1 | `«Copper-Window-42»` | since 2026 |",
		"root:«$6$aB3dE5fG7hI9jK1l$Qw8eR7tY6uI5oP4aS3dF2gH1jK0lZ9xC8vB7nM6qW5eR4tY3uI2oP1aS0dF9gH8jK7lZ6xC5vB4nM3q/»:19722:0:99999:7:::",
		`"otp":"«207619»"`, `{"phone":"+4915112345678","otp":"«207619»"}`, "otp=«207619»", "otp_code: «207619»",
		"DEV OTP for x: «767985»", "DEV OTP for +4915112345678: «767985»", `{"otp":"[redacted: one time code]"} DEV OTP for user_123: «767985»`,
	} {
		before, rest, _ := strings.Cut(text, "«")
		secret, after, _ := strings.Cut(rest, "»")
		for _, carrier := range []string{"plain text", "JSON", "a sentence", "tool result"} {
			carried := redacttest.Carriers[carrier](before + secret + after)
			if got, _ := (privacy.Redactor{Secrets: true}).Text([]byte(carried)); got == nil || redacttest.Shows(string(got), secret) {
				t.Errorf("%s: %s: %s", carrier, text, got)
			}
		}
	}
}
