// Package openclaw has everything that lcm knows of OpenClaw.
//
// Each agent of the user has a SQLite database. A row of its table of events is an entry of
// pi's, as text or compressed, and becomes a record byte for byte. The program may rewrite
// the events of a session; it then gives the session another generation.
//
// A plugin lets lcm own the context of its sessions: plugin/index.js, which speaks with
// `lcm engine`.
package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/hostdb"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/hosts/pi"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "openclaw"

// Host is OpenClaw.
type Host struct{}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "OpenClaw", HasEngine: true, MCP: hosts.MCP{Client: "openclaw-bundle-mcp", AnyDir: true}}
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "agents")
}

// database is the name of an agent's database.
const database = "openclaw-agent.sqlite"

// Transcripts implements [hosts.Host].
func (h Host) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		for _, agent := range lines.List(in.Data, in.Data) {
			path := filepath.Join(agent.Path, "agent", database)
			err := agent.Err
			if err == nil && agent.Info.IsDir() {
				err = lines.Within(in.Data, path)
			}
			var found []hosts.Transcript
			if err == nil && agent.Info.IsDir() {
				found, err = sessions(ctx, path)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !yield(hosts.Transcript{Host: Name, Path: path}, err) {
				return
			}
			for _, t := range found {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// In implements [hosts.Host]: every session of a database, or of one of lossless-claw.
func (Host) In(ctx context.Context, path string) ([]hosts.Transcript, error) {
	list := sessions
	if filepath.Base(path) != database {
		list = copied
	}
	found, err := list(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found) == 0 {
		return nil, hosts.ErrNoTranscript
	}
	return found, err
}

// sessions lists the sessions of a database, sub-agents after the others. A sub-agent names
// the key of the session that started it, which has had several sessions if it was reset.
func sessions(ctx context.Context, path string) (ts []hosts.Transcript, err error) {
	db, err := hostdb.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = hostdb.Query(db, `
		SELECT w.session_id, coalesce(p.current_session_id, ''),
		       max(ifnull((SELECT max(created_at) FROM transcript_events e WHERE e.session_id = w.session_id), 0),
		           ifnull((SELECT updated_at FROM transcript_rewrite_watermarks r WHERE r.session_id = w.session_id), 0))
		FROM session_windows w LEFT JOIN session_nodes n ON n.session_key = w.session_key
		LEFT JOIN session_nodes p ON p.session_key = coalesce(n.spawned_by, n.parent_session_key, w.spawned_by, w.parent_session_key) AND p.session_key <> w.session_key
		WHERE EXISTS (SELECT 1 FROM transcript_events e WHERE e.session_id = w.session_id)
		ORDER BY p.session_key IS NOT NULL, w.created_at, w.session_id`, func(s *sqlite3.Stmt) error {
		ts = append(ts, hosts.Transcript{Host: Name, Path: path, Session: s.ColumnText(0), Parent: s.ColumnText(1), Modified: time.UnixMilli(s.ColumnInt64(2)).UTC()})
		return ctx.Err()
	})
	return ts, err
}

// state is how far a session was read.
type state struct {
	Next       int64  `json:"next"`                 // the number of the next event
	Generation string `json:"generation,omitempty"` // of the session
	Prev       string `json:"prev,omitempty"`       // the id of the record before
	Again      bool   `json:"again,omitempty"`      // it was read before in another generation
}

// entries are the records of pi.
var entries = &sessionfiles.Kind{Host: Name, Format: llms.FormatPi, Complete: pi.Complete}

// Read implements [hosts.Host].
func (Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		var at state
		if json.Unmarshal([]byte(from.State), &at) != nil {
			at = state{} // a position that cannot be parsed is the beginning
		}
		read := events
		if filepath.Base(t.Path) != database {
			read = copies
		}
		if err := read(ctx, t, at, func(rec hosts.Record) bool { return yield(rec, nil) }); err != nil && !errors.Is(err, errStop) {
			yield(hosts.Record{}, err)
		}
	}
}

var errStop = errors.New("the reader has stopped")

// events gives the events of a session after a state.
func events(ctx context.Context, t hosts.Transcript, at state, give func(hosts.Record) bool) (err error) {
	db, err := hostdb.Open(ctx, t.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec("BEGIN"); err != nil { // one snapshot of both tables
		return err
	}
	generation := ""
	err = hostdb.Query(db, `SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?`,
		func(s *sqlite3.Stmt) error { generation = s.ColumnText(0); return nil }, t.Session)
	if err != nil {
		return err
	}
	if at.Generation != generation {
		at = state{Generation: generation, Again: at.Next > 0}
	}
	return hostdb.Query(db, `
		SELECT seq, CASE WHEN octet_length(event_json) <= 104857600 THEN event_json END, octet_length(event_json), event_zstd
		FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq`, func(s *sqlite3.Stmt) error {
		at.Next = s.ColumnInt64(0) + 1
		rec := hosts.TooLong(s.ColumnInt64(2))
		if raw := event(s); raw != nil {
			rec = entries.Record(raw, at.Prev)
			rec.Mutable = true
			// In a rewritten session the record before may not be the last one that is stored.
			rec.Branch = rec.Branch && (at.Again || rec.After != at.Prev)
			at.Prev = rec.ID
		}
		end, err := json.Marshal(at)
		if err != nil {
			return err
		}
		rec.End.State = string(end)
		if !give(rec) {
			return errStop
		}
		return ctx.Err()
	}, t.Session, at.Next)
}

// inflater decompresses events, which the program bounds to 4 MB.
var inflater = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
})

// event returns the bytes of an event, nil if there are too many. One that cannot be
// decompressed is returned as it is.
func event(s *sqlite3.Stmt) []byte {
	if s.ColumnType(3) == sqlite3.NULL {
		return s.ColumnBlob(1, nil)
	}
	compressed := s.ColumnBlob(3, nil)
	if z, err := inflater(); err == nil {
		if raw, err := z.DecodeAll(compressed, nil); err == nil {
			return raw
		}
	}
	return compressed
}
