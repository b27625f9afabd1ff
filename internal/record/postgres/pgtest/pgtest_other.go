//go:build !unix

package pgtest

import (
	"os"
	"testing"
)

// Main runs the tests of a package.
func Main(m *testing.M) { os.Exit(m.Run()) }

// URL skips the test: this package starts servers on Unix only.
func URL(t testing.TB) string {
	t.Helper()
	t.Skip("tests on PostgreSQL need Unix")
	return ""
}

// Traces is never called, because URL skips the test.
func Traces(testing.TB, string, ...string) []string { return nil }
