package privacy_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/privacy/redacttest"
)

// TestFormats: of realistic formats at least 97 of a hundred lose their secret,
// whatever it is and wherever it stands, and nothing is found in the result.
func TestFormats(t *testing.T) {
	formats := redacttest.Read(t, "testdata/formats.txt")
	if len(formats) < 120 {
		t.Fatalf("only %d formats", len(formats))
	}
	const rounds = 4
	missed, all := map[string]int{}, 0
	r := privacy.Redactor{Secrets: true}
	for i, f := range formats {
		random := rand.New(rand.NewPCG(uint64(i), 14))
		failed, sample := 0, ""
		for range rounds {
			text, secret := f.Fill(random)
			for name, carry := range redacttest.Carriers {
				carried := carry(text)
				got, _ := r.Text([]byte(carried))
				if got == nil || redacttest.Shows(string(got), secret) {
					missed[name]++
					failed++
					sample = name + ": " + carried
				}
				if again, _ := r.Text(got); again != nil {
					t.Errorf("%s: redacted twice: %q, then %q", f.Name, got, again)
				}
				if json.Valid([]byte(carried)) && got != nil && !json.Valid(got) {
					t.Errorf("%s: %s is no JSON any more: %s", f.Name, name, got)
				}
			}
		}
		all += rounds
		if failed > 0 {
			t.Logf("%s: %d of %d missed, such as in %s", f.Name, failed, rounds*len(redacttest.Carriers), sample)
		}
	}
	for name := range redacttest.Carriers {
		rate := 100 * float64(all-missed[name]) / float64(all)
		t.Logf("%s: %d formats, %.1f %% found", name, len(formats), rate)
		if rate < 97 {
			t.Errorf("%s: %.1f %% found, want 97", name, rate)
		}
	}
}
