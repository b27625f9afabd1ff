// Package doctor finds problems of a database and fixes those that it can.
//
// [Examine] checks everything and changes nothing: the file and its permissions,
// the schema, the proof of every conversation, derived data, payloads and the search
// index. Every
// [Finding] has a stable code, a severity, a sentence, and either the fix that
// [Treat] would apply or advice for a person.
//
// Treat fixes small things in place: permissions, the search index, summaries that
// are to be written again. For everything else it has package move make a new database of
// what can be read, and put it in the place of the damaged one, which is kept as a backup.
// It never changes a message and never hides a loss: missing data stays reported. Data
// that cannot be fixed leaves the rest readable.
//
// The store reads damaged files. Other packages check hosts and configuration,
// and add their findings to the report.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// Problem means that data are lost or changed, or could get lost.
	Problem Severity = "problem"
	// Warning means that something works worse than it could.
	Warning Severity = "warning"
	// Note is worth knowing.
	Note Severity = "note"
)

// Finding is one problem.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Where    string   `json:"where"` // an id, a file or a part of the database
	Message  string   `json:"message"`
	// Fix is the action of Treat; empty if it can do nothing.
	Fix string `json:"fix,omitempty"`
	// Advice is for a person, if Treat cannot fix it.
	Advice string `json:"advice,omitempty"`
}

// Patient is a database to examine.
type Patient struct {
	Path    string
	Options sqlite.Options
	// Counter counts the tokens of rewritten summaries (llms.Estimate).
	Counter llms.Counter
	// Limit bounds the time of Examine; 0 is none. Report.Unchecked names what was
	// left out.
	Limit time.Duration
	// Clock returns the time (time.Now).
	Clock func() time.Time
	// Also finds problems outside of the database: hosts, settings. db is nil
	// if the database cannot be opened.
	Also func(ctx context.Context, db *sqlite.DB) []Finding
}

func (p Patient) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock()
}

// Report is the result of Examine or Treat.
type Report struct {
	Findings []Finding // that remain, the most severe first
	Fixed    []Finding // that Treat removed
	Backup   string    // the path of Treat's backup
	// Failures are fixes that did not work, and what is lost without a trace.
	Failures []string
	// Opened says that the database can be opened.
	Opened bool
	// Unchecked names what there was no time for.
	Unchecked []string
}

// Unchecked is the code of a finding of Also that names, in Where, something that it had no
// time for.
const Unchecked = check.Unchecked

// Healthy reports whether no problem remains, and every fix worked.
func (r Report) Healthy() bool {
	return len(r.Failures) == 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Problem })
}

// Fixable reports whether Treat would do something.
func (r Report) Fixable() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fix != "" })
}

// Examine checks everything that fits into p.Limit, and changes nothing. An error says that
// it could not check.
func Examine(ctx context.Context, p Patient) (Report, error) {
	var r Report
	limited := ctx
	if p.Limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, p.Limit)
		defer cancel()
	}
	faults, err := check.File(ctx, p.Path)
	if err != nil {
		return r, err
	}
	r.add(faults)
	var db *sqlite.DB
	if !closed(faults) {
		if db, err = p.open(ctx); err != nil {
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			if !slices.ContainsFunc(faults, func(f store.Fault) bool { return strings.HasPrefix(f.Code, "schema") }) {
				r.add([]store.Fault{{Code: "file", Node: p.Path, Detail: "it cannot be opened: " + sqldb.WithoutHint(err)}})
			}
		}
	}
	also := p.also(limited, db)
	var failed error
	if db != nil {
		defer db.Close()
		r.Opened = true
		var found []store.Fault
		found, failed = db.Check(limited)
		r.add(found)
	}
	around := also()
	if err := cmp.Or(ctx.Err(), failed); err != nil {
		return r, err // an interrupted check knows too little
	}
	r.add(writable(p.Path))
	r.Findings = append(r.Findings, around...)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		if f.Code == Unchecked {
			r.Unchecked = append(r.Unchecked, f.Where)
		}
		return f.Code == Unchecked
	})
	r.sort()
	return r, nil
}

// also runs p.Also; the function that it returns waits for its findings.
func (p Patient) also(ctx context.Context, db *sqlite.DB) func() []Finding {
	if p.Also == nil {
		return func() []Finding { return nil }
	}
	found := make(chan []Finding, 1)
	go func() { found <- p.Also(ctx, db) }()
	return func() []Finding { return <-found }
}

// open opens the database for writing, or for reading if that is all it allows.
func (p Patient) open(ctx context.Context) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, p.Path, p.Options)
	if err != nil && (errors.Is(err, store.ErrReadOnly) || check.Unopenable(err) || dbfile.Full(err)) {
		o := p.Options
		o.ReadOnly = true
		db, err = sqlite.Open(ctx, p.Path, o)
	}
	return db, err
}

// closed reports whether faults prevent the file from being opened.
func closed(faults []store.Fault) bool {
	return slices.ContainsFunc(faults, func(f store.Fault) bool {
		return slices.Contains([]string{"absent", "empty", "wal-orphan", "wal-damaged", "file", "schema-newer"}, f.Code)
	})
}

// roomWanted is how many bytes must fit on the disk. Storing a session needs less.
const roomWanted = 1 << 20

// writable checks that something new can be stored. It writes a file, because the free
// space that the system reports ignores quotas.
func writable(path string) []store.Fault {
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir) // the first session makes missing directories
	}
	where, err := dir, room(dir, roomWanted)
	if err == nil {
		f, failed := os.OpenFile(path, os.O_RDWR, 0)
		if failed == nil {
			failed = f.Close()
		}
		if where = path; !errors.Is(failed, fs.ErrNotExist) {
			err = failed
		}
	}
	switch {
	case err == nil:
		return nil
	case dbfile.Full(err):
		return []store.Fault{{Code: "disk-full", Node: where, Detail: "the disk is full: nothing new is stored, what is stored can be read"}}
	}
	return []store.Fault{{Code: "read-only", Node: where, Detail: "nothing new can be stored there: " + err.Error()}}
}

// room reports why a number of bytes cannot be written to a directory.
func room(dir string, bytes int) (err error) {
	f, err := os.CreateTemp(dir, dbfile.PartPattern)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, bytes))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
