package dbfile

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// The frames of a log are read without its header: each proves the one before it.
func TestReadWALWithoutHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(30000)); INSERT INTO a VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	want, size := ReadWAL(bytes.NewReader(log))
	clear(log[:WALHeader])
	got, n := ReadWAL(bytes.NewReader(log))
	if size < 8 || n != size || !maps.Equal(got, want) {
		t.Errorf("%d pages of %d, %v, want %v", n, size, got, want)
	}
	log[WALHeader+24+2*(24+PageBytes)] ^= 1
	if got, _ := ReadWAL(bytes.NewReader(log)); len(got) >= len(want) {
		t.Error("a changed frame was read")
	}
}
