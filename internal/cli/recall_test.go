package cli

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

func TestMatchesOnATerminal(t *testing.T) {
	m := recall.Match{Snippet: "be\x1b[2Jware of \x1b]0;evil\atitle\nand more", MatchRanges: [][2]int{{11, 27}}}
	var out bytes.Buffer
	a := &grepCommand{program: &program{out: &out, terminal: true, colour: true}}
	want := "be\\x1b[2Jware \x1b[1;31mof \\x1b]0;evil\\x07titl\x1b[0me"
	if diff := cmp.Diff(want, a.matchedLine(m)); diff != "" {
		t.Errorf("in colour (-want +got):\n%s", diff)
	}
	a.colour = false
	if diff := cmp.Diff("be\\x1b[2Jware of \\x1b]0;evil\\x07title", a.matchedLine(m)); diff != "" {
		t.Errorf("without colour (-want +got):\n%s", diff)
	}
}

func TestMatchedLine(t *testing.T) {
	for _, c := range []struct {
		m    recall.Match
		line string
	}{
		{recall.Match{Snippet: "one\ntwo 漢字 needle\nthree", MatchRanges: [][2]int{{11, 17}}}, "two 漢字 needle"},
		{recall.Match{Snippet: "one\ntwo", MatchRanges: [][2]int{{0, 1}}}, "one"},
		{recall.Match{Snippet: "beside\nit"}, "beside"},
		{recall.Match{Snippet: "one\nneedle and", MatchRanges: [][2]int{{4, 10}}, CutBefore: true, CutAfter: true}, "needle and […]"},
		{recall.Match{Snippet: "a needle\nand", MatchRanges: [][2]int{{2, 8}}, CutBefore: true, CutAfter: true}, "[…] a needle"},
		{recall.Match{}, ""},
	} {
		if diff := cmp.Diff(c.line, (&grepCommand{program: &program{}}).matchedLine(c.m)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRecallFailures(t *testing.T) {
	err := recallFailure(&cobra.Command{Use: "grep"}, &hint.Error{Err: store.Missing("sum_1"), Hint: "find it with lcm_grep, or pass allConversations: true", Kind: recall.ErrRefused})
	if code := exitCode(err); code != exitNotFound {
		t.Errorf("exit code %d", code)
	}
	if _, hint := split(err); hint != "find it with `lcm grep`, or pass --all" {
		t.Errorf("hint %q", hint)
	}
	if code := exitCode(recallFailure(&cobra.Command{Use: "grep"}, &hint.Error{Err: errors.New("the pattern is empty"), Kind: recall.ErrRefused})); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}
