package doctor_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Every change of a half-done map is named. A resume ends and gives no forged output, before a
// treatment and after it; after it nothing is damaged, and no sound item is asked about again.
func TestDamageOfMaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pristine.db")
	do := func(path string, fn func(db *sqlite.DB) error) error {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return fn(db)
	}
	err := do(path, func(db *sqlite.DB) error {
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
	resume := func(t *testing.T, path string) (outputs map[int]string) {
		t.Helper()
		err := do(path, func(db *sqlite.DB) (err error) {
			outputs, err = storetest.ResumeMap(t.Context(), db, 1)
			return err
		})
		if err != nil && err.Error() == "the map does not end" || slices.Contains([]string{outputs[0], outputs[1], outputs[4], outputs[6]}, `"forged"`) {
			t.Errorf("a resume gives %v, %v", outputs, err)
		}
		return outputs
	}
	if got := fmt.Sprint(resume(t, laid(t, sound))); got != `map[0:"a" 1:"b" 2: 3:"new" 4:"new" 5:"new"]` {
		t.Errorf("a sound map gives %v", got)
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
			if outputs := resume(t, path); len(outputs) != 6 {
				t.Errorf("after the treatment a resume gives %v", outputs)
			}
		})
	}
}
