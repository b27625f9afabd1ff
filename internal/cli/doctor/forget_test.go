package doctor_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/cli/doctor"
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
	if err != nil || !slices.Equal(codes(treated), is("tombstones")) || len(treated.Failures) > 0 { // when and why is lost
		t.Fatalf("%+v, %v", treated, err)
	}
	written(t, path, "erasures")
}

// An erasure is named that is gone with all its rows and its seal, and so are values of the
// state that are gone with their page; both are also named after a treatment.
func TestErasureAndStateGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	forget(t, path)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Put(t.Context(), store.CursorSpace, "a", []byte("{}"), 0, time.Time{})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for sql, code := range map[string]string{
		"DELETE FROM erasures; DELETE FROM forgotten; DELETE FROM tombstones; DELETE FROM seals WHERE name LIKE 'erasure/%'": "tombstones",
		"DELETE FROM erasures; DELETE FROM forgotten; DELETE FROM tombstones; DELETE FROM seals WHERE name LIKE 'erasure%'":  "tombstones",
		"DELETE FROM seals WHERE name = 'erasures'":  "tombstones",
		"DELETE FROM state; DROP INDEX messages_seq": "state",
	} {
		sound, _ := snapshot(t, path)
		p := doctor.Patient{Path: laid(t, sound), Clock: clock, Options: sqlite.Options{Clock: clock}}
		with(sql)(t, p.Path)
		named(t, examine(t, p), is(code))
		treated, err := doctor.Treat(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		named(t, treated, is(code))
	}
}
