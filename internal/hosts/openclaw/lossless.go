package openclaw

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/hostdb"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/record/store"
)

// lossless-claw is another context engine of OpenClaw. Its database has copies of the messages
// of sessions, and summaries of them. A row with the id of an entry of the session becomes the
// record with that id, so that nothing is stored twice; the others have ids of their own.

// steps are the conversions of its database that lcm knows, with their versions (0.15.3).
var steps = map[string]int64{"backfillSummaryDepths": 1, "backfillSummaryMetadata": 1, "backfillToolCallColumns": 1, "repairOpenClawMetadataIdentityState": 2}

// maxRow is the largest row that is read.
const maxRow = 100 << 20

// openCopies opens a database of lossless-claw, or fails with ErrNoTranscript.
func openCopies(ctx context.Context, path string) (db *sqlite3.Conn, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head)
	if err := f.Close(); err != nil || !bytes.HasPrefix(head[:n], []byte("SQLite format 3\x00")) {
		return nil, cmp.Or(err, hosts.ErrNoTranscript)
	}
	if db, err = hostdb.Open(ctx, path); err != nil {
		return nil, err
	}
	db.Limit(sqlite3.LIMIT_LENGTH, maxRow)
	tables := 0
	err = hostdb.Query(db, `SELECT name FROM sqlite_master WHERE name IN ('message_parts', 'summary_messages', 'summary_parents', 'context_items', 'large_files')`,
		func(*sqlite3.Stmt) error { tables++; return nil })
	switch {
	case err != nil:
	case tables == 0:
		err = hosts.ErrNoTranscript
	default:
		err = checkSteps(db)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkSteps refuses a database that a newer lossless-claw has converted.
func checkSteps(db *sqlite3.Conn) error {
	there := false
	err := hostdb.Query(db, `SELECT name FROM sqlite_master WHERE name IN ('lcm_migration_state', 'pending_compaction_batches', 'pending_summary_nodes', 'conversation_transcript_epochs')`, func(s *sqlite3.Stmt) error {
		if name := s.ColumnText(0); name != "lcm_migration_state" { // 1.0 kept the versions of its conversions
			return fmt.Errorf("a lossless-claw newer than 0.15 wrote the database (it has the table %s), which this version of lcm cannot read whole: nothing of it is stored; update lcm", name)
		}
		there = true
		return nil
	})
	if err != nil || !there { // an older one
		return err
	}
	return hostdb.Query(db, `SELECT step_name, algorithm_version FROM lcm_migration_state`, func(s *sqlite3.Stmt) error {
		if known := steps[s.ColumnText(0)]; s.ColumnInt64(1) > known {
			return fmt.Errorf("a lossless-claw newer than 0.15 wrote the database (%s %d): update lcm", s.ColumnText(0), s.ColumnInt64(1))
		}
		return nil
	})
}

// withCopies runs fn on one state of a database of lossless-claw.
func withCopies(ctx context.Context, path string, fn func(*sqlite3.Conn) error) (err error) {
	db, err := openCopies(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec("BEGIN"); err != nil {
		return err
	}
	return fn(db)
}

// copied lists the sessions of a database of lossless-claw. Each of them may have several
// conversations.
func copied(ctx context.Context, path string) (ts []hosts.Transcript, err error) {
	err = withCopies(ctx, path, func(db *sqlite3.Conn) error {
		return hostdb.Query(db, `
			SELECT c.session_id, coalesce(max(c.title), ''), max(c.updated_at),
			       ifnull(sum((SELECT sum(octet_length(content)) FROM messages m WHERE m.conversation_id = c.conversation_id)), 0)
			       + ifnull(sum((SELECT sum(octet_length(content)) FROM summaries s WHERE s.conversation_id = c.conversation_id)), 0)
			FROM conversations c WHERE EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.conversation_id)
			GROUP BY c.session_id ORDER BY min(c.conversation_id)`, func(s *sqlite3.Stmt) error {
			ts = append(ts, hosts.Transcript{Host: Name, Path: path, Session: s.ColumnText(0), Title: s.ColumnText(1), Modified: when(s.ColumnText(2)), Size: s.ColumnInt64(3)})
			return ctx.Err()
		})
	})
	return ts, err
}

// when reads a time of lossless-claw, which is in UTC in one of two forms.
func when(text string) time.Time {
	for _, layout := range []string{time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// row is a row of a table: its columns that have values.
type row map[string]any

func (r row) text(column string) string { s, _ := r[column].(string); return s }

// rows gives the rows of a query with one argument.
func rows(db *sqlite3.Conn, sql string, arg any, give func(row) error) error {
	return hostdb.Query(db, sql, func(s *sqlite3.Stmt) error {
		r := row{}
		for i := range s.ColumnCount() {
			switch s.ColumnType(i) {
			case sqlite3.INTEGER:
				r[s.ColumnName(i)] = s.ColumnInt64(i)
			case sqlite3.FLOAT:
				r[s.ColumnName(i)] = s.ColumnFloat(i)
			case sqlite3.TEXT, sqlite3.BLOB:
				r[s.ColumnName(i)] = s.ColumnText(i)
			}
		}
		return give(r)
	}, arg)
}

const (
	ofSession          = ` JOIN conversations c USING (conversation_id) WHERE c.session_id = ? `
	selectParts        = `SELECT * FROM message_parts WHERE message_id = ? ORDER BY ordinal`
	selectCopies       = `SELECT m.* FROM messages m` + ofSession + `ORDER BY m.conversation_id, m.seq`
	selectFiles        = `SELECT f.* FROM large_files f` + ofSession + `ORDER BY f.created_at, f.file_id`
	selectMade         = `SELECT s.summary_id, s.content, s.model FROM summaries s` + ofSession + `ORDER BY s.depth, s.created_at, s.rowid`
	selectMessageLinks = `SELECT l.summary_id, m.message_id, m.transcript_entry_id FROM summary_messages l JOIN messages m USING (message_id)` + ofSession + `ORDER BY l.summary_id, l.ordinal`
	selectSummaryLinks = `SELECT l.summary_id, l.parent_summary_id FROM summary_parents l JOIN summaries s USING (summary_id)` + ofSession + `ORDER BY l.summary_id, l.ordinal`
	selectBriefs       = `SELECT f.brief_id FROM focus_briefs f` + ofSession
)

// copyID is the id of the record of a message.
func copyID(message row) string {
	return cmp.Or(message.text("transcript_entry_id"), fmt.Sprintf("lossless-claw:%d", message["message_id"]))
}

// copies gives the messages of a session, and then its large files.
func copies(ctx context.Context, t hosts.Transcript, _ state, give func(hosts.Record) bool) error {
	return withCopies(ctx, t.Path, func(db *sqlite3.Conn) error {
		one := func(entry map[string]any, flags store.Flag) error {
			raw, err := jsonstring.Marshal(entry)
			if err != nil {
				return err
			}
			rec := entries.Record(raw, "")
			rec.Copy, rec.Flags = true, rec.Flags|flags
			if !give(rec) {
				return errStop
			}
			return ctx.Err()
		}
		err := rows(db, selectCopies, t.Session, func(m row) error {
			var parts []row
			err := rows(db, selectParts, m["message_id"], func(p row) error { parts = append(parts, p); return nil })
			if err != nil {
				return err
			}
			return one(entryOf(m, parts), 0)
		})
		if err != nil {
			return err
		}
		return rows(db, selectFiles, t.Session, func(f row) error {
			if entry := fileEntry(t.Path, f); entry != nil {
				return one(entry, store.FlagHidden)
			}
			return ctx.Err()
		})
	})
}

// entryOf makes an entry of a session of a message and its parts. Its member losslessClaw has
// the columns that the message does not tell.
func entryOf(m row, parts []row) map[string]any {
	role := map[string]string{"tool": "toolResult", "system": "custom"}[m.text("role")]
	message := map[string]any{"role": cmp.Or(role, m.text("role"))}
	var content []any
	texts := ""
	for _, p := range parts {
		var meta map[string]json.RawMessage
		_ = json.Unmarshal([]byte(p.text("metadata")), &meta) // what is no JSON stays a text
		if role == "toolResult" {
			message["toolCallId"] = cmp.Or(p.text("tool_call_id"), text(meta["toolCallId"]))
			message["toolName"] = cmp.Or(p.text("tool_name"), text(meta["toolName"]))
			message["isError"] = string(meta["isError"]) == "true"
		}
		block, said := blockOf(p, meta, role)
		if block == nil {
			continue
		}
		content = append(content, block)
		texts += said
		if raw, ok := block.(json.RawMessage); ok && bytes.Equal(raw, meta["raw"]) { // it has all of these
			for _, column := range []string{"text_content", "tool_input", "tool_output"} {
				delete(p, column)
			}
			delete(meta, "raw")
			p["metadata"] = meta
		}
	}
	whole := m.text("content")
	if len(content) == 0 && whole != "" {
		content, texts = append(content, map[string]any{"type": "text", "text": whole}), whole
	}
	if texts == whole {
		delete(m, "content")
	}
	message["content"] = content
	return map[string]any{"type": "message", "id": copyID(m), "timestamp": when(m.text("created_at")).Format(time.RFC3339),
		"message": message, "losslessClaw": map[string]any{"message": m, "parts": parts}}
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// blockOf returns the block of a part as OpenClaw writes it, and its text: the original block
// if that is one of OpenClaw's.
func blockOf(p row, meta map[string]json.RawMessage, role string) (block any, said string) {
	var raw struct{ Type, Text string }
	_ = json.Unmarshal(meta["raw"], &raw) // then it has no type
	switch {
	case slices.Contains([]string{"text", "image", "thinking", "toolCall"}, raw.Type):
		return meta["raw"], raw.Text
	case p.text("tool_call_id") != "" && role != "toolResult" && p.text("part_type") == "tool":
		call := map[string]any{"type": "toolCall", "id": p.text("tool_call_id"), "name": p.text("tool_name"), "arguments": p.text("tool_input")}
		if input := p.text("tool_input"); json.Valid([]byte(input)) {
			call["arguments"] = json.RawMessage(input)
		}
		return call, ""
	case p.text("part_type") == "reasoning":
		return map[string]any{"type": "thinking", "thinking": p.text("text_content")}, ""
	}
	said = cmp.Or(p.text("text_content"), raw.Text, text(json.RawMessage(p.text("tool_output"))), p.text("tool_output"))
	if said == "" && meta["raw"] != nil {
		return meta["raw"], ""
	}
	if said == "" {
		return nil, ""
	}
	return map[string]any{"type": "text", "text": said}, said
}

// filesDir is the directory beside the database with the content of large files. The database
// has their paths; nothing is read elsewhere.
const filesDir = "lcm-files"

// readLarge reads a large file.
func readLarge(database string, f row) (content []byte, ok bool) {
	_, at, found := strings.Cut(filepath.ToSlash(f.text("storage_uri")), "/"+filesDir+"/")
	if !found {
		return nil, false
	}
	rec, ok := hosts.ReadAside(filepath.Join(filepath.Dir(database), filesDir), filepath.FromSlash(at), "")
	return rec.Raw.Bytes, ok
}

// fileEntry makes an entry of a large file, nil if it cannot be read.
func fileEntry(database string, f row) map[string]any {
	content, ok := readLarge(database, f)
	if !ok {
		return nil
	}
	block := map[string]any{"type": "text", "text": string(content)}
	if !utf8.Valid(content) {
		block = map[string]any{"type": "image", "mimeType": cmp.Or(f.text("mime_type"), "application/octet-stream"), "data": content}
	}
	title := map[string]any{"type": "text", "text": "[" + f.text("file_id") + " " + strconv.Quote(f.text("file_name")) + "]"}
	return map[string]any{"type": "custom_message", "id": "lossless-claw:" + f.text("file_id"), "timestamp": when(f.text("created_at")).Format(time.RFC3339),
		"content": []any{title, block}, "losslessClaw": map[string]any{"file": f}}
}

// Summaries implements [hosts.Summarising].
func (Host) Summaries(ctx context.Context, t hosts.Transcript) (out hosts.Beside, err error) {
	if filepath.Base(t.Path) == database {
		return out, nil
	}
	out.Left = map[string]int{}
	err = withCopies(ctx, t.Path, func(db *sqlite3.Conn) error {
		of, from := map[string][]string{}, map[string][]string{}
		err := rows(db, selectMessageLinks, t.Session, func(r row) error {
			of[r.text("summary_id")] = append(of[r.text("summary_id")], copyID(r))
			return ctx.Err()
		})
		if err == nil {
			err = rows(db, selectSummaryLinks, t.Session, func(r row) error {
				from[r.text("summary_id")] = append(from[r.text("summary_id")], r.text("parent_summary_id"))
				return ctx.Err()
			})
		}
		if err == nil {
			err = rows(db, selectMade, t.Session, func(r row) error {
				s := hosts.GivenSummary{ID: r.text("summary_id"), Text: r.text("content"), Model: r.text("model"), Of: of[r.text("summary_id")]}
				if sources := from[s.ID]; len(sources) > 0 {
					s.Of, s.Condensed = sources, true
				}
				out.Summaries = append(out.Summaries, s)
				return ctx.Err()
			})
		}
		if err == nil {
			err = rows(db, selectFiles, t.Session, func(f row) error {
				if _, ok := readLarge(t.Path, f); !ok {
					out.Left["large files that are not on the disk"]++
				}
				return ctx.Err()
			})
		}
		if err == nil {
			err = rows(db, selectBriefs, t.Session, func(row) error { out.Left["focus briefs"]++; return ctx.Err() })
		}
		return err
	})
	return out, err
}
