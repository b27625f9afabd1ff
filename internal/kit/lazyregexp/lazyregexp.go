// Package lazyregexp compiles regular expressions when they are first used. One
// that is compiled when the program starts delays every command, and most
// commands use few of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr when it is first called. The function
// panics if expr is not valid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
