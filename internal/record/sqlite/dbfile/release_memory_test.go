package dbfile

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Idle connections are closed when memory is released, and readers go on with
// new ones.
func TestReleaseMemory(t *testing.T) {
	f, err := Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := func() {
		n, err := sqldb.Read(t.Context(), f.DB(), func(c sqldb.Conn) (int, error) { return sqldb.Value[int](c, `SELECT count(*) FROM messages`) })
		if err != nil || n != 0 {
			t.Errorf("%d messages: %v", n, err)
		}
	}
	read()
	if len(f.idle) == 0 {
		t.Fatal("no connection is kept")
	}
	f.ReleaseMemory()
	if len(f.idle) != 0 {
		t.Errorf("%d connections are kept", len(f.idle))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				read()
				f.ReleaseMemory()
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	f.ReleaseMemory()
}
