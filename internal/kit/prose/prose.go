// Package prose writes numbers and short texts for people and models: counts
// with their nouns, sizes in bytes, and texts that are cut to a length.
package prose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Number returns n in digits with a comma between thousands: "12,000".
func Number[T ~int | ~int64](n T) string {
	digits, sign := strconv.FormatInt(int64(n), 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Count returns n with its noun: "1 message", "12,000 messages".
func Count[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Plural is Count without commas, for texts from which a model takes the number
// as an argument.
func Plural[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Size returns a number of bytes: "512 B", "1.5 kB", "12 MB".
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit, larger := float64(n)/1000, "kB", []string{"MB", "GB", "TB"}
	for f >= 999.5 && len(larger) > 0 {
		f, unit, larger = f/1000, larger[0], larger[1:]
	}
	if f < 10 {
		return fmt.Sprintf("%.1f %s", f, unit)
	}
	return fmt.Sprintf("%.0f %s", f, unit)
}

// Clip cuts a text after so many characters, and puts "…" in place of the rest.
func Clip(text string, characters int) string {
	if len(text) <= characters {
		return text
	}
	for i := range text {
		if characters--; characters < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// Zone names the zone of a time. A zone with summer time has two names.
func Zone(now time.Time) string {
	name := func(month time.Month) string {
		n := time.Date(now.Year(), month, 1, 12, 0, 0, 0, now.Location()).Format("MST")
		if strings.HasPrefix(n, "+") || strings.HasPrefix(n, "-") {
			n = "UTC" + n // zones without a name of their own
		}
		return n
	}
	winter, summer := name(time.January), name(time.July)
	if winter == summer {
		return winter
	}
	return winter + "/" + summer
}

// OneLine puts a single space in place of each run of white space.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// AtLeast is Plural for a count that may be higher.
func AtLeast(n int, more bool, one, many string) string {
	if more {
		return "at least " + Plural(n, one, many)
	}
	return Plural(n, one, many)
}

// Join writes values one after another, at most so many of them (0: all), and how many
// more there are.
func Join[T any](all []T, sep string, most int) string {
	var b strings.Builder
	for i, v := range all {
		if most > 0 && i == most {
			fmt.Fprintf(&b, " and %d more", len(all)-most)
			break
		}
		if i > 0 {
			b.WriteString(sep)
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

// SameWord reports whether two characters that stand side by side are of one word. In
// scripts without spaces between words no two are.
func SameWord(before, after rune) bool {
	const unspaced = 0x0E00 // Thai; Chinese, Japanese and Korean are behind it
	of := func(r rune) bool {
		return r < unspaced && (r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N))
	}
	return of(before) && of(after)
}

// NotInRecord names the words of a question that no text has.
func NotInRecord(words []string) string { return "not in the record: " + strings.Join(words, ", ") }
