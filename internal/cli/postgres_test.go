//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
)

// TestPostgresScripts drives the real program with a PostgreSQL database.
func TestPostgresScripts(t *testing.T) {
	server, err := pgtest.Start(t.Context())
	pgtest.Require(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "postgres"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			url := server.Schema(t)
			e.Setenv("URL", url)
			e.Setenv("URL_WITH_PASSWORD", postgres.WithPassword(url, "hunter2secret"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("TZ", "UTC")
			return os.MkdirAll(home, 0o700)
		},
	})
}
