//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// record is a JSON object of a transcript.
type record = map[string]any

func encode(b *bed, v any) string {
	b.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// writeLines writes a transcript whose file is as old as its last record.
func (b *bed) writeLines(path string, records []record, at time.Time) {
	b.Helper()
	var text strings.Builder
	for _, r := range records {
		text.WriteString(encode(b, r) + "\n")
	}
	b.write(path, text.String())
	if err := os.Chtimes(path, at, at); err != nil {
		b.Fatal(err)
	}
}

const timeFormat = "2006-01-02T15:04:05.000Z"

var notInSlug = regexp.MustCompile(`[^A-Za-z0-9]`)

// writer is an agent whose sessions can be written without it.
type writer interface {
	// put writes a session of the bed's directory as the agent keeps it.
	put(b *bed, s session)
}

// put writes a session as Claude Code does: a line for each block, each
// naming the one before as its parent.
func (claudeAgent) put(b *bed, s session) {
	id, parent := uuid(s.ID), any(nil)
	var lines []record
	add := func(i int, kind string, message record, more record) {
		line := record{
			"parentUuid": parent, "isSidechain": false, "type": kind, "message": message, "uuid": uuid(s.ID, len(lines)), "timestamp": s.at(i).Format(timeFormat),
			"userType": "external", "entrypoint": "cli", "cwd": b.work, "sessionId": id, "version": "2.1.197", "gitBranch": "main",
		}
		for k, v := range more {
			line[k] = v
		}
		parent = line["uuid"]
		lines = append(lines, line)
	}
	says := func(i int, stop string, block record) {
		add(i, "assistant", record{
			"id": fmt.Sprintf("msg_%s_%d", s.ID, i), "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": []record{block},
			"stop_reason": stop, "stop_sequence": nil, "usage": record{"input_tokens": 12000 + 100*i, "output_tokens": 60},
		}, record{"requestId": fmt.Sprintf("req_%s_%d", s.ID, i)})
	}
	prompt := ""
	for i, m := range s.Messages {
		switch {
		case m.Role == "user":
			prompt = uuid(s.ID, "prompt", i)
			add(i, "user", record{"role": "user", "content": m.Text}, record{"promptId": prompt, "permissionMode": "default"})
		case m.Tool == "":
			says(i, "end_turn", record{"type": "text", "text": m.Text})
		default:
			call := fmt.Sprintf("toolu_%s_%d", s.ID, i)
			says(i, "tool_use", record{"type": "tool_use", "id": call, "name": m.Tool, "input": m.Input})
			add(i, "user", record{"role": "user", "content": []record{{"type": "tool_result", "tool_use_id": call, "content": m.Output, "is_error": false}}},
				record{"promptId": prompt, "sourceToolAssistantUUID": parent, "toolUseResult": record{"stdout": m.Output, "stderr": "", "interrupted": false, "isImage": false}})
		}
	}
	b.writeLines(filepath.Join(b.home, ".claude", "projects", notInSlug.ReplaceAllString(b.work, "-"), id+".jsonl"), lines, s.at(len(s.Messages)))
}

// put writes a session as Codex does: a rollout with what the program notes
// for itself between the messages.
func (codexAgent) put(b *bed, s session) {
	id, start := uuid(s.ID), s.at(0)
	var lines []record
	add := func(i int, kind string, payload record) {
		lines = append(lines, record{"timestamp": s.at(i).Format(timeFormat), "ordinal": len(lines), "type": kind, "payload": payload})
	}
	message := func(i int, role, kind, text string) {
		add(i, "response_item", record{"type": "message", "id": fmt.Sprintf("msg_%s_%d", s.ID, len(lines)), "role": role, "content": []record{{"type": kind, "text": text}}})
	}
	add(0, "session_meta", record{
		"session_id": id, "id": id, "timestamp": start.Format(timeFormat), "cwd": b.work, "originator": "codex_cli_rs", "cli_version": "0.166.0", "source": "cli", "model_provider": "x",
		"base_instructions": record{"text": "You are a coding agent running in the Codex CLI."},
	})
	message(0, "developer", "input_text", "<permissions instructions>\nApproval policy is currently never.\n</permissions instructions>")
	message(0, "user", "input_text", "<environment_context>\n  <cwd>"+b.work+"</cwd>\n  <shell>bash</shell>\n</environment_context>")
	turn := ""
	for i, m := range s.Messages {
		switch {
		case m.Role == "user":
			turn = uuid(s.ID, "turn", i)
			add(i, "event_msg", record{"type": "task_started", "turn_id": turn, "model_context_window": 258400})
			add(i, "turn_context", record{"turn_id": turn, "cwd": b.work, "approval_policy": "never", "model": "scripted", "summary": "none"})
			message(i, "user", "input_text", m.Text)
			add(i, "event_msg", record{"type": "item_completed", "thread_id": id, "turn_id": turn, "item": record{"type": "UserMessage", "id": uuid(s.ID, "item", i), "content": []record{{"type": "text", "text": m.Text}}}})
		case m.Tool == "":
			add(i, "event_msg", record{"type": "item_completed", "thread_id": id, "turn_id": turn, "item": record{"type": "AgentMessage", "id": uuid(s.ID, "item", i), "content": []record{{"type": "Text", "text": m.Text}}}})
			message(i, "assistant", "output_text", m.Text)
		default:
			call := fmt.Sprintf("call_%s_%d", s.ID, i)
			add(i, "response_item", record{"type": "function_call", "id": "fc_" + call, "status": "completed", "name": "exec_command", "arguments": encode(b, record{"cmd": m.shell()}), "call_id": call})
			add(i, "response_item", record{"type": "function_call_output", "id": "fco_" + call, "call_id": call,
				"output": "Chunk ID: 9a278e\nWall time: 0.1000 seconds\nProcess exited with code 0\nOutput:\n" + m.Output})
		}
	}
	end := s.at(len(s.Messages))
	add(len(s.Messages), "event_msg", record{"type": "task_complete", "turn_id": turn})
	b.writeLines(filepath.Join(b.home, ".codex", "sessions", start.Format("2006"), start.Format("01"), start.Format("02"),
		"rollout-"+start.Format("2006-01-02T15-04-05")+"-"+id+".jsonl"), lines, end)
}

// put writes a session into the database that opencode itself has made. Its
// row is a copy of that of a session which the program wrote in the same
// directory.
func (opencodeAgent) put(b *bed, s session) {
	b.Helper()
	db, err := sqlite3.Open("file:" + filepath.Join(b.home, ".local", "share", "opencode", "opencode.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	exec := func(sql string, args ...any) {
		b.Helper()
		stmt, _, err := db.Prepare(sql)
		if err != nil {
			b.Fatalf("%s: %v", sql, err)
		}
		defer stmt.Close()
		for i, arg := range args {
			switch v := arg.(type) {
			case string:
				err = stmt.BindText(i+1, v)
			case int64:
				err = stmt.BindInt64(i+1, v)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if stmt.Step(); stmt.Err() != nil {
			b.Fatalf("%s: %v", sql, stmt.Err())
		}
	}
	n := 0
	id := func(prefix string, at time.Time) string { // ids ascend with time
		n++
		return fmt.Sprintf("%s_%012x%s", prefix, (at.UnixMilli()*0x1000+int64(n))&0xffffffffffff, strings.ReplaceAll(uuid(s.ID, n), "-", "")[:14])
	}
	ses, start, end := "ses_"+strings.ReplaceAll(uuid(s.ID), "-", "")[:26], s.at(0).UnixMilli(), s.at(len(s.Messages)).UnixMilli()
	exec(`CREATE TEMP TABLE made AS SELECT * FROM session WHERE directory = ? AND parent_id IS NULL LIMIT 1`, b.work)
	exec(`UPDATE made SET id = ?, slug = ?, title = ?, time_created = ?, time_updated = ?`, ses, "session-"+s.ID, s.title(), start, end)
	exec(`INSERT INTO session SELECT * FROM made`)
	exec(`DROP TABLE made`)
	message := func(i int, data record) string {
		at := s.at(i)
		m := id("msg", at)
		exec(`INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?)`, m, ses, at.UnixMilli(), at.UnixMilli(), encode(b, data))
		return m
	}
	part := func(i int, of string, data record) {
		at := s.at(i)
		exec(`INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)`, id("prt", at), of, ses, at.UnixMilli(), at.UnixMilli(), encode(b, data))
	}
	user := ""
	for i, m := range s.Messages {
		ms := s.at(i).UnixMilli()
		if m.Role == "user" {
			user = message(i, record{"role": "user", "time": record{"created": ms}, "agent": "build", "model": record{"providerID": "x", "modelID": "scripted"}, "summary": record{"diffs": []any{}}})
			part(i, user, record{"type": "text", "text": m.Text})
			continue
		}
		finish := "stop"
		if m.Tool != "" {
			finish = "tool-calls"
		}
		of := message(i, record{
			"parentID": user, "role": "assistant", "mode": "build", "agent": "build", "path": record{"cwd": b.work, "root": b.work}, "cost": 0, "modelID": "scripted", "providerID": "x",
			"tokens": record{"input": 8000, "output": 60, "reasoning": 0, "cache": record{"write": 0, "read": 0}}, "time": record{"created": ms, "completed": ms + 5000}, "finish": finish,
		})
		part(i, of, record{"type": "step-start"})
		if m.Tool == "" {
			part(i, of, record{"type": "text", "text": m.Text, "time": record{"start": ms, "end": ms + 4000}})
		} else {
			part(i, of, record{"type": "tool", "tool": strings.ToLower(m.Tool), "callID": fmt.Sprintf("call_%s_%d", s.ID, i), "state": record{
				"status": "completed", "input": m.Input, "output": m.Output, "title": m.Tool, "metadata": record{"output": m.Output, "truncated": false}, "time": record{"start": ms, "end": ms + 4000},
			}})
		}
		part(i, of, record{"type": "step-finish", "reason": finish, "cost": 0})
	}
}
