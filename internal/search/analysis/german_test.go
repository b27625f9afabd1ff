package analysis

import (
	"strings"
	"testing"
)

func TestGermanStem(t *testing.T) {
	for _, forms := range []string{"artikel artikeln artikels", "nachricht nachrichten", "runden gerundet runde rundung", "sicherung sicherungen gesichert", "verarbeiten verarbeitet", "parallel parallelisiert parallelisieren", "preis preise preisen"} {
		words := strings.Fields(forms)
		for _, w := range words {
			if GermanStem(w) != GermanStem(words[0]) {
				t.Errorf("%s: %s, but %s: %s", w, GermanStem(w), words[0], GermanStem(words[0]))
			}
		}
	}
	for a, b := range map[string]string{"fehler": "fehlen", "datei": "daten", "konto": "kontor", "tat": "ta"} {
		if GermanStem(a) == GermanStem(b) {
			t.Errorf("%s and %s have one stem", a, b)
		}
	}
}
