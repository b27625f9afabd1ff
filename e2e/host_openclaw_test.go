//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"
)

// openclawAgent is OpenClaw, without its gateway.
type openclawAgent struct{ sessions *int }

func (openclawAgent) name() string { return "openclaw" }

func (openclawAgent) onlyEngine() {}

func (openclawAgent) prepare(b *bed) {
	b.write(filepath.Join(b.home, ".openclaw", "openclaw.json"), `{
  // mine
  "models": {"providers": {"x": {"baseUrl": "`+b.url+`/v1", "apiKey": "x", "api": "openai-completions",
    "models": [{"id": "scripted", "name": "scripted", "contextWindow": 128000, "maxTokens": 4000}]}}},
  "agents": {"defaults": {"model": {"primary": "x/scripted"}, "workspace": "`+b.work+`", "skipBootstrap": true}},
}
`)
}

func (openclawAgent) trust(*bed) {}

// ask begins a session under a key of its own: one key has one session after the other.
func (a openclawAgent) ask(b *bed, prompt string) string {
	*a.sessions++
	return a.goOn(b, prompt)
}

func (a openclawAgent) goOn(b *bed, prompt string) string {
	line := a.engineLine(b, prompt, true)
	return b.host(line[0], line[1:]...)
}

func (a openclawAgent) engineLine(b *bed, prompt string, goOn bool) []string {
	if !goOn {
		*a.sessions++
	}
	return []string{node(b, filepath.Dir(b.programs)), filepath.Join(b.programs, "openclaw", "openclaw.mjs"),
		"agent", "--local", "--agent", "main", "--session-key", fmt.Sprintf("session-%d", *a.sessions), "-m", prompt}
}

func (openclawAgent) adapter(b *bed) string {
	return filepath.Join(b.home, ".openclaw", "extensions", "lcm", "index.js")
}

func (openclawAgent) compact(*bed, string) bool { return false }

func (openclawAgent) records(b *bed) (all [][]byte) {
	db, err := sqlite3.OpenFlags(filepath.Join(b.home, ".openclaw/agents/main/agent/openclaw-agent.sqlite"), sqlite3.OPEN_READONLY)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	inflate, err := zstd.NewReader(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer inflate.Close()
	s, _, err := db.Prepare("SELECT event_json, event_zstd FROM transcript_events")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for s.Step() {
		event := s.ColumnBlob(0, nil)
		if event == nil {
			if event, err = inflate.DecodeAll(s.ColumnBlob(1, nil), nil); err != nil {
				b.Fatal(err)
			}
		}
		all = append(all, event)
	}
	if s.Err() != nil {
		b.Fatal(s.Err())
	}
	return all
}

func (openclawAgent) rewritten() []string { return nil }
