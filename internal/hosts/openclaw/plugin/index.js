// lcm for OpenClaw: written by `lcm setup openclaw`, taken out by `lcm setup --remove openclaw`.
//
// It is a context engine: the oldest messages of a request give way to lcm's summaries when they would be above the budget,
// compactions are answered from the record without a model, and the model gets lcm's tools. It speaks with one process,
// `lcm engine` (docs/ENGINE.md), which it starts when it is needed and again after it died. It never throws, which would
// turn it off until OpenClaw is started again, and waits no longer than its limits: without lcm, OpenClaw works with the
// messages as they are, and compacts them by itself.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const HOST = "openclaw"
const TOOLS = []
/* engine */

const HISTORY = 0.6 // of the budget of a request: the rest is for the turn that is going on, which the host adds

// sessions has what was sent last for each session, and ids their ids by key. They are one for all copies of this module.
const sessions = (engine.sessions ??= new Map())
const ids = (engine.ids ??= new Map())

// readers has the tasks of the sub-agents that answer a question of lcm_expand_query, by the keys of their sessions.
const readers = (engine.readers ??= new Map())
const READ_LIMIT = 110000 // milliseconds, of such a sub-agent

function sessionOf(id, key) {
  if (key) ids.set(key, id)
  if (!sessions.has(id)) sessions.set(id, { last: null, tight: false, reads: readers.has(key) })
  return sessions.get(id)
}

// original returns the messages as the session has them: before each request of a turn the host gives back what it was
// given before the first one.
function original(last, messages) {
  if (!last || messages.length < last.sent.length) return messages
  const end = last.sent.length - 1
  const same = (i) => messages[i]?.role === last.sent[i].role && messages[i]?.timestamp === last.sent[i].timestamp
  if (!same(end) || !same(last.at) || textOf(messages[last.at]) !== textOf(last.sent[last.at])) return messages
  return last.full.concat(messages.slice(end + 1))
}

const textOf = (message) => message?.content?.map?.((part) => part.text).join("\n")

// memory is the part of the system prompt that a memory plugin has, which a context engine has to pass on.
async function memory(params) {
  try {
    const { buildMemorySystemPromptAddition } = await import("openclaw/plugin-sdk/core")
    return buildMemorySystemPromptAddition({ availableTools: params.availableTools ?? new Set(), citationsMode: params.citationsMode, agentSessionKey: params.sessionKey })
  } catch {}
}

// contextEngine makes the engine of one turn.
function contextEngine(tell, dir) {
  const host = { dir, tell }
  let budget = 0 // of the turn: the first request says it
  // What a reader reads is in the record, and its session goes when it has answered.
  const read = (session, upto) => (sessions.get(session)?.reads ? { read: 1 } : ask(host, "ingest", { session, upto }))
  return {
    info: {
      id: "lcm",
      name: "lcm",
      ownsCompaction: true,
      transcriptSemantics: { currentTurnFence: "before-current-turn-entry-v1", turnAdvancementIdempotency: "atomic-idempotent-v1" },
    },
    async bootstrap({ sessionId, sessionKey }) {
      sessionOf(sessionId, sessionKey)
      return { bootstrapped: Boolean(await read(sessionId)) }
    },
    async maintain() {
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 }
    },
    async ingest({ sessionId }) {
      return { ingested: Boolean(await read(sessionId)) }
    },
    async assemble(params) {
      const { sessionId, sessionKey, model, availableTools } = params
      const one = sessionOf(sessionId, sessionKey)
      const messages = original(one.last, params.messages)
      const text = JSON.stringify(messages)
      let out = messages
      let tokens = Math.ceil(text.length / 4)
      if (one.reads) return { messages, estimatedTokens: tokens }
      try {
        budget ||= Math.min((params.tokenBudget || budgetOf()) * HISTORY, MOST)
        const members = { session: sessionId, form: "pi", budget: (one.tight ? budget / 2 : budget) | 0, model, cut: true, tools: availableTools?.has?.("lcm_grep") ?? true }
        const answer = await assemble(host, members, text, messages.length)
        one.last = null
        if (answer?.parts?.some((part) => part.say)) {
          const say = (texts, next) => ({ role: "user", content: texts.map((text) => ({ type: "text", text })), timestamp: messages[next]?.timestamp ?? messages.at(-1)?.timestamp ?? 0 })
          out = compose(answer.parts, messages, say)
          tokens = answer.tokens
          one.last = { full: messages, sent: out, at: out.findIndex((message) => !messages.includes(message)) }
        }
      } catch {} // the messages are sent as they are
      return { messages: out, estimatedTokens: tokens, systemPromptAddition: await memory(params) }
    },
    async commitTurn({ sessionId, terminal }) {
      sessionOf(sessionId).tight = false
      const answer = await read(sessionId, terminal?.entryId)
      // With any other status the host keeps the turn and asks again before the next one.
      return { status: !answer ? "unavailable" : answer.read > 0 ? "committed" : "duplicate" }
    },
    async compact(params) {
      const { sessionId, sessionKey, currentTokenCount } = params
      const answer = await ask(host, "compact", { session: sessionId })
      if (!answer?.summary) {
        try {
          return await (await import("openclaw/plugin-sdk/core")).delegateCompactionToRuntime(params)
        } catch {
          return { ok: false, compacted: false, reason: "lcm cannot be asked now" }
        }
      }
      sessionOf(sessionId, sessionKey).tight = true
      const tokensBefore = currentTokenCount ?? 0
      return { ok: true, compacted: true, result: { summary: answer.summary, tokensBefore, tokensAfter: answer.tokens, details: { by: "lcm" } } }
    },
    async prepareSubagentSpawn({ parentSessionKey, childSessionKey, parentSessionId, childSessionId }) {
      const session = parentSessionId ?? ids.get(parentSessionKey)
      if (childSessionId) ids.set(childSessionKey, childSessionId)
      if (session && childSessionId) await ask(host, "subagent", { session, child: childSessionId, event: "started" }, LIMIT)
      return undefined
    },
    async onSubagentEnded({ childSessionKey }) {
      const child = ids.get(childSessionKey)
      const reads = sessions.get(child)?.reads
      ids.delete(childSessionKey)
      sessions.delete(child)
      if (child && !reads) await ask(host, "subagent", { session: child, child, event: "ended" }, LIMIT)
    },
    async dispose() {}, // the process outlives the turn
  }
}

// readBy has a sub-agent of the host do a task, and returns its reply.
async function readBy(subagent, sessionKey, task) {
  const tools = task.tools ?? readers.get(sessionKey)?.tools ?? []
  readers.set(sessionKey, { child: task.child, tools })
  try {
    const { runId } = await subagent.run({
      sessionKey,
      message: task.message,
      extraSystemPrompt: task.system,
      promptMode: "minimal",
      lightContext: true,
      deliver: false,
      toolsAlsoAllow: tools.map((one) => one.name),
    })
    const done = await subagent.waitForRun({ runId, timeoutMs: READ_LIMIT })
    if (done.status !== "ok") return { problem: `the sub-agent: ${done.error ?? done.status}` }
    const { messages } = await subagent.getSessionMessages({ sessionKey, limit: 4 })
    const last = messages.findLast((message) => message.role === "assistant")
    return { text: typeof last?.content === "string" ? last.content : (last?.content ?? []).map((part) => part.text ?? "").join("") }
  } catch (problem) {
    return { problem: String(problem?.message ?? problem) }
  }
}

// question has a sub-agent of the host answer lcm_expand_query, where there are some: without its gateway OpenClaw has none,
// and lcm answers by itself.
async function question(api, host, members, agent) {
  const subagent = (await api.runtime?.gateway?.isAvailable?.().catch(() => false)) && api.runtime.subagent
  const sessions = new Map() // of the sub-agents, by child
  let answer = await ask(host, "expand_query", { ...members, delegate: Boolean(subagent) })
  while (answer?.ask) {
    const { child } = answer.ask
    if (!sessions.has(child)) sessions.set(child, `agent:${agent || "main"}:subagent:${randomUUID()}`)
    answer = await ask(host, "reply", { child, ...(await readBy(subagent, sessions.get(child), answer.ask)) })
  }
  for (const sessionKey of sessions.values()) {
    const gone = () => readers.delete(sessionKey)
    subagent.deleteSession({ sessionKey, deleteTranscript: true }).then(gone, gone) // it takes seconds
  }
  return answer
}

// tool is a tool of lcm's for one session. A reader has those of its task.
function tool(api, one, tell, ctx) {
  const reader = readers.get(ctx.sessionKey)
  const { verb, name, description, parameters } = reader ? (reader.tools.find((other) => other.name === one.name) ?? {}) : one
  if (!parameters) return null
  return {
    name,
    label: name,
    description,
    parameters,
    catalogMode: "direct-only", // else the model would have to search for it
    execute: async (_id, params) => {
      const host = { dir: ctx.workspaceDir, tell }
      const members = { session: ctx.sessionId ?? ids.get(ctx.sessionKey) ?? "", dir: ctx.workspaceDir, arguments: params ?? {}, child: reader?.child }
      const answer = await (verb === "expand_query" ? question(api, host, members, ctx.agentId) : ask(host, verb, members))
      return { content: [{ type: "text", text: answer?.text ?? "lcm cannot be asked now." }], details: {}, isError: !answer || answer.isError === true }
    },
  }
}

export default function register(api) {
  const tell = (text) => (api.logger?.warn ?? console.error)(text)
  api.registerContextEngine("lcm", (ctx) => contextEngine(tell, ctx?.workspaceDir))
  for (const one of [...TOOLS, { name: "lcm_expand" }]) {
    try {
      api.registerTool((ctx) => tool(api, one, tell, ctx ?? {}), { name: one.name })
    } catch {}
  }
  try {
    // What was recorded is no instruction: who reads it has no other tool.
    api.on("before_tool_call", (event, ctx) => (readers.has(ctx?.sessionKey) && !event.toolName.startsWith("lcm_") ? { block: true, blockReason: "Only lcm's tools can be used here." } : undefined))
  } catch {}
  try {
    api.registerAgentToolResultMiddleware(
      async ({ toolCallId, toolName, cwd, result }, ctx) => {
        try {
          if (!result?.content?.every?.((part) => part.type === "text")) return
          const members = { session: ctx?.sessionId ?? ids.get(ctx?.sessionKey), tool: toolName, call: toolCallId, text: result.content.map((part) => part.text).join("\n") }
          const text = await shorten({ dir: cwd, tell }, members)
          if (text) return { result: { ...result, content: [{ type: "text", text }] } }
        } catch {} // it is handed on whole
      },
      { runtimes: ["openclaw"] },
    )
  } catch {}
  try {
    api.on("gateway_stop", () => engine.child?.stdin.end())
  } catch {}
}
