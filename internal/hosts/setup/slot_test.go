package setup_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

const clawSettings = `{
  // mine
  "plugins": {"slots": {"contextEngine": "lossless-claw"}, "allow": ["lossless-claw"]},
  "mcp": {"servers": {"other": {"command": "x"}}},
}
`

// TestSlotOfAnother: the place of another context engine is taken only if that is wanted, and
// given back to the byte.
func TestSlotOfAnother(t *testing.T) {
	m, kept := home(t, map[string]string{".openclaw/openclaw.json": clawSettings}), filepath.Join(t.TempDir(), "kept")
	before := tree(t, m.Home)
	settings := func() string { return tree(t, m.Home)[".openclaw/openclaw.json"] }
	o := options(m)
	p := apply(t, "openclaw", o, kept)
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, `is "lossless-claw", and stays it: `+"`lcm setup openclaw --replace`") {
		t.Error(notes)
	}
	if got := settings(); !strings.Contains(got, `"contextEngine": "lossless-claw"`) || !strings.Contains(got, `"allow": ["lossless-claw", "lcm"]`) {
		t.Error(got)
	}
	o.Replace = true
	if p = apply(t, "openclaw", o, kept); strings.Contains(strings.Join(p.Notes, "\n"), "stays it") {
		t.Error(p.Notes)
	}
	if got := settings(); !strings.Contains(got, `"contextEngine": "lcm"`) || !strings.Contains(got, "// mine") {
		t.Error(got)
	}
	if name := setup.Holder(named(t, "openclaw"), o); name != "" {
		t.Errorf("the place is held by %q", name)
	}
	o.Replace = false // a second setup does not give it up
	if p = apply(t, "openclaw", o, kept); len(p.Changes) > 0 {
		t.Errorf("%s changes", p.Changes[0].Path)
	}
	remove(t, "openclaw", m, kept)
	if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
		t.Error(diff)
	}
}

// TestRetiredServer: the MCP server that an older lcm wrote goes when the plugin comes, and one
// of the user's own stays.
func TestRetiredServer(t *testing.T) {
	for server, stays := range map[string]bool{`{"command":"/opt/lcm/bin/lcm","args":["mcp"]}`: false, `{"command":"npx","args":["lcm"]}`: true} {
		m := home(t, map[string]string{".openclaw/openclaw.json": `{"mcp":{"servers":{"lcm":` + server + `,"other":{"command":"x"}}}}`})
		apply(t, "openclaw", options(m), filepath.Join(t.TempDir(), "kept"))
		got := tree(t, m.Home)[".openclaw/openclaw.json"]
		if strings.Contains(got, server) != stays || !strings.Contains(got, `"other":{"command":"x"}`) || !strings.Contains(got, `"contextEngine":`) {
			t.Error(got)
		}
	}
}

// TestCheckEngine: doctor knows that an adapter has the tools and tells of each turn, and who has
// the place of the context engine.
func TestCheckEngine(t *testing.T) {
	m, kept := home(t, map[string]string{".openclaw/openclaw.json": clawSettings, ".pi/agent/x": ""}), filepath.Join(t.TempDir(), "kept")
	o := options(m)
	o.Binary = filepath.Join(m.Home, ".pi", "agent", "x") // it exists
	in := setup.Inspection{Machine: m, Hosts: all.Those[setup.Host](), Tools: func(context.Context, []string) ([]string, error) { return nil, nil }}
	for _, tt := range []struct {
		replace bool
		want    []string
	}{
		{false, []string{"host-alive lcm owns its context", `host-engine its context engine is "lossless-claw": lcm's plugin is there, and only its tools are used`}},
		{true, []string{"host-alive lcm owns its context", "host-alive lcm owns its context"}},
	} {
		o.Replace = tt.replace
		apply(t, "pi", o, kept)
		apply(t, "openclaw", o, kept)
		var got []string
		for _, f := range setup.Check(t.Context(), in) {
			got = append(got, f.Code+" "+f.Message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
