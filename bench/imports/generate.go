package imports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/proof/sample"
)

// writer makes the sessions of a home directory up.
type writer struct {
	home string
	rng  *rand.Rand
	text string // the source of sentences
	at   time.Time
	n    int // of the next id
}

func newWriter(home string, seed uint64) *writer {
	var all strings.Builder
	for _, m := range sample.Messages() {
		all.WriteString(m.Render() + "\n")
	}
	return &writer{home: home, rng: rand.New(rand.NewPCG(seed, 0x6c636d)), text: all.String(), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// say returns about n bytes of the bundled session.
func (w *writer) say(n int) string {
	n = min(n/2+w.rng.IntN(n), len(w.text)-1)
	from := w.rng.IntN(len(w.text) - n)
	return strings.ToValidUTF8(w.text[from:from+n], "")
}

func (w *writer) id() string {
	w.n++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", w.rng.Uint32(), w.n)
}

func (w *writer) now() string {
	w.at = w.at.Add(1300 * time.Millisecond)
	return w.at.Format("2006-01-02T15:04:05.000Z")
}

// sessionBytes is about how large a session grows.
const sessionBytes = 2 << 20

// generate writes sessions until they hold about so many bytes: nine parts of
// twenty each for Claude Code and Codex, two for opencode.
func generate(home string, bytes int64, seed uint64) (written int64, err error) {
	w := newWriter(home, seed)
	for written < bytes*18/20 {
		for _, session := range []func(*bufio.Writer) (string, int64){w.claude, w.codex} {
			n, err := w.file(session)
			if err != nil {
				return written, err
			}
			written += n
		}
	}
	n, err := w.opencode(bytes - written)
	return written + n, err
}

// file writes a session to where it belongs.
func (w *writer) file(session func(*bufio.Writer) (string, int64)) (n int64, err error) {
	f, err := os.CreateTemp(w.home, "session-*")
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(f)
	path, n := session(out)
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		return n, err
	}
	path = filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), path)
}

type object = map[string]any

// put writes a line.
func put(out *bufio.Writer, v object) int64 {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and maps of them can be written
	}
	out.Write(line)
	out.WriteByte('\n')
	return int64(len(line)) + 1
}

// claude writes a session of Claude Code.
func (w *writer) claude(out *bufio.Writer) (path string, n int64) {
	session, size := w.id(), int64(w.rng.IntN(2*sessionBytes)+1)
	n = w.claudeSession(out, session, func() string { return w.say(6000) }, func(_ int, bytes int64) bool { return bytes < size })
	return ".claude/projects/-home-user-project/" + session + ".jsonl", n
}

// claudeSession writes a session, a line for each block, and the output of a
// tool a second time in a form of its own. tool makes the output of the next
// tool; more is asked before each line whether it is still wanted.
func (w *writer) claudeSession(out *bufio.Writer, session string, tool func() string, more func(records int, bytes int64) bool) (n int64) {
	parent, records := any(nil), 0
	line := func(kind string, fields object) {
		if !more(records, n) {
			return
		}
		uuid := w.id()
		fields["type"], fields["uuid"], fields["parentUuid"], fields["sessionId"], fields["timestamp"] = kind, uuid, parent, session, w.now()
		fields["cwd"], fields["version"], fields["isSidechain"], fields["userType"], fields["gitBranch"] = "/home/user/project", "2.1.197", false, "external", "main"
		n += put(out, fields)
		parent = uuid
		records++
	}
	for more(records, n) {
		line("user", object{"message": object{"role": "user", "content": w.say(300)}})
		for range 1 + w.rng.IntN(6) {
			call, answer := "toolu_"+w.id(), tool()
			reply := func(block object) {
				line("assistant", object{"message": object{"role": "assistant", "id": "msg_" + call, "model": "scripted", "type": "message", "content": []object{block},
					"usage": object{"input_tokens": 1200, "output_tokens": 80, "cache_read_input_tokens": 100_000}}})
			}
			reply(object{"type": "thinking", "thinking": w.say(400), "signature": strings.Repeat("c2ln", 60)})
			reply(object{"type": "text", "text": w.say(200)})
			reply(object{"type": "tool_use", "id": call, "name": "Bash", "input": object{"command": w.say(80), "description": w.say(40)}})
			line("user", object{"message": object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": call, "content": answer, "is_error": false}}},
				"toolUseResult": object{"stdout": answer, "stderr": "", "interrupted": false}})
		}
		line("assistant", object{"message": object{"role": "assistant", "id": "msg_" + w.id(), "model": "scripted", "content": []object{{"type": "text", "text": w.say(600)}}}})
		line("system", object{"subtype": "turn_duration", "durationMs": 1000})
	}
	return n
}

// codex writes a rollout: every item, and the event that shows it.
func (w *writer) codex(out *bufio.Writer) (path string, n int64) {
	id := w.id()
	ordinal := 0
	begun := w.at
	line := func(kind string, payload object) {
		n += put(out, object{"timestamp": w.now(), "ordinal": ordinal, "type": kind, "payload": payload})
		ordinal++
	}
	event := func(item object) {
		line("event_msg", object{"type": "item_completed", "thread_id": id, "turn_id": id, "item": item})
	}
	message := func(role, kind, text string) {
		line("response_item", object{"type": "message", "id": "msg_" + w.id(), "role": role, "content": []object{{"type": kind, "text": text}}})
	}
	line("session_meta", object{"id": id, "cwd": "/home/user/project", "originator": "codex_exec", "cli_version": "0.166.0", "base_instructions": object{"text": w.say(12_000)}})
	for size := int64(w.rng.IntN(2*sessionBytes) + 1); n < size; {
		line("turn_context", object{"cwd": "/home/user/project", "model": "scripted", "approval_policy": "never"})
		prompt := w.say(300)
		message("user", "input_text", prompt)
		event(object{"type": "UserMessage", "content": []object{{"type": "text", "text": prompt}}})
		for range 1 + w.rng.IntN(6) {
			call, output, said := "call_"+w.id(), w.say(5000), w.say(200)
			line("response_item", object{"type": "reasoning", "summary": []object{{"type": "summary_text", "text": w.say(300)}}, "encrypted_content": strings.Repeat("c2ln", 100)})
			message("assistant", "output_text", said)
			event(object{"type": "AgentMessage", "content": []object{{"type": "Text", "text": said}}})
			line("response_item", object{"type": "function_call", "name": "exec_command", "arguments": `{"cmd":"make test"}`, "call_id": call})
			event(object{"type": "CommandExecution", "id": call, "command": []string{"bash", "-lc", "make test"}, "aggregated_output": output, "exit_code": 0})
			line("response_item", object{"type": "function_call_output", "call_id": call, "output": output})
			line("event_msg", object{"type": "token_count", "info": object{"total_token_usage": object{"input_tokens": 6000}}})
		}
		message("assistant", "output_text", w.say(600))
	}
	return begun.Format(".codex/sessions/2006/01/02/rollout-2006-01-02T15-04-05-") + id + ".jsonl", n
}

// opencode writes a database with sessions of that many bytes in all.
func (w *writer) opencode(bytes int64) (n int64, err error) {
	dir := filepath.Join(w.home, ".local", "share", "opencode")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	db, err := sqlite3.Open(filepath.Join(dir, "opencode.db"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec(opencodeSchema + "BEGIN"); err != nil {
		return 0, err
	}
	insert := func(sql string, args ...any) { err = errors.Join(err, harness.Run(db, sql, args)) }
	for n < bytes && err == nil {
		n += w.opencodeSession(insert)
	}
	return n, errors.Join(err, db.Exec("COMMIT"))
}

// opencodeSchema is the part of the program's schema that lcm reads.
const opencodeSchema = `
	CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text, version text, time_created integer, time_updated integer);
	CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
	CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text);
	CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
	CREATE INDEX part_message_id_id_idx ON part (message_id, id);
	CREATE INDEX part_session_idx ON part (session_id);
`

func (w *writer) opencodeSession(insert func(string, ...any)) (n int64) {
	session := "ses_" + w.id()
	at := func() int64 { w.now(); return w.at.UnixMilli() }
	row := func(table string, data object, ids ...any) {
		text, err := json.Marshal(data)
		if err != nil {
			panic(err) // strings, numbers and maps of them can be written
		}
		n += int64(len(text))
		now := at()
		insert("INSERT INTO "+table+" VALUES "+harness.Placeholders(len(ids)+3), append(ids, now, now, string(text))...)
	}
	insert("INSERT INTO session VALUES (?, 'global', NULL, 'slug', '/home/user/project', 'A session', '1.18.33', ?, ?)", session, at(), at())
	for size := int64(w.rng.IntN(2*sessionBytes) + 1); n < size; {
		ask := "msg_" + w.id()
		row("message", object{"role": "user", "time": object{"created": at()}}, ask, session)
		row("part", object{"type": "text", "text": w.say(300)}, "prt_"+w.id(), ask, session)
		reply := "msg_" + w.id()
		row("message", object{"role": "assistant", "parentID": ask, "time": object{"created": at(), "completed": at()}}, reply, session)
		for i := range 6 {
			part := fmt.Sprintf("prt_%d_%s", i, w.id())
			row("part", object{"type": "tool", "tool": "bash", "callID": part, "state": object{"status": "completed", "input": object{"command": w.say(80)}, "output": w.say(5000)}}, part, reply, session)
		}
		row("part", object{"type": "text", "text": w.say(500)}, "prt_9_"+w.id(), reply, session)
	}
	return n
}
