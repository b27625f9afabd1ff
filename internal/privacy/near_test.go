package privacy_test

import (
	"math/rand/v2"
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
