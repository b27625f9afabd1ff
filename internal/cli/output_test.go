package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/kit/prose"
)

func TestNumbersAreReadable(t *testing.T) {
	for want, got := range map[string]string{
		"0":         prose.Number(0),
		"999":       prose.Number(999),
		"1,000":     prose.Number(1000),
		"-1,234":    prose.Number(-1234),
		"1 token":   prose.Count(1, "token", "tokens"),
		"2 tokens":  prose.Count(2, "token", "tokens"),
		"999 B":     prose.Size(999),
		"1.0 kB":    prose.Size(1000),
		"1.0 MB":    prose.Size(999_999),
		"12 MB":     prose.Size(12_345_678),
		"abc…":      clip("abcdef", 4),
		"日…":        clip("日本語", 4),
		"…def":      clipLeft("abcdef", 4),
		"unclipped": clip("unclipped", 9),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlainErrors(t *testing.T) {
	for message, want := range map[string]string{
		"database x: database disk image is malformed\ndatabase disk image is malformed": "database x: database disk image is malformed",
		"there is no database at /tmp/lcm.db yet":                                        "there is no database at /tmp/lcm.db yet",
	} {
		if got := plain(message); got != want {
			t.Errorf("plain(%q) = %q, want %q", message, got, want)
		}
	}
}

// How many more there are of each code is said in the same order every time.
func TestFindingsAreCountedInOrder(t *testing.T) {
	var want []string
	var r doctorReport
	for _, code := range []string{"a", "b", "c", "d", "e", "f"} {
		want = append(want, "2 more of "+code)
		for i := range maxShown + 2 {
			r.Findings = append(r.Findings, doctor.Finding{Code: code, Severity: doctor.Warning, Where: fmt.Sprint(i)})
		}
	}
	var out bytes.Buffer
	(&doctorCommand{program: newProgram(nil, &out, io.Discard)}).printFindingsOf(r)
	if got := regexp.MustCompile(`2 more of \w`).FindAllString(out.String(), -1); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
