package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/hostdb"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// state is how far a session was read. A pass reads all messages that changed since the last.
type state struct {
	Since int64 `json:"since,omitempty"` // when the last complete pass began
	Next  int64 `json:"next,omitempty"`  // when this one did
	// Created and ID identify the last message that this pass has read.
	Created int64  `json:"created,omitempty"`
	ID      string `json:"id,omitempty"`
	// Newest is the creation time of the newest message read, Part its last
	// visible part.
	Newest int64  `json:"newest,omitempty"`
	Part   string `json:"part,omitempty"`
	// Seq is the number of the next message, in a session of version 2.
	Seq int64 `json:"seq,omitempty"`
}

// done is the state after a pass.
func (s state) done() state { return state{Since: s.Next, Newest: s.Newest, Part: s.Part} }

func (s state) position() hosts.Position {
	text, err := json.Marshal(s)
	if err != nil {
		return hosts.Position{} // impossible: numbers and strings
	}
	return hosts.Position{State: string(text)}
}

// part is a row of the table of parts.
type part struct {
	id      string
	created int64
	data    []byte // nil if it is too large
	size    int64
}

// message is a row of the table of messages.
type message struct {
	part
	role    llms.Role
	done    bool // it is complete
	summary bool // it is opencode's own summary of the session
}

// maxRow is the largest row that is read.
const maxRow = 100 << 20

// data selects a row's data, up to maxRow bytes, and its size.
const data = `CASE WHEN octet_length(data) <= 104857600 THEN data END, octet_length(data)`

// Read implements [hosts.Host].
func (Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		db, err := hostdb.Open(ctx, t.Path)
		if err != nil {
			yield(hosts.Record{}, err)
			return
		}
		r := &reader{ctx: ctx, db: db, t: t, yield: yield}
		// A position that cannot be parsed is the beginning.
		if json.Unmarshal([]byte(from.State), &r.at) != nil {
			r.at = state{}
		}
		err = errors.Join(r.run(), db.Close())
		if err != nil && !errors.Is(err, errStop) {
			yield(hosts.Record{}, err)
		}
	}
}

var errStop = errors.New("the reader has stopped")

type reader struct {
	ctx   context.Context
	db    *sqlite3.Conn
	t     hosts.Transcript
	yield func(hosts.Record, error) bool
	at    state
	went  bool // wentBack has run
}

func (r *reader) give(rec hosts.Record, end state) error {
	rec.End = end.position()
	if !r.yield(rec, nil) {
		return errStop
	}
	return r.ctx.Err()
}

// run makes a pass, or continues one and makes another: messages that the first had
// already read may have changed meanwhile. All of it is in a single snapshot of the
// database.
func (r *reader) run() error {
	if err := r.db.Exec("BEGIN"); err != nil {
		return err
	}
	if is, err := r.version2(); err != nil || is {
		return err
	}
	for {
		continued := r.at.ID != ""
		if r.at.Next == 0 {
			if err := r.begin(); err != nil {
				return err
			}
		}
		if ended, err := r.pass(); err != nil || !ended || !continued {
			return err
		}
		r.at = r.at.done()
	}
}

// pass yields the messages that are left for this pass, and reports whether it has ended.
func (r *reader) pass() (ended bool, err error) {
	todo, err := r.changed()
	if err != nil {
		return false, err
	}
	for i, id := range todo {
		m, err := r.message(id)
		if err != nil {
			return false, err
		}
		parts, err := r.parts(id)
		if err != nil {
			return false, err
		}
		if ok, err := r.complete(m, parts); err != nil || !ok {
			return false, err
		}
		if err := r.take(m, parts, i == len(todo)-1); err != nil {
			return false, err
		}
	}
	return true, nil
}

// begin records when the pass begins, and yields the session's own row.
func (r *reader) begin() error {
	err := hostdb.Query(r.db, `
		SELECT max(ifnull((SELECT max(time_updated) FROM message WHERE session_id = ?1), 0),
		           ifnull((SELECT max(time_updated) FROM part WHERE session_id = ?1), 0), 1)`,
		func(s *sqlite3.Stmt) error { r.at.Next = s.ColumnInt64(0); return nil }, r.t.Session)
	if err != nil {
		return err
	}
	return hostdb.Query(r.db, `SELECT id, project_id, parent_id, slug, directory, version, time_created FROM session WHERE id = ?`,
		func(s *sqlite3.Stmt) error {
			w := row{}
			for i, name := range []string{"id", "project_id", "parent_id", "slug", "directory", "version"} {
				w.text(name, s.ColumnText(i), s.ColumnType(i) == sqlite3.NULL)
			}
			w.number("time_created", s.ColumnInt64(6))
			rec := record(w.end(), llms.RoleSystem)
			rec.Type, rec.Flags = "session", store.FlagHidden
			rec.Dir, rec.Title, rec.Parent = r.t.Dir, r.t.Title, r.t.Parent
			return r.give(rec, state{Since: r.at.Since, Newest: r.at.Newest, Part: r.at.Part})
		}, r.t.Session)
}

// changed lists the messages that are left for this pass.
func (r *reader) changed() (ids []string, err error) {
	err = hostdb.Query(r.db, `
		SELECT m.id FROM message m WHERE m.session_id = ?1 AND (m.time_created, m.id) > (?3, ?4)
		AND (m.time_updated >= ?2 OR EXISTS (SELECT 1 FROM part p WHERE p.message_id = m.id AND p.time_updated >= ?2))
		ORDER BY m.time_created, m.id`,
		func(s *sqlite3.Stmt) error {
			ids = append(ids, s.ColumnText(0))
			return r.ctx.Err()
		}, r.t.Session, r.at.Since, r.at.Created, r.at.ID)
	return ids, err
}

func (r *reader) message(id string) (m message, err error) {
	m.role = llms.RoleSystem
	rows, err := r.rows(`SELECT id, time_created, `+data+` FROM message WHERE id = ?`, id)
	if len(rows) > 0 {
		m.part = rows[0]
	}
	if v, e := wire.Members(m.data, "role", "time", "error", "summary"); e == nil {
		switch role := wire.Unquote(v[0]); role {
		case "user", "assistant":
			m.role = llms.Role(role)
		}
		times, e := wire.Members(v[1], "completed")
		m.done = e == nil && times[0] != nil || v[2] != nil || m.role != llms.RoleAssistant
		m.summary = m.role == llms.RoleAssistant && string(v[3]) == "true"
	} else {
		m.done = true
	}
	return m, err
}

func (r *reader) parts(message string) ([]part, error) {
	return r.rows(`SELECT id, time_created, `+data+` FROM part WHERE message_id = ? ORDER BY id`, message)
}

func (r *reader) rows(sql, id string) (ps []part, err error) {
	err = hostdb.Query(r.db, sql, func(s *sqlite3.Stmt) error {
		ps = append(ps, part{id: s.ColumnText(0), created: s.ColumnInt64(1), data: s.ColumnBlob(2, nil), size: s.ColumnInt64(3)})
		return nil
	}, id)
	return ps, err
}

// complete reports whether a message can be read: it is complete, or others follow it.
func (r *reader) complete(m message, parts []part) (bool, error) {
	if m.done && (len(parts) > 0 || m.role == llms.RoleAssistant) {
		return true, nil
	}
	later := false
	err := hostdb.Query(r.db, `
		SELECT 1 FROM message WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) AND json_valid(data) AND data ->> 'role' = 'assistant' LIMIT 1`,
		func(*sqlite3.Stmt) error { later = true; return nil }, r.t.Session, m.created, m.id)
	return later, err
}

// take yields the rows of a message. The position moves with its last row.
func (r *reader) take(m message, parts []part, last bool) error {
	if m.size > maxRow {
		m.data = []byte("null") // the parts have the content
	}
	w := row{}
	w.text("id", m.id, false)
	w.text("session_id", r.t.Session, false)
	w.number("time_created", m.created)
	w.raw("data", settled(m.data))
	rec := record(w.end(), llms.RoleSystem)
	rec.Type, rec.Flags = "message", rec.Flags|store.FlagHidden
	if err := r.wentBack(m, &rec); err != nil {
		return err
	}
	before := r.at
	r.at.Created, r.at.ID, r.at.Newest = m.created, m.id, max(r.at.Newest, m.created)
	for _, p := range parts {
		if m.created == r.at.Newest && visible(p) {
			r.at.Part = p.id
		}
	}
	end := r.at
	if last {
		end = r.at.done()
	}
	if len(parts) == 0 {
		before = end
	}
	if err := r.give(rec, before); err != nil {
		return err
	}
	for i, p := range parts {
		at := before
		if i == len(parts)-1 {
			at = end
		}
		if err := r.give(r.part(m, p), at); err != nil {
			return err
		}
	}
	return nil
}

// settled returns the data of a message without the list of changed files, which opencode
// derives and writes into a prompt at the end of its turn: a row that was read before then
// has to be the row that is read later.
func settled(data []byte) []byte {
	v, err := wire.Members(data, "summary")
	if err != nil || len(v[0]) == 0 || v[0][0] != '{' {
		return data
	}
	member := append([]byte(`"summary":`), v[0]...)
	for _, form := range [][]byte{append([]byte(","), member...), append(slices.Clone(member), ',')} {
		if bytes.Count(data, form) == 1 {
			return bytes.Replace(data, form, nil, 1)
		}
	}
	return data
}

// wentBack sets where the first new message continues from: opencode deletes undone ones.
func (r *reader) wentBack(m message, rec *hosts.Record) error {
	if r.went || r.at.Part == "" || m.created <= r.at.Newest {
		return nil
	}
	r.went = true
	last := ""
	err := hostdb.Query(r.db, `
		SELECT p.id FROM message m JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ?1 AND (m.time_created, m.id) < (?2, ?3) AND json_valid(p.data) AND p.data ->> 'type' IN ('text', 'tool', 'file')
		ORDER BY m.time_created DESC, m.id DESC, p.id DESC LIMIT 1`,
		func(s *sqlite3.Stmt) error { last = s.ColumnText(0); return nil }, r.t.Session, m.created, m.id)
	if rec.Branch = last != r.at.Part; rec.Branch {
		rec.After = last
	}
	return err
}

func (r *reader) part(m message, p part) hosts.Record {
	if p.size > maxRow {
		return hosts.TooLong(p.size)
	}
	w := row{}
	w.text("id", p.id, false)
	w.text("message_id", m.id, false)
	w.text("session_id", r.t.Session, false)
	w.number("time_created", p.created)
	w.raw("data", p.data)
	rec := record(w.end(), m.role)
	v, err := wire.Members(p.data, "type", "synthetic", "ignored")
	if err != nil {
		return rec
	}
	rec.Type = "part/" + wire.Unquote(v[0])
	switch {
	case len(rec.Parts) == 0 || !rec.Known:
		rec.Flags |= store.FlagHidden
	case m.summary:
		rec.Flags |= store.FlagHostSummary
	case string(v[1]) == "true", string(v[2]) == "true":
		rec.Flags |= store.FlagSynthetic
	}
	return rec
}

// visible reports whether a part is shown in the view.
func visible(p part) bool {
	v, err := wire.Members(p.data, "type")
	if err != nil {
		return false
	}
	switch wire.Unquote(v[0]) {
	case "text", "tool", "file":
		return true
	}
	return false
}

// record converts a row to a record.
func record(raw []byte, role llms.Role) hosts.Record {
	m, err := wire.Decode(llms.FormatOpencode, role, raw)
	if err != nil { // the data are not JSON
		rec := hosts.Unreadable(raw, "")
		rec.Mutable = true
		return rec
	}
	rec := hosts.Record{Input: ingest.Input{Message: m}, Known: !hosts.IsUnknown(m), Mutable: true}
	if !rec.Known {
		rec.Flags = store.FlagUnknown | store.FlagHidden
	}
	return rec
}

// row encodes a row as a line of JSON.
type row struct{ b strings.Builder }

func (w *row) raw(name string, value []byte) {
	if w.b.Len() == 0 {
		w.b.WriteByte('{')
	} else {
		w.b.WriteByte(',')
	}
	w.b.WriteString(`"` + name + `":`)
	w.b.Write(value)
}

func (w *row) text(name, value string, null bool) {
	quoted, err := json.Marshal(value)
	if null || err != nil {
		quoted = []byte("null")
	}
	w.raw(name, quoted)
}

func (w *row) number(name string, n int64) { w.raw(name, strconv.AppendInt(nil, n, 10)) }

func (w *row) end() []byte {
	w.b.WriteByte('}')
	return []byte(w.b.String())
}
