package ui

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// The colours are those of comments, strings and the commonest keywords, whatever the language is.
// A library that knows the languages (chroma) makes the command 4 MB larger.
var (
	codeEnding = lazyregexp.New(`\.(go|py|rb|rs|js|jsx|mjs|ts|tsx|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|sql|lua|scala|css|ya?ml|toml|json)$`)
	codeToken  = lazyregexp.New(`(?m)(?P<c>(?:^|[ \t])//.*$|(?:^|[ \t])#[ !].*$|/\*(?s:.*?)\*/)` +
		"|(?P<s>\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'|`[^`]*`)" +
		`|(?P<w>\b[A-Za-z]\w*)`)
	keywords = strings.Fields(`func function def fn return if else elif for range while switch case break continue default var let const type
		struct interface class enum impl trait import package from export public private static void async await defer
		select chan map try catch except finally raise throw with yield lambda nil null None true false True False
		then fi do done esac local`)
)

// coloured escapes code, with its tokens in spans.
func coloured(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range codeToken().FindAllStringSubmatchIndex(text, -1) {
		class := "comment"
		switch {
		case m[4] >= 0:
			class = "string"
		case m[6] >= 0 && !slices.Contains(keywords, text[m[0]:m[1]]):
			continue
		case m[6] >= 0:
			class = "keyword"
		}
		fmt.Fprintf(&b, `%s<span class="%s">%s</span>`, html.EscapeString(text[at:m[0]]), class, html.EscapeString(text[m[0]:m[1]]))
		at = m[1]
	}
	return b.String() + html.EscapeString(text[at:])
}

// mostCompared bounds the work of a diff: pairs of lines, beyond which all lines are changed.
const mostCompared = 250_000

// lineDiff returns the lines of two texts as a hunk of a diff, by their longest common subsequence.
func lineDiff(before, after []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -1,%d +1,%d @@\n", len(before), len(after))
	same := 0 // lines at the beginning, which are most of many edits
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	write := func(sign string, lines []string) {
		for _, l := range lines {
			b.WriteString(sign + l + "\n")
		}
	}
	write(" ", before[:same])
	x, y := before[same:], after[same:]
	if len(x)*len(y) > mostCompared {
		write("-", x)
		write("+", y)
		return b.String()
	}
	common := make([][]int, len(x)+1) // [i][j]: of x[i:] and y[j:]
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := range slices.Backward(x) {
		for j := range slices.Backward(y) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			write(" ", x[i:i+1])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			write("-", x[i:i+1])
			i++
		default:
			write("+", y[j:j+1])
			j++
		}
	}
	return b.String()
}
