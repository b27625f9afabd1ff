package openclaw

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// fakeEngine answers the first lcm_expand_query with a task, and everything else with what it
// was asked.
const fakeEngine = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, verb, ...rest } = JSON.parse(line)
  const ask = { child: "c1", system: "SYSTEM", message: "TASK", tools: ["grep", "expand"].map((verb) => ({ verb, name: "lcm_" + verb, description: "", parameters: {} })) }
  console.log(JSON.stringify({ id, ok: verb === "expand_query" && rest.delegate ? { ask } : { text: verb + " " + JSON.stringify(rest), read: 0 } }))
})`

// fakeHost loads the plugin, asks a question with and without a gateway, and prints what the
// sub-agent had.
const fakeHost = `
import register from "./index.mjs"
const factories = {}, hooks = {}, log = []
let gateway = true, engine
const subagent = {
  async run(params) {
    const ctx = { sessionKey: params.sessionKey, sessionId: "reader" }
    const has = Object.keys(factories).filter((name) => factories[name](ctx))
    log.push("run " + params.message + " " + params.extraSystemPrompt + " also " + params.toolsAlsoAllow + " has " + has)
    log.push((await factories.lcm_expand(ctx).execute("1", { messageIds: ["msg_1"] })).content[0].text)
    log.push("exec: " + JSON.stringify(hooks.before_tool_call({ toolName: "exec" }, ctx)) + " in another session: " + JSON.stringify(hooks.before_tool_call({ toolName: "exec" }, { sessionKey: "k" })))
    await engine.assemble({ ...ctx, messages: [{ role: "user", content: [], timestamp: 1 }], tokenBudget: 1 })
    log.push("commit " + (await engine.commitTurn({ sessionId: "reader", terminal: { entryId: "e" } })).status)
    return { runId: "r" }
  },
  waitForRun: async () => ({ status: "ok" }),
  getSessionMessages: async () => ({ messages: [{ role: "assistant", content: [{ type: "text", text: "ANSWER" }] }] }),
  deleteSession: async ({ deleteTranscript }) => void log.push("deleted " + deleteTranscript),
}
register({
  registerContextEngine: (_, make) => (engine = make({})),
  registerTool: (make, { name }) => (factories[name] = make),
  on: (name, hook) => (hooks[name] = hook),
  runtime: { subagent, gateway: { isAvailable: async () => gateway } },
})
const ctx = { sessionKey: "k", sessionId: "s", agentId: "main" }
log.push("tools " + Object.keys(factories).filter((name) => factories[name](ctx)))
const ask = async () => log.push((await factories.lcm_expand_query(ctx).execute("1", { prompt: "?" })).content[0].text)
await ask()
gateway = false
await ask()
console.log(log.join("\n"))
`

// A question is answered by a sub-agent of OpenClaw, which alone has lcm_expand and no other
// program's tools, and whose session is neither stored nor kept. Without a gateway lcm answers.
func TestDelegation(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir := t.TempDir()
	plugin := script(setup.Options{Binary: node, Args: []string{}})
	plugin = strings.Replace(plugin, `"engine"]`, `"`+filepath.ToSlash(filepath.Join(dir, "engine.cjs"))+`"]`, 1)
	for name, text := range map[string]string{"index.mjs": plugin, "host.mjs": fakeHost, "engine.cjs": fakeEngine} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), node, "host.mjs")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `tools lcm_grep,lcm_describe,lcm_expand_query
run TASK SYSTEM also lcm_grep,lcm_expand has lcm_grep,lcm_expand
expand {"session":"reader","arguments":{"messageIds":["msg_1"]},"child":"c1"}
exec: {"block":true,"blockReason":"Only lcm's tools can be used here."} in another session: undefined
commit committed
deleted true
reply {"child":"c1","text":"ANSWER"}
expand_query {"session":"s","arguments":{"prompt":"?"},"delegate":false}
`
	if string(out) != want {
		t.Errorf("%s\nwant %s", out, want)
	}
}
