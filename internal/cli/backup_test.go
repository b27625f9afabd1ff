package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// commanded runs commands on a database in a directory of their own.
func commanded(t *testing.T) (dir string, command func(args ...string) (code int, out, errs string)) {
	t.Helper()
	dir = t.TempDir()
	for key, value := range map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": dir, "LCM_DATABASE_PATH": filepath.Join(dir, "lcm.db"), "LCM_SYNCHRONOUS": "relaxed", "NO_COLOR": "1",
	} {
		t.Setenv(key, value)
	}
	return dir, func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		input := strings.NewReader(`{"role":"user","content":"the boathouse"}` + "\n")
		code := run(context.WithoutCancel(t.Context()), newProgram(input, &stdout, &stderr), args)
		return code, stdout.String(), stderr.String()
	}
}

// What a killed backup or export has left goes with the next one that is
// written to the same directory, but not before a day is over.
func TestBackupAndExportRemoveWhatKilledOnesLeft(t *testing.T) {
	dir, command := commanded(t)
	if code, _, errs := command("import", "-", "--session", "s"); code != exitOK {
		t.Fatal(errs)
	}
	out := filepath.Join(dir, "out")
	for _, args := range [][]string{
		{"db", "backup", filepath.Join(out, "copy.db")}, {"db", "export", filepath.Join(out, "all.tar.zst")},
		{"db", "export", "--raw", "-c", "1", filepath.Join(out, "one.jsonl")},
	} {
		if err := os.MkdirAll(out, 0o700); err != nil {
			t.Fatal(err)
		}
		old, young := filepath.Join(out, ".lcm-1.part"), filepath.Join(out, ".lcm-2.part")
		for path, age := range map[string]time.Duration{old: 25 * time.Hour, old + "-wal": 25 * time.Hour, young: 23 * time.Hour} {
			at := time.Now().Add(-age)
			if err := os.WriteFile(path, []byte("half a copy"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		code, _, errs := command(args...)
		if code != exitOK {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
		left, err := filepath.Glob(filepath.Join(out, ".lcm-*"))
		if err != nil || len(left) != 1 || left[0] != young {
			t.Errorf("%v left %q, %v", args, left, err)
		}
	}
}

// The error names the directory that cannot be written to, not the database.
func TestBackupSpeaksOfTheDirectory(t *testing.T) {
	dir, command := commanded(t)
	if code, _, errs := command("import", "-", "--session", "s"); code != exitOK {
		t.Fatal(errs)
	}
	file, closed := filepath.Join(dir, "file"), filepath.Join(dir, "closed")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	places := []string{file, filepath.Join(file, "below")}
	if os.Geteuid() > 0 { // nothing is closed to root
		places = append(places, closed)
	}
	for _, place := range places {
		code, _, errs := command("db", "backup", filepath.Join(place, "copy.db"))
		if code == exitOK || !strings.Contains(errs, "nothing can be written to "+place+", the directory of copy.db") ||
			!strings.Contains(errs, "hint: choose a directory") || strings.Contains(errs, "LCM_DATABASE_PATH") || strings.Contains(errs, ".part") {
			t.Errorf("%s: exit %d, %s", place, code, errs)
		}
	}
}
