// Package imports measures how agents' transcripts come in: it writes
// transcripts in the hosts' formats, as large as one likes, imports them into a
// fresh database, and imports them again.
//
// The transcripts consist of the bundled session's sentences, with the
// bookkeeping and the repetitions that the real programs write beside them. The
// same records are also stored from memory, to show the cost of reading them.
package imports

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options adjust a run.
type Options struct {
	Bytes    int64  // of transcripts
	Seed     uint64 // of the made-up text
	Dir      string // where it is written; a temporary directory if empty
	Progress harness.Progress
}

// Report is the result of a run.
type Report struct {
	Bytes    int64   `json:"bytes"` // of the records
	Sessions int     `json:"sessions"`
	Records  int     `json:"records"`
	Seconds  float64 `json:"seconds"`      // of the first import
	CPU      float64 `json:"cpuSeconds"`   // its processor time
	Again    float64 `json:"secondsAgain"` // of the second import
	Peak     int64   `json:"peakBytes"`    // the most memory of the process
	// Batch is the rate of storing the same records from memory, in bytes a second,
	// and BatchCPU the same by processor time.
	Batch    float64 `json:"batchBytesPerSecond"`
	BatchCPU float64 `json:"batchBytesPerCPUSecond"`
	Database int64   `json:"databaseBytes"`
	Digest   string  `json:"digest"`
}

// Rate is how many bytes of records were imported a second.
func (r Report) Rate() float64 { return float64(r.Bytes) / r.Seconds }

// Slowdown is how much slower the import is than storing the same from memory,
// by the clock.
func (r Report) Slowdown() float64 { return r.Batch / r.Rate() }

// The targets.
const (
	maxSlowdown = 1.5
	maxAgain    = 2.0
	maxPeak     = 300e6
)

// Met reports whether every target was.
func (r Report) Met() bool {
	return r.Slowdown() <= maxSlowdown && r.Again < maxAgain && r.Peak < maxPeak
}

// Text renders the report for people.
func (r Report) Text() string {
	var b strings.Builder
	row := func(name, got string) { fmt.Fprintf(&b, "%-34s %14s\n", name, got) }
	check := func(name, got, target string, met bool) {
		verdict := "ok"
		if !met {
			verdict = "missed"
		}
		row(name, fmt.Sprintf("%14s  %-8s %s", got, target, verdict))
	}
	mb := func(n float64) string { return fmt.Sprintf("%.1f", n/1e6) }
	row("sessions", fmt.Sprint(r.Sessions))
	row("records", fmt.Sprint(r.Records))
	row("records, MB", mb(float64(r.Bytes)))
	row("database, MB", mb(float64(r.Database)))
	row("import, s", fmt.Sprintf("%.1f", r.Seconds))
	row("import, MB/s", mb(r.Rate()))
	row("the same from memory, MB/s", mb(r.Batch))
	if r.CPU > 0 && r.BatchCPU > 0 {
		row("  by the processor's time, MB/s", mb(float64(r.Bytes)/r.CPU)+" of "+mb(r.BatchCPU))
	}
	check("slower than from memory by", fmt.Sprintf("%.2f×", r.Slowdown()), "≤ 1.5×", r.Slowdown() <= maxSlowdown)
	check("most memory held, MB", mb(float64(r.Peak)), "< 300", r.Peak < maxPeak)
	check("importing again, s", fmt.Sprintf("%.2f", r.Again), "< 2", r.Again < maxAgain)
	row("digest", r.Digest)
	return b.String()
}

// Measure writes transcripts, imports them twice, and stores the same records
// from memory.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	dir, err := os.MkdirTemp(o.Dir, "lcm-bench-import-*")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return r, err
	}
	o.Progress.Say("writing transcripts")
	if _, err := generate(home, o.Bytes, o.Seed); err != nil {
		return r, err
	}
	debug.FreeOSMemory()
	path := filepath.Join(dir, "lcm.db")
	watch, busy := harness.WatchRSS(), harness.CPUTime().Seconds()
	r.Seconds, err = importAll(ctx, home, path, &r, o.Progress)
	r.Peak, r.CPU = watch(), harness.CPUTime().Seconds()-busy
	if err != nil {
		return r, err
	}
	if info, err := os.Stat(path); err == nil {
		r.Database = info.Size()
	}
	o.Progress.Say("importing again")
	var again Report
	if r.Again, err = importAll(ctx, home, path, &again, o.Progress); err != nil {
		return r, err
	}
	if again.Records > 0 {
		return r, fmt.Errorf("the second import read %d records", again.Records)
	}
	o.Progress.Say("storing from memory")
	if r.Batch, r.BatchCPU, err = batch(ctx, home, filepath.Join(dir, "batch.db")); err != nil {
		return r, err
	}
	o.Progress.Say("proving what was stored")
	r.Digest, err = verify(ctx, path)
	return r, err
}

// machine is a home directory with nothing set in the environment.
func machine(home string) hosts.Machine { return hosts.Machine{Home: home} }

// importAll imports everything in a home directory, as a command does, and
// says how long it took.
func importAll(ctx context.Context, home, path string, r *Report, progress harness.Progress) (seconds float64, err error) {
	begun := time.Now()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(112 << 20)) // as `lcm import` does
	record, err := harness.Open(ctx, path, sqlite.Options{}, lcm.WithoutBackground())
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, record.Close(ctx))
		seconds = time.Since(begun).Seconds()
	}()
	feed, err := hosts.New(record.Engine, all.Hosts(), machine(home), hosts.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	sums, err := feed.All(ctx, hosts.Filter{}, func(p hosts.Progress) {
		progress.Say("importing: session %d of %d", p.Sessions, p.SessionTotal)
	})
	for _, s := range sums {
		r.Bytes += s.Bytes
		r.Records += s.Records
		r.Sessions += s.Sessions
		if len(s.Failures) > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.Failures[0].Path, s.Failures[0].Err))
		}
	}
	return 0, err
}

// batchBytes is how much is held in memory to be stored from there.
const batchBytes = 32 << 20

// batch stores the same records from memory, a thousand at a time, and returns the bytes
// a second, by the clock and by processor time, without the time to read the records.
func batch(ctx context.Context, home, path string) (rate, cpu float64, err error) {
	var clock, busy, bytes float64
	timed := func(fn func() error) error {
		begun, before := time.Now(), harness.CPUTime()
		err := fn()
		clock += time.Since(begun).Seconds()
		busy += (harness.CPUTime() - before).Seconds()
		return err
	}
	record, err := harness.Open(ctx, path, sqlite.Options{}, lcm.WithoutBackground())
	if err != nil {
		return 0, 0, err
	}
	session := record.Engine.Session("batch")
	err = load(ctx, home, func(inputs []ingest.Input, size int64) error {
		bytes += float64(size)
		return timed(func() error {
			for from := 0; from < len(inputs); from += 1000 {
				if _, err := session.AppendInputs(ctx, inputs[from:min(from+1000, len(inputs))]...); err != nil {
					return err
				}
			}
			return nil
		})
	})
	err = errors.Join(err, timed(func() error { return record.Close(ctx) }))
	return bytes / clock, bytes / busy, err
}

// load reads the records of all hosts, some at a time.
func load(ctx context.Context, home string, store func(inputs []ingest.Input, size int64) error) error {
	var inputs []ingest.Input
	var size int64
	for _, h := range all.Hosts() {
		for t, err := range h.Transcripts(ctx, h.Find(machine(home))) {
			if err != nil {
				return err
			}
			for rec, err := range h.Read(ctx, t, hosts.Position{}) {
				if err != nil {
					return err
				}
				rec.ID = t.Session + "/" + rec.ID // they are stored in one conversation
				inputs = append(inputs, rec.Input)
				if size += int64(len(rec.Raw.Bytes)); size < batchBytes {
					continue
				}
				if err := store(inputs, size); err != nil {
					return err
				}
				inputs, size = nil, 0
			}
		}
	}
	return store(inputs, size)
}

// verify proves a database and returns the digest of its conversations.
func verify(ctx context.Context, path string) (digest string, err error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	convs, err := db.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return "", err
	}
	var all [32]byte
	for _, c := range convs {
		v, err := db.Verify(ctx, c.ID)
		if err != nil {
			return "", err
		}
		if len(v.Faults) > 0 {
			return "", fmt.Errorf("conversation %d: %s: %s", c.ID, v.Faults[0].Code, v.Faults[0].Detail)
		}
		for i, b := range v.Digest { // in any order
			all[i] ^= b
		}
	}
	return hex.EncodeToString(all[:8]), nil
}
