//go:build record

package record

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordDroid(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "FACTORY_API_KEY=fk-x")
	b.write(filepath.Join(b.home, ".factory", "settings.json"), `{"cloudSessionSync": false, "customModels": [{"model": "scripted", "displayName": "scripted", "baseUrl": "`+b.url+
		`/v1", "apiKey": "x", "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}]}`)
	b.write(filepath.Join(b.home, ".factory", "mcp.json"), `{"mcpServers": {"lcm": {"type": "stdio", "command": "`+b.lcm+`", "args": ["mcp"]}}}`)
	ask := func(prompt string, more ...string) {
		args := append([]string{"exec", "--auto", "high", "-m", "custom:scripted-0"}, more...)
		t.Log(b.run("@factory/cli-linux-x64/bin/droid", append(args, prompt)...))
	}
	ask("Hello. play:hello")
	ask("What do the notes say? play:look")
	ask("Read both files at once. play:both")
	ask("Is the build green? play:delegate")
	ask("What was the needle? play:remember")
	ask("Read a file that is not there. play:fail")
	sessions := func() []string {
		found, err := filepath.Glob(filepath.Join(b.home, ".factory", "sessions", "*", "*.jsonl"))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		return found
	}
	// It resumes a session only with its server; a fork needs none.
	ask("And the other way? play:other", "--fork", strings.TrimSuffix(filepath.Base(sessions()[0]), ".jsonl"))
	b.keep("droid")
	for _, path := range sessions() { // without the settings beside them
		b.export("droid", path, ".factory/sessions/-home-user-project/"+filepath.Base(path))
	}
}
