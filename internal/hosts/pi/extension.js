// lcm for pi: written by `lcm setup pi`, taken out by `lcm setup --remove pi`.
//
// It lets lcm own the context: the oldest messages of a request give way to lcm's summaries when they would be above the
// budget, compactions are answered from the record without a model, and the model gets lcm's tools. It speaks with one
// process, `lcm engine` (docs/ENGINE.md), which it starts when it is needed and again after it died. It never throws, and
// waits no longer than its limits: without lcm, pi works as before.
import { spawn } from "node:child_process"

const COMMAND = ["lcm", "engine"]
const LIMIT = 500 // milliseconds, of an assemble
const FIRST_LIMIT = 5000 // of the first one of a process: it may open a long session
const SLOW_LIMIT = 30000 // of everything else
const SHARE = 0.6 // of the window, for the messages
const MOST = 150000 // tokens

// engine is the process and the requests that wait for its answers.
const engine = { child: null, ready: null, waiting: new Map(), next: 0, warm: false, slow: false, told: false, tools: false }

// end ends the process; every request that waits fails.
function end(problem) {
  const child = engine.child
  engine.child = engine.ready = null
  engine.warm = false
  for (const one of engine.waiting.values()) one.reject(problem)
  engine.waiting.clear()
  try {
    child?.kill("SIGKILL")
  } catch {}
}

// take takes a line of the process.
function take(line) {
  let answer
  try {
    answer = JSON.parse(line)
  } catch {
    return end(new Error("it answered rubbish"))
  }
  const one = engine.waiting.get(answer?.id)
  if (!one) return
  engine.waiting.delete(answer.id)
  if (answer.error) one.reject(Object.assign(new Error(answer.error.message), { answered: true }))
  else one.resolve(answer.ok ?? {})
}

// start starts the process and says hello.
function start(cwd) {
  const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
  engine.child = child
  const gone = (why) => () => engine.child === child && end(Object.assign(new Error(why), { gone: true }))
  child.on("error", gone("it cannot be started"))
  child.on("exit", gone("it ended"))
  child.stdin.on("error", gone("it ended"))
  let pieces = []
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (text) => {
    if (engine.child !== child) return
    const lines = text.split("\n")
    pieces.push(lines[0])
    for (const next of lines.slice(1)) {
      const line = pieces.join("")
      pieces = [next]
      if (line) take(line)
    }
  })
  // pi exits although the process runs; its input then ends, and so does it.
  child.unref()
  child.stdin.unref?.()
  child.stdout.unref?.()
  return send("hello", { protocols: [1], host: "pi", dir: cwd, wait: FIRST_LIMIT / 2 }, engine.slow ? LIMIT : FIRST_LIMIT)
}

// send sends a request. messages, a JSON text, come last.
function send(verb, members, limit, messages) {
  return new Promise((resolve, reject) => {
    const id = ++engine.next
    const timer = setTimeout(() => {
      engine.slow = true // the next process gets less time
      end(new Error("it did not answer in time"))
    }, limit)
    const settle = (done) => (value) => {
      clearTimeout(timer)
      done(value)
    }
    engine.waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
    let text = JSON.stringify({ id, verb, ...members })
    if (messages) text = text.slice(0, -1) + ',"messages":' + messages + "}"
    try {
      engine.child.stdin.write(text + "\n")
    } catch (problem) {
      end(problem)
    }
  })
}

// ask returns the answer to a request, or undefined: then pi goes on by itself. That is said once, until it works again.
// A process that died is started again at once, one time.
async function ask(ctx, verb, members, limit, messages, again = true) {
  try {
    if (!engine.child) engine.ready = start(ctx.cwd)
    await engine.ready
    const answer = await send(verb, members, limit, messages)
    engine.told = engine.slow = false
    return answer
  } catch (problem) {
    if (again && problem?.gone) return ask(ctx, verb, members, limit, messages, false)
    if (!engine.told) {
      engine.told = true
      tell(ctx, `lcm is not used for now: ${problem?.message}. pi goes on with its own context.`)
    }
  }
}

function tell(ctx, text) {
  try {
    if (ctx.hasUI) ctx.ui.notify(text, "warning")
    else console.error(text)
  } catch {}
}

const sessionOf = (ctx) => ctx.sessionManager?.getSessionId?.() ?? ""

// assemble returns the messages to send, or undefined for those that there are.
async function assemble(messages, ctx) {
  const session = sessionOf(ctx)
  const budget = Math.min((ctx.model?.contextWindow || 128000) * SHARE, MOST) | 0
  const text = JSON.stringify(messages)
  if (!session || text.length < budget * 2) return // far below it
  const limit = engine.warm || engine.slow ? LIMIT : FIRST_LIMIT
  const members = { session, form: "pi", budget, model: ctx.model?.id, tools: engine.tools, wait: limit * 0.6 }
  const answer = await ask(ctx, "assemble", members, limit, text)
  if (!Array.isArray(answer?.parts)) return
  engine.warm = true
  const out = []
  let next = 0
  for (const part of answer.parts) {
    if (part.keep) {
      out.push(...messages.slice(part.keep[0], part.keep[1]))
      next = part.keep[1]
    } else {
      out.push({ role: "user", content: part.say.map((text) => ({ type: "text", text })), timestamp: messages[next]?.timestamp ?? 0 })
    }
  }
  return out.length > 0 ? out : undefined
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
    const messages = await assemble(event.messages, ctx)
    if (messages) return { messages }
  })
  on("session_before_compact", async (event, ctx) => {
    const { firstKeptEntryId, tokensBefore } = event.preparation ?? {}
    const session = sessionOf(ctx)
    if (!session || !firstKeptEntryId) return
    const answer = await ask(ctx, "compact", { session, keep: firstKeptEntryId }, SLOW_LIMIT)
    if (answer?.summary) return { compaction: { summary: answer.summary, firstKeptEntryId, tokensBefore, details: { by: "lcm" } } }
  })
  on("agent_end", async (_, ctx) => {
    const session = sessionOf(ctx)
    if (session) await ask(ctx, "ingest", { session }, SLOW_LIMIT)
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
        const answer = await ask(ctx, "grep", { session: sessionOf(ctx), arguments: { pattern: words, mode: "full_text" } }, SLOW_LIMIT)
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
          const answer = await ask(ctx, tool.verb, { session: sessionOf(ctx), arguments: params ?? {} }, SLOW_LIMIT)
          return { content: [{ type: "text", text: answer?.text ?? "lcm cannot be asked now." }], details: {}, isError: !answer || answer.isError === true }
        },
      })
    } catch {}
  }
}
