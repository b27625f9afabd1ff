//go:build e2e

package e2e

import "path/filepath"

// qwenAgent is Qwen Code.
type qwenAgent struct{}

func (qwenAgent) name() string { return "qwen" }

func (qwenAgent) prepare(b *bed) {
	b.env = append(b.env, "OPENAI_API_KEY=x", "OPENAI_BASE_URL="+b.url+"/v1", "OPENAI_MODEL=scripted")
	b.write(filepath.Join(b.home, ".qwen", "settings.json"), `{
  // mine
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false },
  "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
  "$version": 6
}
`)
}

func (qwenAgent) trust(*bed) {} // the user's own hooks need none

func (a qwenAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a qwenAgent) goOn(b *bed, prompt string) string { return a.run(b, prompt, "--continue") }

func (a qwenAgent) run(b *bed, prompt string, more ...string) string {
	line := append(a.line(b, prompt, false), more...)
	return b.host(line[0], line[1:]...)
}

func (qwenAgent) line(b *bed, prompt string, goOn bool) []string {
	line := []string{b.nodeProgram("qwen", "@qwen-code/qwen-code/cli-entry.js"), "-p", prompt, "--auth-type", "openai"}
	line = append(line, approve(b, ".qwen", prompt)...)
	if goOn {
		line = append(line, "--continue")
	}
	return line
}

func (a qwenAgent) compact(b *bed, prompt string) bool {
	b.Log(a.goOn(b, "/compress"))
	b.Log(a.goOn(b, prompt))
	return true
}

func (qwenAgent) records(b *bed) [][]byte { return b.lines(".qwen/projects/*/chats/*.jsonl") }

func (qwenAgent) rewritten() []string { return nil }
