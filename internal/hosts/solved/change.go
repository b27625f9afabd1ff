package solved

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/recall/quote"
)

// commands cuts a command line into the words of its commands, at &&, ||, |, ; and line ends.
// Words keep their quotation marks. What is no shell is cut somewhere, and matches nothing.
func commands(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	next := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	var open rune
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			if r == '\n' { // the line goes on
				next()
				continue
			}
		case r == '\\' && open != '\'':
			escaped = true
			continue
		case open != 0:
			if r == open {
				open = 0
			}
		case r == '\'' || r == '"':
			open = r
		case strings.ContainsRune("\n;|", r) || r == '&' && !strings.HasSuffix(word.String(), ">"):
			next()
			if len(words) > 0 {
				all, words = append(all, words), nil
			}
			continue
		case r == ' ' || r == '\t':
			next()
			continue
		}
		word.WriteRune(r)
	}
	next()
	if len(words) > 0 {
		all = append(all, words)
	}
	return all
}

// program returns the name of a command's program, without its directory and the variables
// before it.
func program(words []string) string {
	for _, w := range words {
		if name, _, ok := strings.Cut(w, "="); !ok || strings.ContainsAny(name, "-/'\"") {
			return path.Base(w)
		}
	}
	return ""
}

// similar reports whether two commands may be two attempts at one thing: they have the same program, and half
// of their words, numbers aside, in common.
func similar(x, y []string) bool {
	left := map[string]int{}
	for _, w := range x {
		left[withoutNumbers(w)]++
	}
	common := 0
	for _, w := range y {
		if w = withoutNumbers(w); left[w] > 0 {
			left[w]--
			common++
		}
	}
	return program(x) == program(y) && 4*common >= len(x)+len(y)
}

// without returns the commands that are not in others.
func without(all, others [][]string) [][]string {
	return slices.DeleteFunc(slices.Clone(all), func(c []string) bool {
		return slices.ContainsFunc(others, func(o []string) bool { return slices.Equal(c, o) })
	})
}

// blamed returns the commands of a line that the cause is about: those that it names, or the
// only one.
func blamed(line, cause string) [][]string {
	all := slices.DeleteFunc(commands(line), func(c []string) bool { return program(c) == "cd" })
	some := named(all, cause)
	if len(some) == 0 && len(all) == 1 {
		return all
	}
	return some
}

// named returns the commands whose program or flag a cause names.
func named(all [][]string, cause string) (some [][]string) {
	names := strings.FieldsFunc(cause, func(r rune) bool { return strings.ContainsRune(" :()[]<>,;", r) })
	for _, c := range all {
		if slices.Contains(names, program(c)) || flagNamed(c, cause) {
			some = append(some, c)
		}
	}
	return some
}

// changed returns which command of a failed line was called otherwise in a line that worked. What was
// refused must be gone.
func changed(failed, worked attempt) (from, to []string) {
	after := commands(worked.line)
	for _, f := range without(blamed(failed.line, failed.cause), after) {
		for _, c := range without(after, commands(failed.line)) {
			if !flagNamed(c, failed.cause) && calledOtherwise(f, c) {
				return f, c
			}
		}
	}
	return nil, nil
}

// calledOtherwise reports whether two commands are about the same and differ in their flags, in a
// similar program, or in quotation marks and order alone.
func calledOtherwise(x, y []string) bool {
	p, q := program(x), program(y)
	if p == "" || !alikeNames(p, q) {
		return false
	}
	flagsX, aboutX := parts(x)
	flagsY, aboutY := parts(y)
	return slices.Equal(aboutX, aboutY) && (p != q || !slices.Equal(flagsX, flagsY) || !slices.Equal(x, y))
}

// parts returns the flags of a command and what it is about, each in order of the alphabet. Another number is
// the same, since it teaches nothing.
func parts(c []string) (flags, about []string) {
	for i, w := range c {
		switch w = withoutNumbers(quotation().ReplaceAllString(w, "")); {
		case strings.HasPrefix(w, "-"):
			flags = append(flags, w)
		case i > 0:
			about = append(about, w)
		}
	}
	slices.Sort(flags)
	slices.Sort(about)
	return flags, about
}

// alikeNames reports whether one name may be meant by another: python and python3.
func alikeNames(p, q string) bool {
	same := 0
	for same < min(len(p), len(q)) && p[same] == q[same] {
		same++
	}
	return same > 1 && 2*same >= max(len(p), len(q))
}

// remedies are the commands that can mend what a machine lacks, by the causes that say so.
var remedies = []struct{ cause, command func() *regexp.Regexp }{
	{lazyregexp.New(`(?i)not found|no module|cannot find|enoent|go\.mod|go\.sum|could not resolve module`),
		lazyregexp.New(`^(?:sudo )?(?:apt|apt-get|brew|dnf|yum|apk|pacman|npm|pnpm|yarn|bun|pip3?|pipx|uv|poetry|cargo|gem|bundle|go|mise|asdf|corepack) (?:-\S+ )*(?:install|i|ci|add|get|mod tidy|mod download|sync|use|trust|enable)\b`)},
	{lazyregexp.New(`(?i)\b40[13]\b|authentica|credential|logged in|could not read username`), lazyregexp.New(`^\S+ (?:auth )?login\b`)},
	{lazyregexp.New(`(?i)refused|econnrefused|not running`), lazyregexp.New(`^(?:sudo )?(?:docker(?:-compose)?|podman|systemctl|service|brew services)(?: compose)? (?:up|start|restart)\b`)},
	{lazyregexp.New(`(?i)permission denied|eacces`), lazyregexp.New(`^(?:sudo )?chmod `)},
}

// mends reports whether a command line is one that mends a cause, and does nothing else.
func mends(line, cause string) bool {
	all := slices.DeleteFunc(commands(line), func(c []string) bool { return program(c) == "cd" })
	return len(all) == 1 && slices.ContainsFunc(remedies, func(r struct{ cause, command func() *regexp.Regexp }) bool {
		return r.cause().MatchString(cause) && r.command().MatchString(strings.Join(all[0], " "))
	})
}

// flagNamed reports whether a cause names a flag of a command.
func flagNamed(c []string, cause string) bool {
	fields := strings.Fields(cause)
	return slices.ContainsFunc(c, func(w string) bool { return strings.HasPrefix(w, "-") && slices.Contains(fields, w) })
}

// Bounds of a command in a line, in characters: of all of it, and of what stands before the first
// difference.
const (
	maxCommand = 90
	maxSame    = 40
)

// shownChange renders two commands so that their first difference is in what is shown.
func shownChange(from, to []string) (string, string) {
	x, y := []rune(shownLine(strings.Join(from, " "))), []rune(shownLine(strings.Join(to, " ")))
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	cut := func(s []rune) string {
		if len(s) > maxCommand && same > maxSame {
			s = slices.Concat(s[:maxSame/2], []rune(" … "), s[same-maxSame/2:])
		}
		return quote.Text(string(s), maxCommand)
	}
	return cut(x), cut(y)
}

// quoted matches a word of a command line in quotation marks.
var quoted = lazyregexp.New(`"[^"]*"|'[^']*'`)

// shownLine is a command line without the prose in it.
func shownLine(line string) string {
	return quoted().ReplaceAllStringFunc(line, func(word string) string {
		if len(strings.Fields(word)) > maxWords {
			return "'…'"
		}
		return word
	})
}

// argumentChange says how the arguments of a call that worked differ from those of one that
// failed, or "" if these are not two attempts at one thing. keys are the arguments that differ.
func argumentChange(failed, worked map[string]any) (text string, keys []string) {
	equal := 0
	var parts []string
	all := maps.Clone(failed)
	maps.Copy(all, worked)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, before := failed[key]
		now, after := worked[key]
		switch {
		case before && after && reflect.DeepEqual(was, now):
			equal++
			continue
		case !after:
			parts = append(parts, fmt.Sprintf("without %s", quote.Text(key, maxValue)))
		case !before:
			parts = append(parts, fmt.Sprintf("with %s %s", quote.Text(key, maxValue), shownValue(now)))
		default:
			parts = append(parts, fmt.Sprintf("with %s %s in place of %s", quote.Text(key, maxValue), shownValue(now), shownValue(was)))
		}
		keys = append(keys, key)
	}
	if equal == 0 || len(keys) == 0 || len(keys) > maxKeys {
		return "", nil
	}
	return strings.Join(parts, ", "), keys
}

// Bounds of what is told of arguments: how many may differ, and the characters of a value.
const (
	maxKeys  = 3
	maxValue = 40
)

// maxWords is the most words of a value that is shown: more are prose.
const maxWords = 2

func shownValue(v any) string {
	text, ok := v.(string)
	if !ok {
		raw, _ := json.Marshal(v) // it was JSON
		text = string(raw)
	}
	if len(strings.Fields(text)) > maxWords {
		return "another text"
	}
	return quote.Text(text, maxValue)
}
