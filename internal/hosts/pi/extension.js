// lcm for pi: written by `lcm setup pi`, taken out by `lcm setup --remove pi`.
//
// It lets lcm own the context: the oldest messages of a request give way to lcm's summaries when they would be above the
// budget, compactions are answered from the record without a model, and the model gets lcm's tools. It speaks with one
// process, `lcm engine` (docs/ENGINE.md), which it starts when it is needed and again after it died. It never throws, and
// waits no longer than its limits: without lcm, pi works as before.
import { spawn } from "node:child_process"

const HOST = "pi"
/* engine */

function tell(ctx, text) {
  try {
    if (ctx.hasUI) ctx.ui.notify(text, "warning")
    else console.error(text)
  } catch {}
}

const sessionOf = (ctx) => ctx.sessionManager?.getSessionId?.() ?? ""
const hostOf = (ctx) => ({ dir: ctx.cwd, tell: (text) => tell(ctx, text) })

// replace returns the messages to send, or undefined for those that there are.
async function replace(messages, ctx) {
  const members = { session: sessionOf(ctx), form: "pi", budget: budgetOf(ctx.model?.contextWindow), model: ctx.model?.id, tools: engine.tools }
  const answer = await assemble(hostOf(ctx), members, JSON.stringify(messages), messages.length)
  const say = (texts, next) => ({ role: "user", content: texts.map((text) => ({ type: "text", text })), timestamp: messages[next]?.timestamp ?? 0 })
  return answer && compose(answer.parts, messages, say)
}

export default async function (pi) {
  const on = (event, handle) => {
    try {
      pi.on(event, async (...args) => {
        try {
          return await handle(...args)
        } catch {}
      })
    } catch {} // this version of pi has no such event
  }
  on("context", async (event, ctx) => {
    const messages = await replace(event.messages, ctx)
    if (messages) return { messages }
  })
  on("session_before_compact", async (event, ctx) => {
    const { firstKeptEntryId, tokensBefore } = event.preparation ?? {}
    const session = sessionOf(ctx)
    if (!session || !firstKeptEntryId) return
    const answer = await ask(hostOf(ctx), "compact", { session, keep: firstKeptEntryId })
    if (answer?.summary) return { compaction: { summary: answer.summary, firstKeptEntryId, tokensBefore, details: { by: "lcm" } } }
  })
  on("turn_end", async (event, ctx) => {
    const entries = [] // the originals stay in the session
    for (const [i, result] of (event.toolResults ?? []).entries()) {
      const targetId = event.toolResultEntryIds?.[i]
      if (!targetId || !result.content?.every?.((part) => part.type === "text")) continue
      const text = await shorten(hostOf(ctx), { session: sessionOf(ctx), tool: result.toolName, entry: targetId, text: result.content.map((part) => part.text).join("\n") })
      if (text) entries.push({ type: "context_edit", targetId, replacement: { content: text } })
    }
    if (entries.length > 0) return { entries }
  })
  on("agent_end", async (_, ctx) => {
    const session = sessionOf(ctx)
    if (session) await ask(hostOf(ctx), "ingest", { session })
  })
  on("session_shutdown", async () => {
    try {
      engine.child?.stdin.end()
    } catch {}
  })
  try {
    pi.registerCommand("lcm", {
      description: "Search lcm's record of this project",
      handler: async (args, ctx) => {
        const words = String(args ?? "").trim()
        if (!words) return tell(ctx, engine.child ? "lcm owns the context of this session. /lcm WORDS searches the record." : "lcm has not been needed yet. /lcm WORDS searches the record.")
        const answer = await ask(hostOf(ctx), "grep", { session: sessionOf(ctx), arguments: { pattern: words, mode: "full_text" } })
        if (answer) tell(ctx, answer.text)
      },
    })
  } catch {}
  let tools = []
  try {
    engine.ready = start(process.cwd())
    tools = (await engine.ready).tools ?? []
  } catch {} // said with the first request that needs it
  for (const tool of tools) {
    engine.tools = true
    try {
      pi.registerTool({
        name: tool.name,
        label: tool.name,
        description: tool.description,
        parameters: tool.parameters,
        execute: async (_id, params, _signal, _update, ctx) => {
          const answer = await ask(hostOf(ctx), tool.verb, { session: sessionOf(ctx), arguments: params ?? {} })
          return { content: [{ type: "text", text: answer?.text ?? "lcm cannot be asked now." }], details: {}, isError: !answer || answer.isError === true }
        },
      })
    } catch {}
  }
}
