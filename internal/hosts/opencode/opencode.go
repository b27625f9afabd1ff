// Package opencode has everything that lcm knows of opencode, and of the programs that were
// made from it: they have its tables, settings and plugins under names of their own.
//
// Sessions are rows of a SQLite database: a session, its messages and their parts,
// which the program rewrites while it works. Each row becomes a record: its columns as
// one line of JSON with the data unchanged. It leaves out what opencode rewrites by itself
// later: the time of the last change, the title of a session, which the conversation has,
// and the list of the files that a turn has changed. So a session that was followed has the
// records of one that is read at its end. A message is read when it is complete. Other
// changes are stored too, hidden, under ids of their own.
//
// Sessions of version 2, which are in the same database, are read too (version2.go).
//
// The database is opened read-only. The reader never creates it and never blocks a
// writer.
package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/hostdb"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
)

// Host is opencode, or a program that was made from it.
type Host struct {
	// Name is the short name. The program's directories, its databases and, in capitals,
	// its variables begin with it.
	Name  string
	Title string
	// Files are the names of its settings files without their extension. A later one goes
	// before an earlier one.
	Files []string
	// Dirs are the names of its directories in a project.
	Dirs []string
}

// New returns opencode.
func New() Host {
	return Host{Name: "opencode", Title: "opencode", Files: []string{"opencode"}, Dirs: []string{".opencode"}}
}

// About implements [hosts.Host].
func (h Host) About() hosts.About {
	return hosts.About{Name: h.Name, Title: h.Title, MCP: hosts.MCP{Client: h.Name}}
}

// dataDir is where the program keeps its sessions and logins, configDir where it has the
// user's settings.
func (h Host) dataDir(m hosts.Machine) string {
	return filepath.Join(m.Env("XDG_DATA_HOME", filepath.Join(m.Home, ".local", "share")), h.Name)
}

func (h Host) configDir(m hosts.Machine) string {
	return filepath.Join(m.Env("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config")), h.Name)
}

// env is the name of one of the program's variables.
func (h Host) env(name string) string { return strings.ToUpper(h.Name) + "_" + name }

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	_, noData := os.Stat(h.dataDir(m))
	_, noConfig := os.Stat(h.configDir(m))
	return hosts.Installation{Data: h.dataDir(m), Present: noData == nil || noConfig == nil}
}

// Transcripts implements [hosts.Host].
func (h Host) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		found, err := h.databases(in)
		if err != nil && !yield(hosts.Transcript{Host: h.Name, Path: in.Data}, err) {
			return
		}
		for _, path := range found {
			ts, err := h.sessions(ctx, path)
			if err != nil && !yield(hosts.Transcript{Host: h.Name, Path: path}, err) {
				return
			}
			for _, t := range ts {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// In implements [hosts.Host]: every session of a database.
func (h Host) In(ctx context.Context, path string) ([]hosts.Transcript, error) {
	if !h.isDatabase(path) {
		return nil, hosts.ErrNoTranscript
	}
	found, err := h.sessions(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found) == 0 {
		return nil, hosts.ErrNoTranscript
	}
	return found, err
}

// isDatabase reports whether a file is one of the program's by its name: each channel has a
// database of its own.
func (h Host) isDatabase(path string) bool {
	return strings.HasPrefix(filepath.Base(path), h.Name) && filepath.Ext(path) == ".db"
}

// databases lists the databases of an installation.
func (h Host) databases(in hosts.Installation) ([]string, error) {
	var paths []string
	var problems []error
	for _, f := range lines.List(in.Data, in.Data) {
		switch {
		case f.Path == in.Data:
			problems = append(problems, f.Err)
		case !h.isDatabase(f.Path):
		case f.Err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", f.Path, f.Err))
		default:
			paths = append(paths, f.Path)
		}
	}
	return paths, errors.Join(problems...)
}

// sessions lists the sessions of a database, parents first.
func (h Host) sessions(ctx context.Context, path string) (ts []hosts.Transcript, err error) {
	db, err := hostdb.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sql := `
		SELECT s.id, s.parent_id, s.directory, s.title,
		       max(s.time_updated, ifnull((SELECT max(m.time_updated) FROM message m WHERE m.session_id = s.id), 0))
		FROM session s ORDER BY s.parent_id IS NOT NULL, s.time_created, s.id`
	newer, err := h.sessionsOfVersion2(ctx, db, path)
	if has, problem := hasTable(db, "session"); err != nil || problem != nil || !has && len(newer) > 0 {
		return newer, errors.Join(err, problem) // version 2 alone
	}
	err = hostdb.Query(db, sql, func(s *sqlite3.Stmt) error {
		ts = append(ts, hosts.Transcript{
			Host: h.Name, Path: path, Session: s.ColumnText(0), Parent: s.ColumnText(1), Dir: s.ColumnText(2), Title: s.ColumnText(3),
			Modified: time.UnixMilli(s.ColumnInt64(4)).UTC(),
		})
		return ctx.Err()
	})
	for _, t := range newer {
		ts = slices.DeleteFunc(ts, func(old hosts.Transcript) bool { return old.Session == t.Session })
	}
	return append(ts, newer...), err
}
