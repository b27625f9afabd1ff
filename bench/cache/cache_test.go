package cache

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"
)

func prompt(parts ...string) (blocks []Block) {
	for _, p := range parts {
		blocks = append(blocks, Block{Hash: sha256.Sum256([]byte(p)), Tokens: 100})
	}
	return blocks
}

func many(n int) (parts []string) {
	for i := range n {
		parts = append(parts, fmt.Sprint("part ", i))
	}
	return parts
}

func TestProviderReadsWhatItHasCached(t *testing.T) {
	type ask struct {
		after         time.Duration
		parts         []string
		read, written int
	}
	tests := []struct {
		name     string
		lifetime time.Duration
		asks     []ask
		cost     float64
	}{
		{"grows", shortLifetime, []ask{{0, many(3), 0, 300}, {time.Minute, many(4), 300, 100}}, 1.25*400 + 0.1*300},
		{"changes after the first block", shortLifetime, []ask{{0, many(3), 0, 300}, {time.Minute, []string{"part 0", "other", "part 2"}, 100, 200}}, 1.25*500 + 0.1*100},
		{"expires", shortLifetime, []ask{{0, many(3), 0, 300}, {6 * time.Minute, many(3), 0, 300}}, 1.25 * 600},
		{"lives an hour, and writing costs more", longLifetime, []ask{{0, many(3), 0, 300}, {6 * time.Minute, many(3), 300, 0}}, 2*300 + 0.1*300},
		{"reading prolongs", shortLifetime, []ask{{0, many(2), 0, 200}, {4 * time.Minute, many(2), 200, 0}, {4 * time.Minute, many(2), 200, 0}}, 1.25*200 + 0.1*400},
		{"20 blocks back", shortLifetime, []ask{{0, many(3), 0, 300}, {time.Minute, many(23), 300, 2000}}, 1.25*2300 + 0.1*300},
		{"21 blocks back", shortLifetime, []ask{{0, many(3), 0, 300}, {time.Minute, many(24), 100, 2300}}, 1.25*2600 + 0.1*100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Provider{Lifetime: tt.lifetime}
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for i, a := range tt.asks {
				read, written := p.Read, p.Written
				now = now.Add(a.after)
				p.Ask(now, prompt(a.parts...))
				if p.Read-read != a.read || p.Written-written != a.written {
					t.Errorf("request %d read %d and wrote %d, want %d and %d", i, p.Read-read, p.Written-written, a.read, a.written)
				}
			}
			if diff := p.Cost - tt.cost; diff > 0.01 || diff < -0.01 {
				t.Errorf("it cost %.2f, want %.2f", p.Cost, tt.cost)
			}
		})
	}
}

// The targets hold on a shorter session too, and folding a little in each turn
// misses them.
func TestMeasure(t *testing.T) {
	r, err := Measure(t.Context(), Options{Tokens: 400_000, System: 4_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 6 || len(r.Checks) != 8 {
		t.Fatalf("%d rows, %d checks", len(r.Rows), len(r.Checks))
	}
	for _, c := range r.Checks {
		if !c.OK {
			t.Errorf("%s: %.2f", c.What, c.Got)
		}
	}
	for _, row := range r.Rows[2:] {
		if row.Before.Cost < 1.5*row.After.Cost || row.ChangesBefore < 2*row.Changes || row.Changes == 0 {
			t.Errorf("%s: before %.0f with %d changes, now %.0f with %d", row.Session, row.Before.Cost, row.ChangesBefore, row.After.Cost, row.Changes)
		}
		if row.After.Largest > r.Budget+r.System {
			t.Errorf("a request has %d tokens", row.After.Largest)
		}
	}
	if text := r.Text(); !strings.Contains(text, "host compacts") {
		t.Errorf("report:\n%s", text)
	}
}
