// Package doctor finds what is wrong with a memory and mends what can be
// mended.
//
// [Examine] looks at everything: the file and who may read it, the schema, the
// proof of every conversation, what is derived in it, the payloads, the search
// index, leases and maintenance, and unfinished copies beside the file. It changes nothing. Every [Finding] has a
// stable code, a severity, a sentence, and either what [Treat] would do about
// it or what a person can do.
//
// Treat makes a backup first, proves it unless tables are missing that the proof
// needs, and derives anew what follows from the messages. It never changes a message, and never makes a loss look sound:
// what is gone stays named. Whatever cannot be mended leaves the rest readable.
// Unfinished copies that a killed process left are removed from beside a sound
// database, which takes no backup.
//
// What a damaged file still holds is for the store to read; what is wrong with
// the hosts and the configuration is found elsewhere and joins the report as
// findings.
package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// Problem is something that is wrong: data are lost or not what they were,
	// or could get lost.
	Problem Severity = "problem"
	// Warning is something that works, but worse than it could.
	Warning Severity = "warning"
	// Note is worth knowing.
	Note Severity = "note"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Where    string   `json:"where"` // an id, a file or a part of the database
	Message  string   `json:"message"`
	// Fix is what Treat does about it, empty where it can do nothing.
	Fix string `json:"fix,omitempty"`
	// Advice is what a person can do where Treat cannot.
	Advice string `json:"advice,omitempty"`
}

// Patient is a database to be looked at.
type Patient struct {
	Path    string
	Options sqlite.Options
	// Counter counts the tokens of summaries that are made anew
	// (llms.Estimate).
	Counter llms.Counter
	// Clock is what time it is (time.Now).
	Clock func() time.Time
	// Also finds what is wrong outside of the database: hosts, settings. db is
	// nil where the database cannot be opened.
	Also func(ctx context.Context, db *sqlite.DB) []Finding
	// Waiting counts the sessions that are not stored wholly, for a disk that
	// is full. It may be nil.
	Waiting func(ctx context.Context, db *sqlite.DB) (int, error)
}

func (p Patient) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock()
}

// Report is what Examine found, and what Treat did.
type Report struct {
	Findings []Finding // that remain, the gravest first
	Fixed    []Finding // that are gone after Treat
	Backup   string    // what Treat kept of the database before it began
	// Failures are parts of the treatment that did not work.
	Failures []string
	// Opened says that the database can be opened at all.
	Opened bool
}

// Healthy reports whether no problem is left.
func (r Report) Healthy() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Problem })
}

// Fixable reports whether Treat would do something.
func (r Report) Fixable() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fix != "" })
}

// Examine looks at everything and changes nothing. The error says that it
// could not look.
func Examine(ctx context.Context, p Patient) (Report, error) {
	var r Report
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
			r.add(p.unopened(ctx, err))
		}
	}
	if db != nil {
		defer db.Close()
		r.Opened = true
		if err := r.look(ctx, p, db); err != nil {
			return r, err
		}
	}
	r.add(p.leftovers())
	r.add(p.fullDisk(ctx, db))
	r.spare()
	r.keepParts()
	if p.Also != nil {
		r.Findings = append(r.Findings, p.Also(ctx, db)...)
	}
	r.sort()
	return r, nil
}

// unopened finds what keeps a database from being opened: tables that are
// missing, code in its schema, or whatever the error says.
func (p Patient) unopened(ctx context.Context, cause error) []store.Fault {
	if missing, err := check.Schema(ctx, p.Path); err == nil && len(missing) > 0 {
		return missing
	}
	return []store.Fault{{Code: "file", Node: p.Path, Detail: "it cannot be opened: " + message(cause)}}
}

// maimed are the codes of a database that something is missing from.
var maimed = []string{"schema-table", "schema-table-bare", "schema-table-lost", "schema-column", "schema-column-lost"}

// rotten are the codes of a file whose pages are damaged. SQLite could make it
// worse by writing to it.
var rotten = []string{"page", "truncated"}

// spare promises nothing for a file that must not be written to.
func (r *Report) spare() {
	if !r.has(rotten...) {
		return
	}
	for i, f := range r.Findings {
		if f.Fix != "" && !outside[f.Code] {
			r.Findings[i].Fix, r.Findings[i].Advice = "", "the file is damaged and is not written to: restore a backup, or save what is readable with `lcm doctor --salvage NEW.db`"
		}
	}
}

// outside are the codes of what is mended without writing to the database.
var outside = map[string]bool{"permissions": true, "directory": true}

func (r *Report) has(codes ...string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return slices.Contains(codes, f.Code) })
}

func (r *Report) look(ctx context.Context, p Patient, db *sqlite.DB) error {
	found, err := db.Check(ctx)
	if err != nil {
		return err
	}
	stuck, err := maintenance(ctx, p, db)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	var cutOff []store.Fault
	if !slices.ContainsFunc(found, func(f store.Fault) bool { return f.Code == "erasure-missing" }) {
		// The store lists erasures only where each is noted.
		if cutOff, err = unfinished(ctx, db); err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.add(slices.Concat(found, stuck, cutOff))
	return nil
}

// open opens the database for writing, and only for reading where that is all
// it allows.
func (p Patient) open(ctx context.Context) (*sqlite.DB, error) {
	db, err := sqlite.Open(ctx, p.Path, p.Options)
	if err != nil && (errors.Is(err, store.ErrReadOnly) || check.Unopenable(err) || dbfile.Full(err)) {
		o := p.Options
		o.ReadOnly = true
		db, err = sqlite.Open(ctx, p.Path, o)
	}
	return db, err
}

// closed reports whether faults of the file keep it from being opened.
func closed(faults []store.Fault) bool {
	return slices.ContainsFunc(faults, func(f store.Fault) bool {
		switch f.Code {
		case "absent", "wal-orphan", "header", "file", "schema-newer", "schema-version":
			return true
		}
		return false
	})
}

func message(err error) string {
	var p *store.Problem
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
