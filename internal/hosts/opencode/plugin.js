// lcm for opencode: written by `lcm setup opencode`, taken out by `lcm setup --remove opencode`.
//
// It tells lcm when a turn has ended, so that the record is up to date, and puts what lcm knows about earlier work in
// this project before the first message of a session, and again after a compaction. A prompt that refers to earlier work
// gets the lines of the record that it refers to, and a failed command what worked after the same failure. And it lets
// lcm own the context: the oldest messages of a request give way to lcm's summaries when they would be above the budget,
// and the summary of a compaction is the record's. It never throws and never waits for longer than its limits: without
// lcm, opencode works as before.
import { spawn } from "node:child_process"

const COMMAND = ["lcm", "hook", "opencode"]
const SERVER = null // the MCP server, where the settings have none
const HOOK_LIMIT = 5000 // milliseconds
const PROMPT_LIMIT = 2000

const HOST = "opencode"
/* engine */

function tell(event, limit = HOOK_LIMIT) {
  return new Promise((resolve) => {
    let out = ""
    const done = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    const timer = setTimeout(() => {
      child?.kill()
      done("")
    }, limit)
    let child
    try {
      child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", () => done(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (piece) => (out += piece))
      child.on("close", () => done(out))
      child.stdin.end(JSON.stringify(event))
    } catch {
      done("")
    }
  })
}

async function contextFor(event, limit) {
  const answer = await tell(event, limit)
  try {
    return JSON.parse(answer).hookSpecificOutput?.additionalContext || ""
  } catch {
    return ""
  }
}

// chat returns messages in the form of OpenAI's API, and where each of them begins there. A call and its result are one
// part of a message, so that no message is cut in two. A summary stands for the user's words: it has lcm's mark.
function chat(messages) {
  const out = []
  const starts = []
  for (const { info, parts } of messages) {
    starts.push(out.length)
    const content = []
    const calls = []
    const results = []
    let thought = ""
    for (const part of parts) {
      if (part.type === "text" && !part.ignored && part.text) content.push({ type: "text", text: part.text })
      else if (part.type === "file") content.push({ type: "image_url", image_url: { url: "" } })
      else if (part.type === "reasoning") thought += part.text
      else if (part.type === "tool" && part.callID) {
        const { input, output, error, time } = part.state ?? {}
        calls.push({ id: part.callID, type: "function", function: { name: part.tool, arguments: JSON.stringify(input ?? {}) } })
        results.push({ role: "tool", tool_call_id: part.callID, content: (time?.compacted ? "" : output) ?? error ?? "" })
      }
    }
    const message = { role: info.summary ? "user" : info.role, content }
    if (thought) message.thought = thought
    if (calls.length > 0) message.tool_calls = calls
    out.push(message, ...results)
  }
  return { out, starts: starts.concat(out.length) }
}

// replace puts the messages to send in the place of a request's.
async function replace(host, session, model, messages) {
  const { out, starts } = chat(messages)
  const members = { session, form: "openai", budget: budgetOf(model?.limit?.context), model: model?.id, tools: true }
  const parts = (await assemble(host, members, JSON.stringify(out), out.length))?.parts
  if (!parts) return
  const at = new Map(starts.map((start, index) => [start, index]))
  for (const part of parts) if (part.keep) part.keep = part.keep.map((index) => at.get(index)) // of messages
  const info = messages.find((one) => one.info.role === "user")?.info
  if (!info || parts.some((part) => part.keep?.includes(undefined))) return // never: a message is not cut
  const sent = compose(parts, messages, (texts, next) => {
    const id = (messages[next] ?? messages[0]).info.id + "l"
    return { info: { ...info, id }, parts: texts.map((text, i) => ({ id: `prt_${id}${i}`, sessionID: session, messageID: id, type: "text", synthetic: true, text })) }
  })
  if (sent) messages.splice(0, messages.length, ...sent)
}

export const LCM = async ({ directory, client }) => {
  const blocks = new Map() // by session: what its requests begin with, unchanged so that prompt caches hold
  const children = new Set() // sessions of sub-agents, which are told everything by the one that started them
  const compacted = new Set()
  const models = new Map() // by session
  const summaries = new Map() // by session: that of a compaction that is going on
  const note = (text) => {
    client?.tui?.showToast?.({ body: { message: text, variant: "warning" } })?.catch?.(() => {})
    client?.app?.log?.({ body: { service: "lcm", level: "warn", message: text } })?.catch?.(() => {})
  }
  const host = { dir: directory, tell: note }
  return {
    config: async (config) => {
      if (SERVER) (config.mcp ??= {}).lcm ??= SERVER
    },
    event: async ({ event }) => {
      const of = event.properties?.info
      if (event.type === "session.created" && of?.parentID) children.add(of.id)
      const sessionID = event.properties?.sessionID
      if (event.type === "session.compacted") {
        blocks.delete(sessionID)
        compacted.add(sessionID)
        await tell({ hook_event_name: "PostCompact", session_id: sessionID, cwd: directory })
      }
      if (event.type === "session.idle") {
        await tell({ hook_event_name: children.has(sessionID) ? "SubagentStop" : "Stop", session_id: sessionID, cwd: directory })
      }
    },
    "chat.message": async (input, output) => {
      const sessionID = input?.sessionID
      const said = (output?.parts || []).filter((part) => part.type === "text" && !part.synthetic)
      if (!sessionID || children.has(sessionID) || said.length === 0) return
      const prompt = said.map((part) => part.text).join("\n")
      const text = await contextFor({ hook_event_name: "UserPromptSubmit", session_id: sessionID, cwd: directory, prompt }, PROMPT_LIMIT)
      if (!text) return
      const last = output.parts[output.parts.length - 1]
      // Parts are kept in the order of their ids: this one follows the last.
      output.parts.push({ id: last.id + "l", sessionID, messageID: last.messageID, type: "text", synthetic: true, text })
    },
    "experimental.chat.system.transform": async (input, output) => {
      const sessionID = input?.sessionID
      if (sessionID && input.model) models.set(sessionID, input.model)
      if (!sessionID || children.has(sessionID)) return
      if (!blocks.has(sessionID)) {
        const source = compacted.has(sessionID) ? "compact" : "startup"
        blocks.set(sessionID, contextFor({ hook_event_name: "SessionStart", session_id: sessionID, cwd: directory, source }))
      }
      const block = await blocks.get(sessionID)
      if (block) output.system.push(block)
    },
    "experimental.chat.messages.transform": async (_, output) => {
      try {
        const session = output?.messages?.[0]?.info?.sessionID
        if (session && (engine.owner ??= LCM) === LCM) await replace(host, session, models.get(session), output.messages)
      } catch {} // the messages are sent as they are
    },
    "tool.execute.after": async (input, output) => {
      try {
        if ((engine.owner ??= LCM) !== LCM) return
        const text = await shorten(host, { session: input?.sessionID, tool: input?.tool, call: input?.callID, text: output?.output })
        if (text) output.output = text
      } catch {} // it is handed on whole
    },
    "experimental.session.compacting": async (input) => {
      if ((engine.owner ??= LCM) !== LCM) return // the settings and a package both have this plugin
      const answer = await ask(host, "compact", { session: input?.sessionID })
      if (answer?.summary) summaries.set(input.sessionID, answer.summary)
    },
    "experimental.text.complete": async (input, output) => {
      const summary = summaries.get(input?.sessionID)
      summaries.delete(input?.sessionID)
      if (summary && output?.text) output.text = summary
    },
  }
}
