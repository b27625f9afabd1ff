// Package harness has the parts that the benchmarks share: a database with an
// engine to measure, messages to fill it with, the machine, its clocks and its
// memory, and targets with their verdicts.
//
// [Message] returns the same messages on every machine: words and tool output
// of the bundled session, in another order. Times depend on the machine and its other
// work; compare ratios of one run.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// Record is a database with an engine on it.
type Record struct {
	DB     *sqlite.DB
	Engine *lcm.Engine
	Path   string // of the database
	temp   string // the directory that Close removes, if any
}

// Open opens the database at a path, or makes it.
func Open(ctx context.Context, path string, o sqlite.Options, opts ...lcm.Option) (*Record, error) {
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	engine, err := lcm.New(db, opts...)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Record{DB: db, Engine: engine, Path: path}, nil
}

// Temp makes a database in a new directory below dir, or below the system's
// temporary directory. Close removes it.
func Temp(ctx context.Context, dir string, o sqlite.Options, opts ...lcm.Option) (*Record, error) {
	dir, err := os.MkdirTemp(dir, "lcm-bench-*")
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, filepath.Join(dir, "lcm.db"), o, opts...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.temp = dir
	return r, nil
}

// Close closes the engine and the database. A second call does nothing.
func (r *Record) Close(ctx context.Context) error {
	if r.DB == nil {
		return nil
	}
	err := errors.Join(r.Engine.Close(ctx), r.DB.Close())
	r.DB = nil
	if r.temp != "" {
		err = errors.Join(err, os.RemoveAll(r.temp))
	}
	return err
}

// Size closes the database and returns the bytes of its file.
func (r *Record) Size(ctx context.Context) (int64, error) {
	temp := r.temp
	r.temp = ""
	if err := r.Close(ctx); err != nil {
		return 0, err
	}
	info, err := os.Stat(r.Path)
	if err != nil {
		return 0, err
	}
	if temp != "" {
		err = os.RemoveAll(temp)
	}
	return info.Size(), err
}

// Progress hears how far a benchmark has come. A total of zero is unknown. It
// may be nil.
type Progress func(done, total int64, what string)

// Tell reports a step.
func (p Progress) Tell(done, total int64, what string) {
	if p != nil {
		p(done, total, what)
	}
}

// Say reports a step without a number.
func (p Progress) Say(format string, args ...any) { p.Tell(0, 0, fmt.Sprintf(format, args...)) }

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// Quantile is the time, in milliseconds, that a share of the times does not
// exceed. It sorts them.
func Quantile(times []time.Duration, share float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return Millis(times[int(share*float64(len(times)-1)+0.5)])
}

// Check sets a number beside its target.
type Check struct {
	What    string  `json:"what"`
	Got     float64 `json:"got"`
	Target  float64 `json:"target"`
	AtLeast bool    `json:"atLeast"` // more is better
	OK      bool    `json:"ok"`
}

// AtMost checks that a number does not exceed its target.
func AtMost(what string, got, target float64) Check {
	return Check{What: what, Got: got, Target: target, OK: got <= target}
}

// AtLeast checks that a number reaches its target.
func AtLeast(what string, got, target float64) Check {
	return Check{What: what, Got: got, Target: target, AtLeast: true, OK: got >= target}
}

// WriteChecks prints a line for each check, with names of the given width.
func WriteChecks(w io.Writer, checks []Check, width int) {
	for _, c := range checks {
		verdict, bound := "ok   ", "at most"
		if !c.OK {
			verdict = "SHORT"
		}
		if c.AtLeast {
			bound = "at least"
		}
		fmt.Fprintf(w, "%s  %-*s %8.2f  (%s %g)\n", verdict, width, c.What, c.Got, bound, c.Target)
	}
}

// Run executes a statement with each of the rows.
func Run(c *sqlite3.Conn, sql string, rows ...[]any) (err error) {
	s, _, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, row := range rows {
		for i, v := range row {
			if err := bind(s, i+1, v); err != nil {
				return err
			}
		}
		if err := s.Exec(); err != nil {
			return err
		}
	}
	return nil
}

func bind(s *sqlite3.Stmt, i int, v any) error {
	switch v := v.(type) {
	case int64:
		return s.BindInt64(i, v)
	case string:
		return s.BindText(i, v)
	case []byte:
		return s.BindBlob(i, v)
	}
	return s.BindNull(i)
}

// Placeholders returns "(?, ?)" for n values.
func Placeholders(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }
