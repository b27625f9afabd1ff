package setup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// killedAt runs fn and stops it before its n-th change of the file system, as
// SIGKILL does: nothing is cleaned up. It reports whether fn came that far.
func killedAt(n int, fn func()) (killed bool) {
	type kill struct{}
	defer setup.BeforeEffect(func() {
		if n--; n == 0 {
			panic(kill{})
		}
	})()
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case kill:
			killed = true
		default:
			panic(r)
		}
	}()
	fn()
	return false
}

// TestKilled: wherever setup or remove is killed, repeating it and then
// removing lcm gives back every byte, and leaves no file or directory behind.
func TestKilled(t *testing.T) {
	// It makes some ten thousand files, which cost ten times as much on a disk as in memory.
	if memory, err := os.MkdirTemp("/dev/shm", "lcm-setup-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(memory) })
		t.Setenv("TMPDIR", memory)
	}
	type run struct {
		t    *testing.T
		host string
		o    setup.Options
		kept string
	}
	kinds := []string{"claude", "codex", "opencode", "openclaw"} // JSON with several entries, TOML, JSON with comments, a slot
	nothing := func(run) {}
	setUp := func(r run) { apply(r.t, r.host, r.o, r.kept) }
	takeOut := func(r run) { remove(r.t, r.host, r.o.Machine, r.kept) }
	for name, steps := range map[string]struct {
		before func(run) // that is not killed
		killed func(run)
		after  []func(run)
		hosts  []string // whose files are of all kinds
	}{
		"setup":                    {nothing, setUp, []func(run){setUp, takeOut}, all.Names[setup.Host]()},
		"setup, not repeated":      {nothing, setUp, []func(run){takeOut}, kinds},
		"upgrade":                  {func(r run) { r.o.Binary = "/elsewhere/lcm"; setUp(r) }, setUp, []func(run){setUp, takeOut}, kinds},
		"remove":                   {setUp, takeOut, []func(run){takeOut}, all.Names[setup.Host]()},
		"remove, then setup again": {setUp, takeOut, []func(run){setUp, takeOut}, kinds},
	} {
		for world, skill := range map[string]string{"fresh": "Use it.", "settled": ""} {
			for _, host := range steps.hosts {
				t.Run(name+"/"+world+"/"+host, func(t *testing.T) {
					m, receipts := home(t, worlds[world]), t.TempDir()
					before := tree(t, m.Home) // and after each kill, or the test ends
					points := 0
					for killed := true; killed; points++ {
						r := run{t, host, options(m), filepath.Join(receipts, fmt.Sprint(points))}
						r.o.Skill = skill
						steps.before(r)
						killed = killedAt(points+1, func() { steps.killed(r) })
						for _, step := range steps.after {
							step(r)
						}
						if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
							t.Fatalf("killed before change %d: %s", points+1, diff)
						}
						if kept, err := setup.OpenReceipts(r.kept); err != nil || len(kept.Hosts()) > 0 {
							t.Fatalf("killed before change %d: receipts of %v are left, %v", points+1, kept.Hosts(), err)
						}
					}
					if points < 9 { // one file and its receipt have nine
						t.Errorf("only %d points", points)
					}
				})
			}
		}
	}
}
