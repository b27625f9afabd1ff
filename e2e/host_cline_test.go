//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clineAgent is the Cline CLI.
type clineAgent struct{}

func (clineAgent) name() string { return "cline" }

func (clineAgent) hookless() {}

func (clineAgent) program(b *bed) string {
	return filepath.Join(b.programs, "@cline", "cli-linux-x64", "bin", "cline")
}

func (a clineAgent) prepare(b *bed) {
	b.run(a.program(b), "auth", "openai-compatible", "-k", "x", "-m", "scripted", "-b", b.url+"/v1")
	b.Cleanup(func() { // it leaves a daemon
		c := exec.Command(a.program(b), "hub", "stop")
		c.Env = b.env
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), `"stopped":true`) {
			b.Errorf("stop the daemon of Cline: %v %s", err, out)
		}
	})
	b.write(filepath.Join(b.home, ".cline", "data", "settings", "cline_mcp_settings.json"), `{
  "mcpServers": {}
}
`)
}

func (clineAgent) trust(*bed) {}

func (a clineAgent) ask(b *bed, prompt string) string {
	return b.host(a.program(b), "-P", "openai-compatible", "-m", "scripted", prompt)
}

func (a clineAgent) goOn(b *bed, prompt string) string {
	b.Fatal("it resumes sessions only in its terminal interface")
	return ""
}

func (clineAgent) compact(*bed, string) bool { return false }

func (clineAgent) records(b *bed) (all [][]byte) {
	found, err := filepath.Glob(filepath.Join(b.home, ".cline/data/sessions/*/*.messages.json"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range found {
		var session struct{ Messages []json.RawMessage }
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(content, &session); err != nil {
			b.Fatal(path, err)
		}
		for _, message := range session.Messages {
			all = append(all, message)
		}
	}
	return all
}

// It writes when a provider was used last.
func (clineAgent) rewritten() []string { return []string{".cline/data/settings/providers.json"} }
