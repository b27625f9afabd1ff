package imports

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	r, err := Measure(t.Context(), Options{Bytes: 4_000_000, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes < 4_000_000 || r.Records < 1000 || r.Sessions < 2 || r.Digest == "" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Text(), "importing again, s") {
		t.Errorf("the report is:\n%s", r.Text())
	}
}

// interruptedHome and interruptedDatabase are set for the process that is
// killed.
const (
	interruptedHome     = "LCM_TEST_IMPORT_HOME"
	interruptedDatabase = "LCM_TEST_IMPORT_DATABASE"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(interruptedHome); home != "" {
		if _, err := importAll(context.Background(), home, os.Getenv(interruptedDatabase), &Report{}, nil); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An import that is killed again and again ends in the same record as one that
// is left alone.
func TestKilledImport(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := generate(home, 8_000_000, 7); err != nil {
		t.Fatal(err)
	}
	whole, pieces := filepath.Join(dir, "whole.db"), filepath.Join(dir, "pieces.db")
	if _, err := importAll(t.Context(), home, whole, &Report{}, nil); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for limit := 40 * time.Millisecond; ; limit += limit / 8 {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), interruptedHome+"="+home, interruptedDatabase+"="+pieces)
		var said strings.Builder
		c.Stderr = &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(limit))), func() { _ = c.Process.Kill() })
		err := c.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if said.Len() > 0 {
			t.Fatal(said.String())
		}
		killed++
	}
	want, err := verify(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := verify(t.Context(), pieces)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("after %d kills the digest is %s, without any it is %s", killed, got, want)
	}
	t.Logf("killed %d times", killed)
}
