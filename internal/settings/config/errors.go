package config

import (
	"fmt"
	"slices"
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
	if slices.Contains(retired, e.Key) {
		e.Problem = "it is a setting no longer: a file may have it, and nothing reads it"
	}
	e.Hint = "`lcm config` lists them all"
	return e
}
