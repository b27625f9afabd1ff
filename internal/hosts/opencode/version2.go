package opencode

import (
	"context"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/hostdb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
)

// Version 2 of the program has its sessions in the same database: a message is a row of
// session_message, with its number in the session. This reader follows the types of its SDK; it
// was never tried with the program.

// hasTable reports whether a database has a table.
func hasTable(db *sqlite3.Conn, name string) (has bool, err error) {
	err = hostdb.Query(db, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`, func(*sqlite3.Stmt) error { has = true; return nil }, name)
	return has, err
}

// ofVersion2 returns the condition for the sessions with rows of version 2 and none of version 1,
// whose tables a database need not have: version 1 may keep both.
func ofVersion2(db *sqlite3.Conn) (string, error) {
	const some = `EXISTS (SELECT 1 FROM session_message n WHERE n.session_id = s.id)`
	if has, err := hasTable(db, "message"); err != nil || !has {
		return some, err
	}
	return some + ` AND NOT EXISTS (SELECT 1 FROM message o WHERE o.session_id = s.id)`, nil
}

// sessionsOfVersion2 lists the sessions of version 2, parents first. Columns that the table lacks
// are empty.
func (h Host) sessionsOfVersion2(ctx context.Context, db *sqlite3.Conn, path string) (ts []hosts.Transcript, err error) {
	if has, err := hasTable(db, "session_message"); err != nil || !has {
		return nil, err
	}
	table := "session"
	if has, err := hasTable(db, "session_v2"); err != nil {
		return nil, err
	} else if has {
		table = "session_v2"
	}
	which, err := ofVersion2(db)
	if err != nil {
		return nil, err
	}
	err = hostdb.Query(db, `
		SELECT s.*, (SELECT max(time_updated) FROM session_message n WHERE n.session_id = s.id) AS written
		FROM `+table+` s WHERE `+which, func(s *sqlite3.Stmt) error {
		t := hosts.Transcript{Host: h.Name, Path: path}
		for i := range s.ColumnCount() {
			switch s.ColumnName(i) {
			case "id":
				t.Session = s.ColumnText(i)
			case "parent_id":
				t.Parent = s.ColumnText(i)
			case "directory":
				t.Dir = s.ColumnText(i)
			case "title":
				t.Title = s.ColumnText(i)
			case "written":
				t.Modified = time.UnixMilli(s.ColumnInt64(i)).UTC()
			}
		}
		ts = append(ts, t)
		return ctx.Err()
	})
	return ts, err
}

// version2 reads the session if it is one of version 2.
func (r *reader) version2() (is bool, err error) {
	if has, err := hasTable(r.db, "session_message"); err != nil || !has {
		return false, err
	}
	which, err := ofVersion2(r.db)
	if err != nil {
		return false, err
	}
	err = hostdb.Query(r.db, `SELECT 1 FROM (SELECT ? AS id) s WHERE `+which, func(*sqlite3.Stmt) error { is = true; return nil }, r.t.Session)
	if err != nil || !is {
		return is, err
	}
	first := r.at.Seq == 0
	return true, hostdb.Query(r.db, `
		SELECT id, type, seq, time_created, `+data+`, EXISTS (SELECT 1 FROM session_message l WHERE l.session_id = m.session_id AND l.seq > m.seq)
		FROM session_message m WHERE session_id = ? AND seq >= ? ORDER BY seq`, func(s *sqlite3.Stmt) error {
		kind, content := s.ColumnText(1), s.ColumnBlob(4, nil)
		if later := s.ColumnBool(6); kind == "assistant" && !later && !finished(content) {
			return errStop // it is being written
		}
		r.at.Seq = s.ColumnInt64(2) + 1
		if s.ColumnInt64(5) > maxRow {
			return r.give(hosts.TooLong(s.ColumnInt64(5)), r.at)
		}
		w := row{}
		w.text("id", s.ColumnText(0), false)
		w.text("session_id", r.t.Session, false)
		w.text("type", kind, false)
		w.number("seq", s.ColumnInt64(2))
		w.number("time_created", s.ColumnInt64(3))
		w.raw("data", content)
		rec := record(w.end(), "")
		rec.Type = "session_message/" + kind
		switch {
		case len(rec.Parts) == 0:
			rec.Flags |= store.FlagHidden
		case kind == "compaction":
			rec.Flags |= store.FlagHostSummary
		case kind == "synthetic", kind == "system":
			rec.Flags |= store.FlagSynthetic
		}
		if first {
			rec.Dir, rec.Title, rec.Parent, first = r.t.Dir, r.t.Title, r.t.Parent, false
		}
		return r.give(rec, r.at)
	}, r.t.Session, r.at.Seq)
}

// finished reports whether a message of the model is complete.
func finished(data []byte) bool {
	v, err := wire.Members(data, "time", "error", "finish")
	if err != nil {
		return true
	}
	times, err := wire.Members(v[0], "completed")
	return err == nil && times[0] != nil || v[1] != nil || strings.Trim(string(v[2]), `"`) != ""
}

// Notice implements [hosts.Noticing]: there are sessions of version 2.
func (h Host) Notice(ctx context.Context, in hosts.Installation) string {
	found, _ := h.databases(in) // a folder that cannot be listed has none
	for _, path := range found {
		db, err := hostdb.Open(ctx, path)
		if err != nil {
			continue
		}
		ts, _ := h.sessionsOfVersion2(ctx, db, path)
		_ = db.Close() // it was only read
		if len(ts) > 0 {
			return "sessions of " + h.Title + " 2 are read by the types of its SDK, which was never tried with the program"
		}
	}
	return ""
}
