// ---- the engine: docs/ENGINE.md; every adapter has this part ----
const ENGINE = ["lcm", "engine"]
const LIMIT = 500 // milliseconds, of an assemble
const FIRST_LIMIT = 5000 // of the first one of a process: it may open a long session
const SLOW_LIMIT = 30000 // of everything else
const SHARE = 0.6 // of the window, for the messages
const MOST = 150000 // tokens

// engine is the process and the requests that wait for its answers. It is one for all copies of this module.
const engine = (globalThis[Symbol.for("lcm.engine")] ??= { child: null, ready: null, waiting: new Map(), next: 0, warm: false, slow: false, told: false, tools: false })

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
  if (answer.error) one.reject(new Error(answer.error.message))
  else one.resolve(answer.ok ?? {})
}

// start starts the process and says hello.
function start(dir) {
  const child = spawn(ENGINE[0], ENGINE.slice(1), { cwd: dir || undefined, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
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
  // The host exits although the process runs; its input then ends, and so does it.
  child.unref()
  child.stdin.unref?.()
  child.stdout.unref?.()
  return send("hello", { protocols: [1], host: HOST, dir, wait: FIRST_LIMIT / 2 }, engine.slow ? LIMIT : FIRST_LIMIT).then((answer) => {
    engine.shorten = answer.shorten ?? 0 // tokens
    return answer
  })
}

// send sends a request. messages, a JSON text, come last.
function send(verb, members, limit, messages) {
  return new Promise((resolve, reject) => {
    const id = ++engine.next
    const late = () => {
      if (!engine.waiting.has(id)) return
      engine.slow = true // the next process gets less time
      end(new Error("it did not answer in time"))
    }
    // A host that was busy for so long reads the answer first.
    const timer = setTimeout(() => setImmediate(late), limit)
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

// ask returns the answer to a request, or undefined: then the host goes on by itself. tell says that once, until it works
// again. A process that died is started again at once, one time.
async function ask(host, verb, members, limit = SLOW_LIMIT, messages = undefined, again = true) {
  try {
    if (!engine.child) engine.ready = start(host.dir)
    await engine.ready
    const answer = await send(verb, members, limit, messages)
    engine.told = engine.slow = false
    return answer
  } catch (problem) {
    if (again && problem?.gone) return ask(host, verb, members, limit, messages, false)
    if (!engine.told) {
      engine.told = true
      try {
        host.tell(`lcm is not used for now: ${problem?.message}. The context is left as it is.`)
      } catch {}
    }
  }
}

// shorten returns what an output of a tool is handed on as, once lcm has all of it, or undefined for the whole output.
async function shorten(host, members) {
  if (!members.session || typeof members.text !== "string" || members.text.length < (engine.shorten ?? 500) * 2 || engine.shorten === 0) return
  return (await ask(host, "shorten", members, LIMIT * 4))?.text || undefined
}

const budgetOf = (window) => Math.min((window || 128000) * SHARE, MOST) | 0

// assemble returns the answer with the parts of the messages to send, or undefined for all of them. messages is the JSON
// text of count messages. Without the engine, or if its answer is longer, the last answer holds, with the new messages
// behind it: the request is no longer than it has to be, and begins with the same bytes.
async function assemble(host, members, messages, count) {
  if (!members.session || messages.length < members.budget * 2 || process.env.LCM_RUN === HOST) return // far below the budget, or `lcm run` folds
  const limit = engine.warm || engine.slow ? LIMIT : FIRST_LIMIT
  const answer = await ask(host, "assemble", { ...members, wait: limit * 0.6 }, limit, messages)
  engine.warm ||= Array.isArray(answer?.parts)
  const last = engine.last
  const before = last?.session === members.session && messages.startsWith(last.text) ? last : undefined
  const tokens = before && before.tokens + (messages.length - before.text.length) / 4
  // A process that has just begun may be above the budget because its folds are late.
  if (!Array.isArray(answer?.parts) || (answer.over && tokens < answer.tokens)) {
    return before && { tokens, parts: structuredClone(before.parts).concat(before.count < count ? [{ keep: [before.count, count] }] : []) }
  }
  engine.last = { session: members.session, text: messages.slice(0, -1), count, tokens: answer.tokens, parts: structuredClone(answer.parts) }
  return answer
}

// compose returns the messages of parts. say makes a message of texts, which stands before the message with an index.
function compose(parts, messages, say) {
  const out = []
  let next = 0
  for (const part of parts) {
    if (part.keep) {
      for (let i = part.keep[0]; i < part.keep[1]; i++) out.push(messages[i])
      next = part.keep[1]
    } else {
      out.push(say(part.say, next))
    }
  }
  return out.length > 0 ? out : undefined
}
