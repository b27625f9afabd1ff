package doctor_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Erased messages do not count as damage, and Treat does not bring them back.
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
	proof, err := check.ProveFile(t.Context(), path)
	if err != nil || len(proof.Faults) > 0 {
		t.Errorf("%+v, %v", proof, err)
	}
}

// An interrupted erasure is named, with the command that completes it.
func TestUnfinishedErasure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{5}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
	if found := examine(t, p); !slices.ContainsFunc(found.Findings, func(f doctor.Finding) bool {
		return f.Code == "erasure-unfinished" && f.Where == "tombstone 1" && strings.Contains(f.Advice, "forget --finish")
	}) {
		t.Fatalf("found %+v", found.Findings)
	}
}

// An erasure without a row, known only from its tombstones, is named and recorded
// again; its messages stay refused.
func TestErasureNotNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	forget(t, path)
	with("DELETE FROM erasures")(t, path)
	p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
	named(t, examine(t, p), is("erasure-missing"))
	treated, err := doctor.Treat(t.Context(), p)
	if err != nil || len(treated.Findings) > 0 || len(treated.Failures) > 0 {
		t.Fatalf("%+v, %v", treated, err)
	}
	written(t, path, "erasures")
}
