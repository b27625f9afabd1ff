//go:build record

package record

import (
	"path/filepath"
	"testing"
)

func TestRecordCline(t *testing.T) {
	b := newBed(t)
	const program = "@cline/cli-linux-x64/bin/cline"
	t.Log(b.run(program, "auth", "openai-compatible", "-k", "x", "-m", "scripted", "-b", b.url+"/v1"))
	defer func() { t.Log(b.run(program, "hub", "stop")) }() // a daemon that it leaves
	b.write(filepath.Join(b.home, ".cline", "data", "settings", "cline_mcp_settings.json"), `{"mcpServers": {"lcm": {"command": "`+b.lcm+`", "args": ["mcp"]}}}`)
	ask := func(prompt string) { t.Log(b.run(program, "-P", "openai-compatible", "-m", "scripted", prompt)) }
	ask("Hello. play:hello")
	ask("What do the notes say? play:look")
	ask("Read both files at once. play:both")
	ask("Is the build green? play:delegate")
	ask("What was the needle? play:remember")
	ask("Read a file that is not there. play:fail")
	b.keep("cline")
	b.export("cline", filepath.Join(b.home, ".cline", "data", "sessions"), ".cline/data/sessions")
}
