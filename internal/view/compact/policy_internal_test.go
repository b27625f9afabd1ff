package compact

import "testing"

// The low threshold is never above the soft one: folding would end before it begins.
func TestLowThreshold(t *testing.T) {
	for low, want := range map[int]int{0: 500, 499: 499, 500: 500, 501: 500, 900: 500} {
		l := Limits{Budget: 1000, Soft: 500, Hard: 900, Low: low}.withDefaults()
		if l.Low != want || l.hasLow() != (want < 500) {
			t.Errorf("low %d becomes %d, want %d", low, l.Low, want)
		}
	}
}
