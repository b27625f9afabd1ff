package sqlite_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A database of any version is read where it may not be written, and is left
// as it is: searched, proved, checked, backed up and exported.
func TestOldDatabasesAreReadOnly(t *testing.T) {
	files, err := filepath.Glob("testdata/v*.db")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d old databases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "lcm.db")
			if err := os.WriteFile(path, before, 0o400); err != nil {
				t.Fatal(err)
			}
			db := open(t, path, sqlite.Options{ReadOnly: true})
			readEverything(t, db)
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file has changed (%v)", err)
			}
		})
	}
}

func readEverything(t *testing.T, db *sqlite.DB) {
	t.Helper()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d conversations, %v", len(list), err)
	}
	proof, err := check.Prove(t.Context(), db.File())
	if err != nil || len(proof.Faults) > 0 || proof.Messages == 0 {
		t.Errorf("proved %+v, %v", proof, err)
	}
	found, err := db.Search(t.Context(), store.Search{Mode: store.FullText, Pattern: "message", Limit: 5})
	if err != nil || found.Matched == 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	if all, err := db.Tombstones(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("tombstones %v, %v", all, err)
	}
	if faults, err := db.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("checked %v, %v", faults, err)
	}
	if faults, err := check.File(t.Context(), db.Path()); err != nil || len(faults) > 0 {
		t.Errorf("the file: %v, %v", faults, err)
	}
	if _, err := stats.Read(t.Context(), db.File().DB()); err != nil {
		t.Error(err)
	}
	kept, err := backup.Create(t.Context(), db.File(), filepath.Join(t.TempDir(), "backup.db"), nil)
	if err != nil || kept.Digest != proof.Digest {
		t.Errorf("the backup has %x, %v", kept.Digest, err)
	}
	d := dump(t, db)
	s, err := d.load(t.Context(), filepath.Join(t.TempDir(), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if s.Proof.Digest != proof.Digest || d.digest != proof.Digest || proof.Digest == [sha256.Size]byte{} {
		t.Errorf("the archive has %x, what was loaded %x, want %x", d.digest, s.Proof.Digest, proof.Digest)
	}
}
