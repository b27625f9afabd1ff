package config

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Error is a problem with one setting.
type Error struct {
	Source   Source
	File     string // for FromFile
	Line     int    // from 1; 0 if unknown
	Variable string // for FromEnv
	Key      string
	Problem  string // "70 is out of range"
	Allowed  string // "a number from 0.01 to 1"
	Hint     string // what to do, if Allowed does not say it
}

// Error returns the place of the setting, the problem and the hint.
func (e *Error) Error() string { return e.Unwrap().Error() }

// Unwrap returns the same message as a [hint.Error].
func (e *Error) Unwrap() error {
	var b strings.Builder
	switch e.Source {
	case FromFile:
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	case FromEnv:
		fmt.Fprintf(&b, "environment variable %s: ", e.Variable)
	case FromFlag:
		b.WriteString("command line: ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	advice := e.Hint
	if e.Allowed != "" {
		advice = "give " + e.Allowed
		if e.Hint != "" {
			advice += "; " + e.Hint
		}
	}
	return hint.New(advice, "%s", b.String())
}

// unknown completes an error about an unknown key.
func unknown(e *Error) *Error {
	e.Problem = "there is no such setting"
	if near := nearest(e.Key); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		e.Hint = "`lcm config` lists them all"
	}
	return e
}

// nearest returns the key that the user most likely meant, or "". It recognises a
// key without its section, and the camel case of lossless-claw.
func nearest(key string) string {
	if len(key) > 100 { // not a typing error
		return ""
	}
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	last := key[strings.LastIndexByte(key, '.')+1:]
	best, distance := "", 1+len(last)/4
	for _, s := range table {
		env := strings.TrimPrefix(s.Env, "LCM_")
		d := min(editDistance(plain(last), plain(s.Name())), editDistance(plain(last), plain(env)), editDistance(plain(key), plain(s.Key)))
		if d < distance {
			best, distance = s.Key, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance between two ASCII words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
