package ui

import (
	"testing"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/llms"
)

// TestSnippetsAreReadable checks that escapes of JSON and signs of Markdown are not shown,
// and that every other character and every mark is.
func TestSnippetsAreReadable(t *testing.T) {
	for _, c := range []struct {
		name string
		m    recall.Match
		want string
	}{
		{"marks and escaping", recall.Match{Role: llms.RoleUser, Snippet: "a <b> otter & c", MatchRanges: [][2]int{{6, 11}}}, "a &lt;b&gt; <mark>otter</mark> &amp; c"},
		{"both ends are cut", recall.Match{Role: llms.RoleUser, Snippet: "an otter", CutBefore: true, CutAfter: true, Truncated: true}, "… an otter …"},
		{"the end is cut", recall.Match{Role: llms.RoleUser, Snippet: "an otter", CutAfter: true, Truncated: true}, "an otter …"},
		{"JSON of a call", recall.Match{Role: llms.RoleAssistant, Snippet: `"new": "env:\n\tLEVEL: \"info\" C:\\otter"`, MatchRanges: [][2]int{{36, 41}}}, "&#34;new&#34;: &#34;env:\n LEVEL: &#34;info&#34; C:\\<mark>otter</mark>&#34;"},
		{"a mark after an escape", recall.Match{Role: llms.RoleAssistant, Snippet: `{"a":"\notter"}`, MatchRanges: [][2]int{{7, 13}}}, "{&#34;a&#34;:&#34;\n<mark>otter</mark>&#34;}"},
		{"a backslash of a user stays", recall.Match{Role: llms.RoleUser, Snippet: `{"a": print("\n")}`}, `{&#34;a&#34;: print(&#34;\n&#34;)}`},
		{"Markdown", recall.Match{Role: llms.RoleAssistant, Snippet: "## The **otter** and `code` 2*3 #4\n# End", MatchRanges: [][2]int{{9, 14}}}, "The <mark>otter</mark> and code 2*3 #4\nEnd"},
		{"output of a tool stays", recall.Match{Role: llms.RoleTool, Snippet: "# **x** `y` \\n {\"a\"", MatchRanges: nil}, "# **x** `y` \\n {&#34;a&#34;"},
	} {
		if got := string(mark(c.m)); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}
