package backendtest

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
)

// PostgreSQL is the backend in a server. Its Create skips the test if there is none.
var PostgreSQL = Backend{
	Name:   "PostgreSQL",
	Create: pgtest.URL,
	Open: func(ctx context.Context, address string, clock func() time.Time) (DB, error) {
		return postgres.Open(ctx, address, postgres.Options{Clock: clock})
	},
	Traces: pgtest.Traces,
	slow:   true,
}

// All returns the backends.
func All() []Backend { return []Backend{SQLite, PostgreSQL} }

// Main runs the tests of a package and stops the server that they used.
func Main(m *testing.M) { pgtest.Main(m) }
