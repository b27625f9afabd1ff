package sqlite_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Rows beside the messages are proved too, by verify and by doctor, and a repair leaves no fault.
func TestChangedRowsAreNamed(t *testing.T) {
	old, err := os.ReadFile("testdata/v10.db")
	if err != nil {
		t.Fatal(err)
	}
	pristine := filepath.Join(t.TempDir(), "lcm.db")
	write(t, pristine, old)
	db := open(t, pristine, sqlite.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if old, err = os.ReadFile(pristine); err != nil {
		t.Fatal(err)
	}
	for change, code := range map[string]string{
		`SELECT 1`: "",
		`UPDATE view SET links = replace(links, 'call_2', 'call_3') WHERE message = 34`: "view-item",
		`UPDATE view SET links = NULL WHERE message = 34`:                               "view-item",
		`UPDATE view SET links = '[null,["call_9"]]' WHERE message = 35`:                "view-item",
		`UPDATE projects SET origin = 'forged' WHERE id = 1`:                            "session",
		`INSERT INTO projects VALUES (99, 'forged', '/forged')`:                         "project",
		`UPDATE chunks SET compressed = 5`:                                              "payload-numbers",
		`UPDATE segments SET lane = 3 - lane`:                                           "search-index",
		`UPDATE segments SET lane = 3`:                                                  "search-index",
		`UPDATE segments SET first_id = 1 WHERE id = (SELECT max(id) FROM segments)`:    "search-index",
		`UPDATE lanes SET epoch = epoch - 1 WHERE lane = 1`:                             "search-index",
		`INSERT INTO lanes VALUES (3, 0, NULL)`:                                         "search-index",
		`UPDATE state SET data = 'forged' WHERE space = 'lease'`:                        "lease",
		`UPDATE state SET expires = expires + 1000 WHERE space = 'lease'`:               "lease",
	} {
		t.Run(change, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lcm.db")
			write(t, path, old)
			sql(t, path, change)
			named := func(faults []store.Fault) bool {
				return code == "" && len(faults) == 0 || slices.ContainsFunc(faults, func(f store.Fault) bool { return f.Code == code })
			}
			db := open(t, path, sqlite.Options{})
			index := search.New(db.File().DB())
			proof, err := check.Prove(t.Context(), db.File())
			if err != nil || !named(proof.Faults) {
				t.Errorf("verify says %v, %v", proof.Faults, err)
			}
			if proof, err = check.Run(t.Context(), db.File(), index); err != nil || !named(check.Damage(proof.Faults)) {
				t.Errorf("doctor says %v, %v", proof.Faults, err)
			}
			if err := index.Repair(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			built, err := move.Fix(t.Context(), path, path+".kept", func(string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if left := check.Damage(built.Proof.Faults); len(left) > 0 && code != "session" {
				t.Errorf("after the repair there is %v", left)
			}
		})
	}
}

// A record is compressed where that makes it smaller, and read as it came also where its own
// bytes look compressed: in rows of this version, and in those of the version before.
func TestRecordsThatLookCompressed(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := encoder.EncodeAll([]byte("a text in a frame"), nil)
	records := [][]byte{frame, append([]byte{0x28, 0xb5, 0x2f, 0xfd}, "no frame"...), []byte("short"), slices.Repeat([]byte("a long line of a log\n"), 500)}
	path := filepath.Join(t.TempDir(), "lcm.db")
	db := open(t, path, sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "x"})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		for _, r := range records {
			if _, err := w.Append(t.Context(), store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: r, Size: int64(len(r)), SHA256: sha256.Sum256(r), Tokens: 9}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := func(t *testing.T, db *sqlite.DB) {
		t.Helper()
		for i, r := range records {
			if got, err := db.Record(t.Context(), store.MessageID(i+1)); err != nil || string(got) != string(r) {
				t.Errorf("record %d is %q, %v", i+1, got, err)
			}
		}
		if proof, err := check.Prove(t.Context(), db.File()); err != nil || len(proof.Faults) > 0 {
			t.Errorf("%v, %v", proof.Faults, err)
		}
	}
	whole(t, db)
	rows(t, path, "SELECT sum(length(record)) FROM messages", func(size string) {
		if len(size) > 3 {
			t.Errorf("%s bytes are stored", size)
		}
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := "ALTER TABLE segments DROP COLUMN seal; ALTER TABLE lanes DROP COLUMN seal; PRAGMA user_version = 10;"
	for i, r := range records {
		before += fmt.Sprintf("UPDATE messages SET record = x'%x' WHERE id = %d;", r, i+1)
	}
	sql(t, path, before)
	whole(t, open(t, path, sqlite.Options{}))
}
