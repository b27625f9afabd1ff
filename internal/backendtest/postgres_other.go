//go:build !unix

package backendtest

import (
	"os"
	"testing"
)

// All returns the backends. A PostgreSQL server is started on Unix only.
func All() []Backend { return []Backend{SQLite} }

// Main runs the tests of a package.
func Main(m *testing.M) { os.Exit(m.Run()) }
