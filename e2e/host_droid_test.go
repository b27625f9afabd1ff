//go:build e2e

package e2e

import "path/filepath"

// droidAgent is Factory's Droid.
type droidAgent struct{}

func (droidAgent) name() string { return "droid" }

func (droidAgent) prepare(b *bed) {
	b.env = append(b.env, "FACTORY_API_KEY=fk-x") // any key that begins so
	b.write(filepath.Join(b.home, ".factory", "settings.json"), `{
  // the model of the test
  "customModels": [{"model": "scripted", "displayName": "scripted", "baseUrl": "`+b.url+`/v1", "apiKey": "x",
    "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}],
  "cloudSessionSync": false
}
`)
}

func (droidAgent) trust(*bed) {} // the user's own settings need none

func (a droidAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a droidAgent) goOn(b *bed, prompt string) string {
	b.Fatal("it resumes sessions only with its server")
	return ""
}

func (a droidAgent) run(b *bed, prompt string) string {
	line := a.line(b, prompt, false)
	return b.host(line[0], line[1:]...)
}

func (droidAgent) line(b *bed, prompt string, _ bool) []string {
	program := filepath.Join(b.programs, "@factory", "cli-linux-x64", "bin", "droid")
	return []string{program, "exec", "--auto", "high", "-m", "custom:scripted-0", prompt}
}

// compact is a command of its terminal interface.
func (droidAgent) compact(*bed, string) bool { return false }

func (droidAgent) records(b *bed) [][]byte { return b.lines(".factory/sessions/*/*.jsonl") }

func (droidAgent) rewritten() []string { return nil }
