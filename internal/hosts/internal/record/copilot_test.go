//go:build record

package record

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestRecordCopilot(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL="+b.url+"/v1", "COPILOT_MODEL=scripted", "COPILOT_AUTO_UPDATE=false")
	b.write(filepath.Join(b.home, ".copilot", "mcp-config.json"), `{"mcpServers": {"lcm": {"type": "local", "command": "`+b.lcm+`", "args": ["mcp"], "tools": ["*"]}}}`)
	id := func(session int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", session) }
	ask := func(session int, prompt string) {
		t.Log(b.run("@github/copilot-linux-x64/copilot", "-p", prompt, "--allow-all-tools", "--session-id="+id(session)))
	}
	ask(1, "Hello. play:hello")
	ask(2, "What do the notes say? play:look")
	ask(3, "Read both files at once. play:both")
	ask(4, "Is the build green? play:delegate")
	ask(5, "What was the needle? play:remember")
	ask(6, "Read a file that is not there. play:fail")
	ask(7, "What do the notes say? play:look")
	t.Log(b.run("@github/copilot-linux-x64/copilot", "-p", "/compact", "--resume="+id(7)))
	t.Log(b.run("@github/copilot-linux-x64/copilot", "-p", "Hello again. play:hello", "--resume="+id(7)))
	b.keep("copilot")
	for session := range 7 {
		file := id(session+1) + "/events.jsonl"
		b.export("copilot", filepath.Join(b.home, ".copilot", "session-state", file), ".copilot/session-state/"+file)
	}
}
