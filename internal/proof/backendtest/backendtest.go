// Package backendtest runs tests of code above the store on every backend: on SQLite
// and, where a PostgreSQL server can be started, on PostgreSQL (see package pgtest). A
// package that uses it calls [Main] from its TestMain.
package backendtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// DB is a store of either backend.
type DB interface {
	store.Store
	SQL() sqldb.DB
	Reindex(ctx context.Context) error
	Close() error
}

// Backend is a kind of database.
type Backend struct {
	Name string
	// Create returns the address of an empty database.
	Create func(t testing.TB) string
	// Open opens a database. The clock may be nil.
	Open func(ctx context.Context, address string, clock func() time.Time) (DB, error)
	// Traces names the files or tables of a database that contain one of the texts,
	// which are in lower case.
	Traces func(t testing.TB, address string, texts ...string) []string
	// slow says that an empty database takes long to make.
	slow bool
}

// SQLite is the backend in a file.
var SQLite = Backend{
	Name:   "SQLite",
	Create: func(t testing.TB) string { return filepath.Join(t.TempDir(), "lcm.db") },
	Open: func(ctx context.Context, address string, clock func() time.Time) (DB, error) {
		return sqlite.Open(ctx, address, sqlite.Options{Clock: clock, Relaxed: true})
	},
	Traces: tracesInFile,
}

// tracesInFile looks for texts in the bytes of a database file and its log.
func tracesInFile(t testing.TB, path string, texts ...string) (found []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		lower := bytes.ToLower(data)
		for _, text := range texts {
			if bytes.Contains(lower, []byte(text)) {
				found = append(found, fmt.Sprintf("%s%s: %s", filepath.Base(path), suffix, text))
			}
		}
	}
	return found
}

// New opens an empty database, which is closed when the test ends.
func (b Backend) New(t testing.TB, clock func() time.Time) (db DB, address string) {
	t.Helper()
	address = b.Create(t)
	db, err := b.Open(t.Context(), address, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the %s database: %v", b.Name, err)
		}
	})
	return db, address
}

// Each runs a test on every backend. A property test (package rapid) draws a tenth of the
// usual number of cases on a backend whose databases take long to make.
func Each(t *testing.T, run func(t *testing.T, b Backend)) {
	t.Helper()
	for _, b := range All() {
		t.Run(b.Name, func(t *testing.T) {
			if b.slow {
				Cases(t, 10)
			}
			run(t, b)
		})
	}
}

// Cases has property tests (package rapid) draw a percentage of the usual number of cases
// until the test ends.
func Cases(t *testing.T, percent int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks == nil {
		return
	}
	usual := checks.Value.String()
	n, err := strconv.Atoi(usual)
	if err == nil {
		err = checks.Value.Set(strconv.Itoa(max(1, n*percent/100)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := checks.Value.Set(usual); err != nil {
			t.Error(err)
		}
	})
}
