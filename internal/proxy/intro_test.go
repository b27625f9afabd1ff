package proxy_test

import (
	"bytes"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/toolname"
)

// TestIntroNamesOfferedTools: the text before the summaries names lcm's tools only if the
// request offers them, else the command line, and neither to a model without tools.
func TestIntroNamesOfferedTools(t *testing.T) {
	for name, c := range map[string]struct {
		tools           []any
		named, commands bool
	}{
		"lcm's tools": {[]any{object{"name": "Bash"}, object{"name": "mcp__lcm__" + toolname.Grep}}, true, false},
		"others":      {[]any{object{"name": "Bash"}}, false, true},
		"none":        {[]any{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			b.tools = c.tools
			b.play(60)
			_, intro, found := bytes.Cut(b.got(), []byte("lcm-context"))
			for n := 60; !found && n < 200; n++ { // a fold may be late
				b.step(n)
				b.flush()
				b.send(b.body())
				_, intro, found = bytes.Cut(b.got(), []byte("lcm-context"))
			}
			if !found {
				t.Fatal("no request was folded")
			}
			if named := bytes.Contains(intro, []byte(toolname.Describe)); named != c.named {
				t.Errorf("the tools are named: %v", named)
			}
			if commands := bytes.Contains(intro, []byte("lcm grep")); commands != c.commands {
				t.Errorf("the command line is named: %v", commands)
			}
		})
	}
}
