package doctor_test

import (
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/doctor"
	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/store/sqlite"
)

// What a user had erased is not taken for damage, and a treatment does not
// bring it back.
func TestForgottenIsNotDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{5, 24}, Conversations: []store.ConversationID{2}, Cause: "forget"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
	for _, f := range examine(t, p).Findings {
		// Their texts are gone until they are written anew.
		if f.Code != "summary-broken" && f.Code != "summary-text" {
			t.Errorf("%+v", f)
		}
	}
	treated, err := doctor.Treat(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(treated.Findings) > 0 {
		t.Errorf("after the treatment there is %+v; failures %q", treated.Findings, treated.Failures)
	}
	proof, err := sqlite.ProveFile(t.Context(), path)
	if err != nil || len(proof.Faults) > 0 {
		t.Errorf("%+v, %v", proof, err)
	}
}
