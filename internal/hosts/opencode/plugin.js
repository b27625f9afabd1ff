// lcm for opencode: written by `lcm setup opencode`, taken out by `lcm setup --remove opencode`.
//
// It tells lcm when a turn has ended, so that the record is up to date, and puts what lcm knows about earlier work in
// this project before the first message of a session, and again after a compaction. A prompt that refers to earlier work
// gets the lines of the record that it refers to. It never throws and never waits for longer than LIMIT, and before a
// prompt PROMPT_LIMIT: without lcm, opencode works as before.
import { spawn } from "node:child_process"

const COMMAND = ["lcm", "hook", "opencode"]
const SERVER = null // the MCP server, where the settings have none
const LIMIT = 5000 // milliseconds
const PROMPT_LIMIT = 2000

function tell(event, limit = LIMIT) {
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

export const LCM = async ({ directory }) => {
  const blocks = new Map() // by session: what its requests begin with, unchanged so that prompt caches hold
  const children = new Set() // sessions of sub-agents, which are told everything by the one that started them
  const compacted = new Set()
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
      if (!sessionID || children.has(sessionID)) return
      if (!blocks.has(sessionID)) {
        const source = compacted.has(sessionID) ? "compact" : "startup"
        blocks.set(sessionID, contextFor({ hook_event_name: "SessionStart", session_id: sessionID, cwd: directory, source }))
      }
      const block = await blocks.get(sessionID)
      if (block) output.system.push(block)
    },
  }
}
