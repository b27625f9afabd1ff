package setup

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
)

var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellLine quotes words for a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

func shellWord(w string) string {
	switch {
	case plainWord().MatchString(w):
		return w
	case runtime.GOOS == "windows":
		return `"` + w + `"` // no path there may hold a quote
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// shellWords splits a line of shellLine, or one that is as simple.
func shellWords(line string) []string {
	var words []string
	var b strings.Builder
	quote, any, escaped := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case quote == 0 && (r == ' ' || r == '\t'):
			if any {
				words = append(words, b.String())
			}
			b.Reset()
			any = false
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && r == '\\' && runtime.GOOS != "windows":
			escaped = true
		default:
			b.WriteRune(r)
		}
		any = true
	}
	if any {
		words = append(words, b.String())
	}
	return words
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
