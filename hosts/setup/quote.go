package setup

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellLine writes words as a line that a shell reads as those words.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

func shellWord(w string) string {
	switch {
	case plainWord.MatchString(w):
		return w
	case runtime.GOOS == "windows":
		return `"` + w + `"` // no path there may hold a quote
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
