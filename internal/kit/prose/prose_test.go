package prose_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -999: "-999", 1234567: "1,234,567"} {
		if got := prose.Number(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 leaves", 1: "1 leaf", 2: "2 leaves", 12000: "12,000 leaves"} {
		if got := prose.Count(n, "leaf", "leaves"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int64]string{0: "0 leaves", 1: "1 leaf", 12000: "12000 leaves"} {
		if got := prose.Plural(n, "leaf", "leaves"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1540: "1.5 kB", 15_400: "15 kB", 999_499: "999 kB", 999_500: "1.0 MB",
		1_250_000_000: "1.2 GB", 5_000_000_000_000_000: "5000 TB",
	} {
		if got := prose.Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"日本語", 3, "日本語"}, {"日本語です", 3, "日本語…"}, {"ab", 0, "…"},
	} {
		if got := prose.Clip(c.text, c.n); got != c.want {
			t.Errorf("%q cut after %d is %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := prose.OneLine("  a\n\tb  c "), "a b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
