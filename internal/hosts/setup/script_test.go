package setup_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/toolname"
)

// TestAdapters: every adapter has the part that speaks with the engine, starts this program, is
// short, and is valid JavaScript.
func TestAdapters(t *testing.T) {
	m := home(t, worlds["fresh"])
	node, _ := exec.LookPath("node") // without it the syntax is not checked
	for host, file := range map[string]string{
		"pi": ".pi/agent/extensions/lcm.js", "opencode": ".config/opencode/plugins/lcm.js", "kilo": ".config/kilo/plugins/lcm.js", "openclaw": ".openclaw/extensions/lcm/index.js",
	} {
		apply(t, host, options(m), filepath.Join(t.TempDir(), "kept"))
		script := tree(t, m.Home)[filepath.FromSlash(file)]
		if !strings.Contains(script, "\nconst ENGINE = [\"/opt/lcm/bin/lcm\",\"engine\"]\n") || !strings.Contains(script, "const HOST = \""+host+"\"") || strings.Contains(script, "/* engine */") {
			t.Errorf("%s does not start the engine:\n%.2000s", file, script)
		}
		if n := strings.Count(script, "\n"); n > 400 {
			t.Errorf("%s has %d lines", file, n)
		}
		if host == "openclaw" && strings.Count(script, `"verb":`) != len(toolname.Agent()) {
			t.Errorf("%s has not the three tools", file)
		}
		if node == "" {
			continue
		}
		check := exec.CommandContext(t.Context(), node, "--check", "--input-type=module", "-")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// lateEngine folds in its first answer, and is late with its folds in the second.
const lateEngine = `
let n = 0
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, verb } = JSON.parse(line)
  const folded = { parts: [{ say: ["old"] }, { keep: [8, 10] }], tokens: 20 }
  const late = { parts: [{ keep: [0, 11] }], tokens: 90000, over: "not folded yet" }
  console.log(JSON.stringify({ id, ok: verb === "assemble" ? (n++ ? late : folded) : {} }))
  if (n === 4) require("node:fs").writeFileSync(__dirname + "/answered", "")
})`

const lateHost = `
const text = (n) => JSON.stringify(Array.from({ length: n }, (_, i) => "message " + i))
const host = { dir: ".", tell: console.log }
for (const n of [10, 11, 12]) {
  const { parts } = await assemble(host, { session: "s", budget: 10 }, text(n), n)
  console.log(JSON.stringify(parts))
  for (const part of parts) if (part.keep) part.keep = [0, 0] // opencode's plugin puts other indices there
}
const answer = assemble(host, { session: "t", budget: 10 }, text(11), 11)
await new Promise(setImmediate) // it is asked
const { existsSync } = await import("node:fs")
const answered = new URL("answered", import.meta.url)
for (const busy = Date.now() + 2 * LIMIT; Date.now() < busy || !existsSync(answered); ); // the answer is there, but the host does not read it
console.log(JSON.stringify((await answer)?.parts))
engine.child.stdin.end()
`

// TestLateFolds: an engine that is above the budget because it is late does not make a request
// longer than the last answer makes it, and a host that is busy does not make an answer late.
func TestLateFolds(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	part, err := os.ReadFile("engine.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command, err := json.Marshal([]string{node, filepath.Join(dir, "engine.cjs")})
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(part), `["lcm", "engine"]`, string(command), 1)
	for name, text := range map[string]string{"engine.cjs": lateEngine, "host.mjs": "import { spawn } from \"node:child_process\"\nconst HOST = \"x\"\n" + script + lateHost} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, "host.mjs")).CombinedOutput()
	want := `[{"say":["old"]},{"keep":[8,10]}]
[{"say":["old"]},{"keep":[8,10]},{"keep":[10,11]}]
[{"say":["old"]},{"keep":[8,10]},{"keep":[10,12]}]
[{"keep":[0,11]}]
`
	if err != nil || string(out) != want {
		t.Errorf("%v, %s, want\n%s", err, out, want)
	}
}
