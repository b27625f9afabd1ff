package sqlite_test

import (
	"os"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store/sqlite"
)

func TestMemoryLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	first, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Session("s").Append(t.Context(), llms.User("The gate code is 4711.")); err != nil {
		t.Fatal(err)
	}
	for db, want := range map[*sqlite.DB]int{first: 1, second: 0} {
		stats, err := db.Stats(t.Context())
		if err != nil || int(stats.Messages) != want {
			t.Errorf("%d messages, %v, want %d", stats.Messages, err, want)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{".", os.TempDir()} {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
}
