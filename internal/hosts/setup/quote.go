package setup

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellLine quotes words for a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// ShellWord quotes a word for a shell.
func ShellWord(w string) string {
	switch {
	case plainWord().MatchString(w):
		return w
	case runtime.GOOS == "windows" || strings.HasPrefix(w, "${"): // which is the directory of a plugin
		return `"` + w + `"` // no path there may hold a quote
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

var (
	firstWord = lazyregexp.New(`^(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+`)
	quoted    = lazyregexp.New(`'([^']*)'|"([^"]*)"|\\(.)`)
)

// programOf returns the program of a line of shellLine, or of one that is as simple.
func programOf(line string) string {
	line = strings.TrimSpace(line)
	if runtime.GOOS == "windows" { // where a backslash separates directories
		line = strings.ReplaceAll(line, `\`, `\\`)
	}
	return quoted().ReplaceAllString(firstWord().FindString(line), "$1$2$3")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
