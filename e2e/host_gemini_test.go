//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// geminiAgent is Gemini CLI.
type geminiAgent struct{}

func (geminiAgent) name() string { return "gemini" }

func (geminiAgent) prepare(b *bed) {
	b.env = append(b.env, "GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL="+b.url)
	b.write(filepath.Join(b.home, ".gemini", "settings.json"), `{
  // mine
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false }
}
`)
}

func (geminiAgent) trust(*bed) {} // the user's own hooks need none

func (a geminiAgent) ask(b *bed, prompt string) string { return a.run(b, prompt, false) }

func (a geminiAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, true) }

func (a geminiAgent) run(b *bed, prompt string, goOn bool) string {
	line := a.line(b, prompt, goOn)
	return b.host(line[0], line[1:]...)
}

func (geminiAgent) line(b *bed, prompt string, goOn bool) []string {
	line := []string{b.nodeProgram("gemini", "@google/gemini-cli/bundle/gemini.js"), "-p", prompt, "-m", "gemini-2.5-flash"}
	line = append(line, approve(b, ".gemini", prompt)...)
	if goOn {
		line = append(line, "--resume", "latest")
	}
	return line
}

// approve lets an agent call every tool. To recall after `lcm setup` it must need no approval.
func approve(b *bed, dir, prompt string) []string {
	settings, err := os.ReadFile(filepath.Join(b.home, dir, "settings.json"))
	if err == nil && prompt == recall && bytes.Contains(settings, []byte("mcpServers")) {
		return nil
	}
	return []string{"--yolo"}
}

// compact has it compact before a turn, because there is more in the context than it is
// allowed. The session is told of itself with the prompt after that.
func (a geminiAgent) compact(b *bed, prompt string) bool {
	settings := filepath.Join(b.work, ".gemini", "settings.json")
	b.write(settings, `{"model": {"compressionThreshold": 0.001}}`) // of a million tokens
	b.Log(a.goOn(b, "And then? "+strings.Repeat("The tide turns. ", 2000)))
	if err := os.Remove(settings); err != nil {
		b.Fatal(err)
	}
	b.Log(a.goOn(b, prompt))
	return true
}

// records leaves out files without a message: Gemini CLI begins one when it resumes a session.
func (geminiAgent) records(b *bed) (all [][]byte) {
	found, err := filepath.Glob(filepath.Join(b.home, ".gemini/tmp/*/chats/session-*.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range found {
		name, err := filepath.Rel(b.home, path)
		if err != nil {
			b.Fatal(err)
		}
		if lines := b.lines(name); bytes.Contains(bytes.Join(lines, nil), []byte(`"type":"gemini"`)) {
			all = append(all, lines...)
		}
	}
	return all
}

func (geminiAgent) rewritten() []string { return nil }
