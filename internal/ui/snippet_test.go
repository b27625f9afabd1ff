package ui

import (
	"testing"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// TestSnippets checks that snippets are escaped and marked.
func TestSnippets(t *testing.T) {
	for _, c := range []struct {
		name string
		m    recall.Match
		want string
	}{
		{"marks and escaping", recall.Match{Role: llms.RoleUser, Snippet: "a <b> otter & c", MatchRanges: [][2]int{{6, 11}}}, "a &lt;b&gt; <mark>otter</mark> &amp; c"},
		{"whole words", recall.Match{Role: llms.RoleUser, Snippet: "pg_advisory_xact_lock, unlock 改为数据库", MatchRanges: [][2]int{{17, 21}, {25, 29}, {30, 32}}}, "<mark>pg_advisory_xact_lock</mark>, <mark>unlock</mark> <mark>改为</mark>数据库"},
		{"both ends are cut", recall.Match{Role: llms.RoleUser, Snippet: "an otter", CutBefore: true, CutAfter: true, Truncated: true}, "… an otter …"},
		{"the end is cut", recall.Match{Role: llms.RoleUser, Snippet: "an otter", CutAfter: true, Truncated: true}, "an otter …"},
	} {
		if got := string(mark(c.m)); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}
