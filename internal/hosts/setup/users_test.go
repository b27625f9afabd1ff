package setup_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// TestOlderHookInAGroupOfTheUser: the hook of an older lcm is replaced where it stands, and
// a second one for the same event goes.
func TestOlderHookInAGroupOfTheUser(t *testing.T) {
	const old = `{"type":"command","command":"/old/lcm hook claude","timeout":7}`
	m := home(t, map[string]string{".claude/settings.json": `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"say"},` + old + `]},{"hooks":[` + old + `]}],"SessionStart":[{"matcher":"startup","hooks":[` + old + `]}]}}`})
	kept := filepath.Join(t.TempDir(), "kept")
	apply(t, "claude", options(m), kept)
	got := tree(t, m.Home)[".claude/settings.json"]
	now := strings.ReplaceAll(old, "/old/lcm", "/opt/lcm/bin/lcm")
	for _, want := range []string{`"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"say"},` + now + `]}]`, `"SessionStart":[{"matcher":"startup","hooks":[` + now + `]}]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if n := strings.Count(got, "hook claude"); n != 7 || strings.Contains(got, "/old/") {
		t.Errorf("%d hooks: %s", n, got)
	}
}

// TestTimeoutsInMilliseconds: setup wrote seconds for Qwen Code once, of which 0.15 makes
// milliseconds. It says so and corrects them, and leaves a time that the user chose.
func TestTimeoutsInMilliseconds(t *testing.T) {
	const old = `{"type":"command","command":"/opt/lcm/bin/lcm hook qwen","timeout":`
	m := home(t, map[string]string{".qwen/settings.json": `{"hooks":{"Stop":[{"hooks":[` + old + `30}]}],"UserPromptSubmit":[{"hooks":[` + old + `2000}]}]}}`})
	short := func() bool {
		found := setup.Check(t.Context(), setup.Inspection{Machine: m, Hosts: all.Those[setup.Host]()})
		return slices.ContainsFunc(found, func(f setup.Finding) bool { return f.Code == "host-hook-time" })
	}
	if !short() {
		t.Error("doctor does not say that a hook has 30 ms")
	}
	apply(t, "qwen", options(m), filepath.Join(t.TempDir(), "kept"))
	got := tree(t, m.Home)[".qwen/settings.json"]
	for _, want := range []string{`"Stop":[{"hooks":[` + old + `30000}]}]`, `"UserPromptSubmit":[{"hooks":[` + old + `2000}]}]`, `"SessionStart":[{"hooks":[` + old + `10000}]}]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if short() {
		t.Error("doctor still says that a hook has too little time")
	}
}

// TestRemoveWithoutReceipts: what only held lcm's entries goes, what was empty stays.
func TestRemoveWithoutReceipts(t *testing.T) {
	m := home(t, map[string]string{".claude.json": `{"a":1}`, ".claude/settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say"}]}],"Notification":[]}}`, ".config/opencode/opencode.json": `{"agent":{}}`})
	before := tree(t, m.Home)
	for _, host := range []string{"claude", "opencode"} {
		apply(t, host, options(m), filepath.Join(t.TempDir(), "kept"))
		remove(t, host, m, filepath.Join(t.TempDir(), "other"))
	}
	now := tree(t, m.Home)
	maps.DeleteFunc(now, func(name, _ string) bool { return strings.HasPrefix(name, ".config/opencode/plugins/") }) // a directory is not an entry
	if diff := cmp.Diff(before, now); diff != "" {
		t.Error(diff)
	}
}

// TestKeysOfTheUserInTheEntry: they survive an upgrade; removal names them.
func TestKeysOfTheUserInTheEntry(t *testing.T) {
	m := home(t, map[string]string{".claude/x": "", ".codex/config.toml": "a = 1\n"})
	kept := filepath.Join(t.TempDir(), "kept")
	apply(t, "claude", options(m), kept)
	apply(t, "codex", options(m), kept)
	rewrite(t, m, ".claude.json", `"type": "stdio"`, `"env": {"LCM_LOG": "x"}, "type": "stdio"`)
	rewrite(t, m, ".codex/config.toml", "args =", "startup_timeout_sec = 30\nargs =")
	o := options(m)
	o.Binary = "/new/lcm"
	apply(t, "claude", o, kept)
	apply(t, "codex", o, kept)
	now := tree(t, m.Home)
	if got := now[".claude.json"]; !strings.Contains(got, `"LCM_LOG"`) || !strings.Contains(got, `"/new/lcm"`) {
		t.Error(got)
	}
	receipts, err := setup.OpenReceipts(kept)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"claude": "(env)", "codex": "(startup_timeout_sec)"} {
		if p, err := setup.Removal(named(t, host), m, receipts); err != nil || !strings.Contains(strings.Join(p.Notes, ""), want) {
			t.Errorf("%s: %q, %v", host, p.Notes, err)
		}
	}
}

// rewrite changes a file as its host or its user does.
func rewrite(t *testing.T, m hosts.Machine, name, old, new string) {
	t.Helper()
	path := filepath.Join(m.Home, name)
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), old) {
		t.Fatalf("%s: %v\n%s", name, err, content)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSweepOfAnotherSetup: the temporary file of a killed setup goes with the next setup of
// any host, with or without a skill.
func TestSweepOfAnotherSetup(t *testing.T) {
	m := home(t, worlds["fresh"])
	o := options(m)
	o.Skill = "Use it."
	kept := filepath.Join(t.TempDir(), "kept")
	for n := 1; killedAt(n, func() { apply(t, "claude", o, kept) }); n++ {
		apply(t, "codex", options(m), kept)
		names := slices.Concat(slices.Collect(maps.Keys(tree(t, m.Home))), slices.Collect(maps.Keys(tree(t, kept))))
		if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, ".lcm-setup-") }); i >= 0 {
			t.Fatalf("killed before change %d: %s is left", n, names[i])
		}
	}
}

// TestManyAtOnce: setups and removals at once wait for each other.
func TestManyAtOnce(t *testing.T) {
	m, dir := home(t, worlds["settled"]), filepath.Join(t.TempDir(), "kept")
	before := tree(t, m.Home)
	run := func(plan func(host string, kept *setup.Receipts) error) error {
		return setup.Exclusively(t.Context(), dir, func(kept *setup.Receipts) (err error) {
			for _, host := range all.Names[setup.Host]() {
				err = errors.Join(err, plan(host, kept))
			}
			return err
		})
	}
	setUp := func(host string, kept *setup.Receipts) error {
		p, err := setup.For(named(t, host), options(m))
		return errors.Join(err, p.Apply(kept))
	}
	takeOut := func(host string, kept *setup.Receipts) error {
		p, err := setup.Removal(named(t, host), m, kept)
		return errors.Join(err, p.Undo(kept))
	}
	var all sync.WaitGroup
	for n := range 24 {
		all.Go(func() {
			if err := run([]func(string, *setup.Receipts) error{setUp, setUp, takeOut}[n%3]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := run(takeOut); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
		t.Error(diff)
	}
}

// TestRetiredHooksAreRemoved: hooks for events that only an older lcm asked for go, and leave
// nothing of their own behind, also in a file that the user has changed since.
func TestRetiredHooksAreRemoved(t *testing.T) {
	for host, c := range map[string]struct{ file, event string }{
		"claude": {".claude/settings.json", `"PostToolUseFailure":[{"hooks":[{"type":"command","command":"/old/lcm hook claude","timeout":5}]}]`},
		"codex":  {".codex/hooks.json", `"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"/old/lcm hook codex","timeout":5}]}]`},
	} {
		const mine = `"Stop":[{"hooks":[{"type":"command","command":"say"}]}]`
		m := home(t, map[string]string{c.file: `{"hooks":{` + mine + `,` + c.event + `}}`})
		remove(t, host, m, filepath.Join(t.TempDir(), "kept"))
		if got, want := tree(t, m.Home)[c.file], `{"hooks":{`+mine+`}}`; got != want {
			t.Errorf("%s: %s\nwant %s", host, got, want)
		}
	}
}
