//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// opencodeAgent is opencode.
type opencodeAgent struct{}

func (opencodeAgent) name() string { return "opencode" }

func (opencodeAgent) prepare(b *bed) {
	b.env = append(b.env, "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
	b.pluginPackage(filepath.Join(b.home, ".config", "opencode"), "@opencode-ai/plugin")
	b.write(filepath.Join(b.home, ".config", "opencode", "opencode.jsonc"), `{
  "$schema": "https://opencode.ai/config.json", // which it adds where it is not
  // the model of the test
  "provider": {"x": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "`+b.url+`/v1", "apiKey": "x"},
    "models": {"scripted": {"limit": {"context": 200000, "output": 4000}}}}},
  "model": "x/scripted", "autoupdate": false, "share": "disabled",
}
`)
}

// pluginPackage has the package for plugins installed beside the settings. Where it is not, the
// program tries to install it at every start, which takes more than a minute to fail without
// network.
func (b *bed) pluginPackage(config, name string) {
	b.Helper()
	b.write(filepath.Join(config, "package.json"), `{"dependencies": {"`+name+`": "*"}}`)
	b.write(filepath.Join(config, "package-lock.json"), `{"lockfileVersion": 3, "packages": {"": {"dependencies": {"`+name+`": "*"}}}}`)
	if err := os.Symlink(b.programs, filepath.Join(config, "node_modules")); err != nil {
		b.Fatal(err)
	}
}

func (opencodeAgent) trust(*bed) {} // plugins of the user's own directory need none

func (a opencodeAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a opencodeAgent) goOn(b *bed, prompt string) string { return a.run(b, "--continue", prompt) }

func (a opencodeAgent) run(b *bed, args ...string) string {
	return b.host(a.program(b), append([]string{"run"}, args...)...)
}

func (opencodeAgent) program(b *bed) string {
	return filepath.Join(b.programs, "opencode-linux-x64", "bin", "opencode")
}

func (a opencodeAgent) engineLine(b *bed, prompt string, goOn bool) []string {
	line := []string{a.program(b), "run"}
	if goOn {
		line = append(line, "--continue")
	}
	return append(line, prompt)
}

func (opencodeAgent) adapter(b *bed) string {
	return filepath.Join(b.home, ".config", "opencode", "plugins", "lcm.js")
}

// told returns what the plugin has written to the log.
func (opencodeAgent) told(b *bed) string {
	found, err := filepath.Glob(filepath.Join(b.home, ".local", "share", "opencode", "log", "*.log"))
	if err != nil || len(found) == 0 {
		b.Fatal("opencode has no log", err)
	}
	var all strings.Builder
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// compact is a command of its terminal interface.
func (opencodeAgent) compact(*bed, string) bool { return false }

func (opencodeAgent) records(b *bed) [][]byte {
	return b.texts(filepath.Join(b.home, ".local", "share", "opencode", "opencode.db"))
}

// transcript are the parts of messages in their order.
func (opencodeAgent) transcript(b *bed) [][]byte {
	return b.column(filepath.Join(b.home, ".local", "share", "opencode", "opencode.db"), `SELECT data FROM part WHERE data ->> 'type' IN ('text', 'tool') ORDER BY id`)
}

func (opencodeAgent) rewritten() []string { return nil }

// texts are the texts of a database of opencode's, which has rows instead of lines.
func (b *bed) texts(database string) [][]byte {
	b.Helper()
	return b.column(database, `SELECT data ->> 'text' FROM part WHERE data ->> 'type' = 'text'`)
}

// column is the column that a query of a database gives.
func (b *bed) column(database, query string) [][]byte {
	b.Helper()
	db, err := sqlite3.OpenFlags("file:"+database+"?mode=ro", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.BusyTimeout(10 * time.Second); err != nil {
		b.Fatal(err)
	}
	rows, _, err := db.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var all [][]byte
	for rows.Step() {
		all = append(all, []byte(rows.ColumnText(0)))
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return all
}

// kiloAgent is the Kilo Code CLI.
type kiloAgent struct{}

func (kiloAgent) name() string { return "kilo" }

func (kiloAgent) prepare(b *bed) {
	b.env = append(b.env, "KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_LSP_DOWNLOAD=1")
	b.pluginPackage(filepath.Join(b.home, ".config", "kilo"), "@kilocode/plugin")
	// At its first start it adds the schema and a permission to its settings.
	b.write(filepath.Join(b.home, ".config", "kilo", ".bash-permission-migrated"), "")
	b.write(filepath.Join(b.home, ".config", "kilo", "kilo.jsonc"), `{
  "$schema": "https://app.kilo.ai/config.json",
  // the model of the test
  "provider": {"x": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "`+b.url+`/v1", "apiKey": "x"},
    "models": {"scripted": {"limit": {"context": 200000, "output": 4000}}}}},
  "model": "x/scripted", "autoupdate": false, "share": "disabled",
}
`)
}

func (kiloAgent) trust(*bed) {} // plugins of the user's own directory need none

func (a kiloAgent) ask(b *bed, prompt string) string { return a.run(b, prompt) }

func (a kiloAgent) goOn(b *bed, prompt string) string { return a.run(b, "--continue", prompt) }

func (a kiloAgent) run(b *bed, args ...string) string {
	return b.host(a.program(b), append([]string{"run", "--auto"}, args...)...)
}

func (kiloAgent) program(b *bed) string {
	return filepath.Join(b.programs, "@kilocode", "cli-linux-x64", "bin", "kilo")
}

func (a kiloAgent) line(b *bed, prompt string, goOn bool) []string {
	args := []string{a.program(b), "run", "--auto"}
	if goOn {
		args = append(args, "--continue")
	}
	return append(args, prompt)
}

func (kiloAgent) compact(*bed, string) bool { return false }

func (kiloAgent) records(b *bed) [][]byte {
	return b.texts(filepath.Join(b.home, ".local", "share", "kilo", "kilo.db"))
}

func (kiloAgent) rewritten() []string { return nil }
