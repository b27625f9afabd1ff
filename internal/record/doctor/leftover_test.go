package doctor_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/doctor"
)

// unfinished puts a copy that was cut off beside a file, with its log.
func unfinished(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(path+suffix, []byte("half a copy"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path+suffix, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// found returns the codes that are found at a place.
func found(all []doctor.Finding, where string) (codes []string) {
	for _, f := range all {
		if f.Where == where {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// Copies that were cut off are named beside the database and among its
// backups. Those that nobody writes to are removed, and no backup is made for
// that; younger ones are left.
func TestUnfinishedCopies(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(ctx, path); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	beside, among := filepath.Join(dir, ".lcm-11.part"), filepath.Join(dir, "backups", ".lcm-12.part")
	young, elsewhere := filepath.Join(dir, "backups", ".lcm-13.part"), filepath.Join(dir, "other", ".lcm-14.part")
	unfinished(t, beside, now.Add(-2*time.Hour))
	unfinished(t, among, now.Add(-61*time.Minute))
	unfinished(t, young, now.Add(-59*time.Minute))
	unfinished(t, elsewhere, now.Add(-48*time.Hour))
	p := doctor.Patient{Path: path, Clock: clock}

	r, err := doctor.Examine(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string][]string{beside: {"part-file"}, among: {"part-file"}, young: {"part-file-young"}, elsewhere: nil} {
		if got := found(r.Findings, where); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", where, got, want)
		}
	}
	if !r.Healthy() || gone(beside) || gone(among) {
		t.Fatalf("looking changed something, or found a problem: %v", r.Findings)
	}

	r, err = doctor.Treat(ctx, p)
	if err != nil || len(r.Failures) > 0 {
		t.Fatal(err, r.Failures)
	}
	for _, f := range []string{beside, beside + "-wal", among, among + "-wal"} {
		if !gone(f) {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range []string{young, young + "-wal", elsewhere, path} {
		if gone(f) {
			t.Errorf("%s is gone", f)
		}
	}
	if len(found(r.Fixed, beside)) != 1 || len(found(r.Fixed, among)) != 1 || len(found(r.Findings, young)) != 1 || len(r.Findings) != 1 {
		t.Errorf("fixed %v, left %v", r.Fixed, r.Findings)
	}
	if r.Backup != "" {
		t.Errorf("a backup was made, though nothing in the database was touched: %s", r.Backup)
	}
}

// While something is missing from the database an unfinished copy may hold it.
func TestUnfinishedCopiesOfADamagedDatabase(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage string
		stays  bool
	}{
		{"beyond mending", "DELETE FROM messages WHERE id = 9", true},
		{"mended", "DELETE FROM edges WHERE message = 5", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			path := filepath.Join(t.TempDir(), "lcm.db")
			if err := build(ctx, path); err != nil {
				t.Fatal(err)
			}
			part := filepath.Join(filepath.Dir(path), ".lcm-11.part")
			unfinished(t, part, now.Add(-48*time.Hour))
			with(test.damage)(t, path)
			r, err := doctor.Treat(ctx, doctor.Patient{Path: path, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			if r.Healthy() == test.stays {
				t.Fatalf("the damage is not of the kind that is tested: %v", r.Findings)
			}
			if gone(part) == test.stays {
				t.Errorf("gone is %v; %v", gone(part), r.Findings)
			}
		})
	}
}
