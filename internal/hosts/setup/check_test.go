package setup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// lagging is a feed of a transcript that is as far behind, and of one that began just now.
type lagging struct{ lag hosts.Lag }

func (l lagging) Recent(context.Context, hosts.Filter) ([]hosts.Transcript, error) {
	return []hosts.Transcript{{Host: "claude", Session: "s"}, {Host: "claude", Session: "new"}}, nil
}
func (l lagging) Lag(_ context.Context, t hosts.Transcript) (hosts.Lag, error) {
	if t.Session == "new" {
		return hosts.Lag{Behind: true, Bytes: 7, Written: checkTime}, nil
	}
	return l.lag, nil
}

// checkTime is when the checks are made.
var checkTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// nothing is a feed of transcripts that do not exist.
type nothing struct{}

func (nothing) Locate(context.Context, string, string, string) (hosts.Transcript, error) {
	return hosts.Transcript{}, hosts.ErrNoTranscript
}
func (nothing) CatchUp(context.Context, hosts.Transcript, hosts.Limits) (hosts.Report, error) {
	return hosts.Report{}, nil
}

func TestCheck(t *testing.T) {
	now := checkTime
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	m := home(t, map[string]string{".claude/x": ""})
	in := setup.Inspection{Machine: m, Hosts: all.Those[setup.Host](), State: db, Clock: func() time.Time { return now },
		Feed: lagging{hosts.Lag{Ingested: now.Add(-time.Hour), Written: now.Add(-time.Hour)}},
		Tools: func(context.Context, []string) ([]string, error) {
			return append(toolname.Agent(), "expand"), nil
		}}
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, f := range setup.Check(t.Context(), in) {
			got = append(got, f.Severity+" "+f.Code)
			if f.Severity != setup.SeverityNote && f.Fix == "" {
				t.Errorf("%s says not what to do: %s", f.Code, f.Message)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	expect("note host-not-set-up")

	kept := filepath.Join(t.TempDir(), "kept")
	o := options(m)
	o.Binary = filepath.Join(m.Home, "it's here", "lcm")
	apply(t, "claude", o, kept)
	expect("problem host-program", "warning host-hooks-silent", "note host-alive")

	if err := os.MkdirAll(filepath.Dir(o.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Binary, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	h := hook.Handler{Feed: nothing{}, Record: db, Clock: in.Clock, Project: func(string) (store.Project, error) { return store.Project{Root: "/x"}, nil }}
	if _, err := h.Handle(t.Context(), hook.Event{Host: "claude", Name: hook.Stop, Session: "s"}); err != nil {
		t.Fatal(err)
	}
	expect("note host-alive")
	if all := setup.Check(t.Context(), in); !strings.Contains(all[0].Message, "hooks last ran 2026-03-04 05:06 (Stop); 1 session of the last two weeks stored") || !strings.HasSuffix(all[0].Message, "; 4 tools visible") {
		t.Error(all[0].Message)
	}

	in.Self = o.Binary
	expect("note host-alive")
	in.Self = m.Home
	expect("warning host-other-program", "note host-alive")
	in.Self = ""

	settings := filepath.Join(m.Home, ".claude", "settings.json")
	written, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string][]string{"/gone/lcm statusline": {"problem host-program", "note host-alive"}, "/gone/mine": {"note host-alive"}} {
		text := regexp.MustCompile(`"[^"]* statusline[^"]*"`).ReplaceAllString(string(written), `"`+command+`"`)
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil || text == string(written) {
			t.Fatal(err, text)
		}
		expect(want...)
	}
	if err := os.WriteFile(settings, written, 0o600); err != nil {
		t.Fatal(err)
	}

	in.Feed = lagging{hosts.Lag{Behind: true, Bytes: 7, Written: now.Add(-time.Hour)}}
	expect("warning host-lag", "note host-alive")
	in.Feed = lagging{hosts.Lag{Behind: true, Bytes: 7, Written: now}} // under way
	expect("note host-alive")

	in.Tools = func(context.Context, []string) ([]string, error) { return []string{"lcm_grep"}, nil }
	expect("problem host-tools", "note host-alive")
	in.Tools = func(context.Context, []string) ([]string, error) { return nil, errors.New("it ended") }
	expect("problem host-tools", "note host-alive")

	if err := os.WriteFile(filepath.Join(m.Home, ".claude.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("problem host-settings")
	if got := setup.Check(t.Context(), in)[0].Message; !strings.Contains(got, ".claude.json: line 1") {
		t.Error(got)
	}
}

// TestCodesAreDocumented: docs/TROUBLE.md explains the code of every finding.
func TestCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("check.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/TROUBLE.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`"(hooks?|host)-[a-z-]+"`).FindAllString(string(source), -1)
	for _, code := range append(codes, `"no-host"`, `"absent"`) {
		if !strings.Contains(string(page), "`"+strings.Trim(code, `"`)+"`") {
			t.Errorf("there is no row for %s", code)
		}
	}
}

// TestCheckInTime: a check that ctx ended says what it left out, and nothing false.
func TestCheckInTime(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	o := options(home(t, map[string]string{".claude/x": ""}))
	o.Binary = filepath.Join(t.TempDir(), "lcm")
	if err := os.WriteFile(o.Binary, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	apply(t, "claude", o, filepath.Join(t.TempDir(), "kept"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, f := range setup.Check(ctx, setup.Inspection{Machine: o.Machine, Hosts: all.Those[setup.Host](), State: db, Feed: lagging{}, Clock: time.Now, Tools: setup.ListTools}) {
		if f.Code != setup.Unchecked {
			t.Errorf("%+v", f)
		}
	}
}
