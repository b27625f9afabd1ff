package doctor_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// halfMap makes a database with a half-done map in one of two conversations.
func halfMap(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pristine.db")
	err := do(t, path, func(db *sqlite.DB) error {
		for _, key := range []string{"main", "other"} {
			c, err := db.Open(t.Context(), store.NewConversation{Key: key})
			if err := errors.Join(err, fill(t.Context(), db, c.ID, 2)); err != nil {
				return err
			}
		}
		return storetest.HalfMap(t.Context(), db, 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	sound, _ := snapshot(t, path)
	return sound
}

func do(t *testing.T, path string, fn func(db *sqlite.DB) error) error {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return fn(db)
}

// resume goes on with the map, which must end without forged outputs.
func resume(t *testing.T, path string) (outputs map[int]string, err error) {
	t.Helper()
	err = do(t, path, func(db *sqlite.DB) (err error) {
		outputs, err = storetest.ResumeMap(t.Context(), db, 1)
		return err
	})
	if err != nil && err.Error() == "the map does not end" || slices.Contains([]string{outputs[0], outputs[1], outputs[4], outputs[6]}, `"forged"`) {
		t.Errorf("a resume gives %v, %v", outputs, err)
	}
	return outputs, err
}

// Every change of a half-done map is named. A resume ends and gives no forged output, before a
// treatment and after it; after it nothing is damaged, and no sound item is asked about again.
func TestDamageOfMaps(t *testing.T) {
	sound := halfMap(t)
	outputs, err := resume(t, laid(t, sound))
	if got := fmt.Sprint(outputs); err != nil || got != `map[0:"a" 1:"b" 2: 3:"new" 4:"new" 5:"new"]` {
		t.Errorf("a sound map gives %v, %v", got, err)
	}
	for _, damage := range storetest.MapDamage {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			path := laid(t, sound)
			with(damage)(t, path)
			proof, err := check.ProveFile(t.Context(), path)
			if err != nil || !slices.ContainsFunc(proof.Faults, func(f store.Fault) bool { return f.Code == "map" }) {
				t.Errorf("verify names %v, %v", proof.Faults, err)
			}
			resume(t, path)
			path = laid(t, sound)
			with(damage)(t, path)
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			named(t, examine(t, p), is("map"))
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil || !treated.Healthy() {
				t.Fatalf("%+v, %v", treated, err)
			}
			if outputs, err := resume(t, path); len(outputs) != 6 {
				t.Errorf("after the treatment a resume gives %v, %v", outputs, err)
			}
		})
	}
}

// A page that says that it has fewer items than were written is named, though every row on it
// proves. A resume says what to do, and ends.
func TestPagesWithFewerItems(t *testing.T) {
	sound := halfMap(t)
	for _, name := range []string{"map_items", "map_items_open", "map_items_progress"} {
		t.Run(name, func(t *testing.T) {
			path, root := laid(t, sound), int64(0)
			rows(t, path, `SELECT rootpage FROM sqlite_schema WHERE name = '`+name+`'`, func(s *sqlite3.Stmt) { root = s.ColumnInt64(0) })
			damage := edit(func(b []byte) []byte { b[(root-1)*4096+4]--; return b })
			damage(t, path)
			proof, err := check.ProveFile(t.Context(), path)
			found := examine(t, doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}})
			if err != nil || len(proof.Faults) == 0 && name == "map_items" || found.Healthy() {
				t.Errorf("verify names %v, %v, doctor %v", proof.Faults, err, found.Findings)
			}
			if outputs, err := resume(t, path); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("a resume gives %v, %v", outputs, err)
			}
			path = laid(t, sound)
			damage(t, path)
			treated, err := doctor.Treat(t.Context(), doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}})
			if err != nil || !treated.Healthy() {
				t.Fatalf("%+v, %v", treated, err)
			}
			if outputs, err := resume(t, path); len(outputs) != 6 {
				t.Errorf("after the treatment a resume gives %v, %v", outputs, err)
			}
		})
	}
}
