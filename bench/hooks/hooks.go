// Package hooks measures how long a host waits for lcm's hooks. It starts the
// real program again and again on a database of a given size, beside
// `lcm version`, which does nothing and so shows the cost of starting a program.
//
// Each hook finds a few new records in the transcript, as at the end of a turn; each
// session that starts gets the state of the work; each prompt refers to earlier work in
// the project.
package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options adjust a run.
type Options struct {
	Binary   string // the program lcm
	Messages int    // in the database
	Runs     int    // of each command
	// Dir is where the database and the transcript are put; a database that
	// is there already is used as it is.
	Dir      string
	Progress harness.Progress
}

// Report is the result of a run.
type Report struct {
	Messages int64         `json:"messages"`
	Runs     int           `json:"runs"`
	Version  Times         `json:"version"`
	Stop     Times         `json:"stop"`
	Start    Times         `json:"sessionStart"`
	Prompt   Times         `json:"prompt"`
	Blocks   int           `json:"blocks"`   // starts that were told something
	Reminded int           `json:"reminded"` // prompts that were answered
	Made     time.Duration `json:"made"`     // how long the database took
}

// Times are quantiles of the duration of a command, in milliseconds, and of its
// processor time, which depends little on other processes.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
	CPU float64 `json:"cpuP95"`
}

// Targets, in milliseconds: the 95th percentile of a hook, its excess over that of
// `lcm version`, and the 95th percentile of the processor time before a prompt.
const (
	Target       = 100.0
	Excess       = 60.0
	PromptTarget = 150.0
)

// OK reports whether the hooks keep within the targets.
func (r Report) OK() bool {
	return max(r.Stop.P95, r.Start.P95) <= Target && max(r.Stop.P95, r.Start.P95)-r.Version.P95 <= Excess && r.Prompt.CPU <= PromptTarget
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages, %d runs of each, in turn; %d of the starts were told something, %d of the prompts were answered\n\n", r.Messages, r.Runs, r.Blocks, r.Reminded)
	fmt.Fprintf(&b, "%-28s %8s %8s %8s %8s  ms\n", "", "p50", "p95", "max", "CPU p95")
	for _, row := range []struct {
		name string
		Times
	}{{"lcm version", r.Version}, {"lcm hook, end of a turn", r.Stop}, {"lcm hook, session start", r.Start}, {"lcm hook, prompt", r.Prompt}} {
		fmt.Fprintf(&b, "%-28s %8.1f %8.1f %8.1f %8.1f\n", row.name, row.P50, row.P95, row.Max, row.CPU)
	}
	verdict := "within the targets"
	if !r.OK() {
		verdict = "NOT within the targets"
	}
	fmt.Fprintf(&b, "\n%s: p95 at most %.0f ms, and at most %.0f ms over `lcm version`; before a prompt at most %.0f ms of processor time\n", verdict, Target, Excess, PromptTarget)
	return b.String()
}

// bench is one measurement.
type bench struct {
	Options
	home, work, transcript, db string
	records                    int
	times                      [4]taken // of each command
}

// Measure makes the database and times the commands.
func Measure(ctx context.Context, o Options) (Report, error) {
	b := &bench{Options: o, db: filepath.Join(o.Dir, "hooks.db"), home: filepath.Join(o.Dir, "home"), work: filepath.Join(o.Dir, "work")}
	b.transcript = filepath.Join(b.home, ".claude", "projects", "work", session+".jsonl")
	for _, dir := range []string{b.work, filepath.Dir(b.transcript)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Report{}, err
		}
	}
	begun := time.Now()
	n, err := b.fill(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("make the database: %w", err)
	}
	r := Report{Messages: n, Runs: o.Runs, Made: time.Since(begun)}
	for i := range o.Runs {
		b.Progress.Tell(int64(i), int64(o.Runs), "runs")
		if err := b.grow(); err != nil {
			return r, err
		}
		for n, input := range []string{
			"", // no event: `lcm version`
			b.event("Stop", session, "source", ""),
			b.event("SessionStart", fmt.Sprintf("new-%d-%d", os.Getpid(), i), "source", "resume"),
			b.event("UserPromptSubmit", fmt.Sprintf("prompt-%d-%d", os.Getpid(), i), "prompt", prompts[i%len(prompts)]),
		} {
			told, err := b.run(ctx, &b.times[n], input)
			if err != nil {
				return r, err
			}
			if told && n == 2 {
				r.Blocks++
			} else if told && n == 3 {
				r.Reminded++
			}
		}
	}
	for n, into := range []*Times{&r.Version, &r.Stop, &r.Start, &r.Prompt} {
		wall, cpu := b.times[n].wall, b.times[n].cpu
		into.P50, into.P95, into.Max = harness.Quantile(wall, 0.5), harness.Quantile(wall, 0.95), harness.Quantile(wall, 1)
		into.CPU = harness.Quantile(cpu, 0.95)
	}
	return r, nil
}

const session = "11111111-2222-4333-8444-555555555555"

// fill stores the bundled session again and again, under keys of their own.
func (b *bench) fill(ctx context.Context) (n int64, err error) {
	record, err := harness.Open(ctx, b.db, sqlite.Options{Relaxed: true, DeferIndex: true}, lcm.WithoutBackground())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, record.Close(ctx)) }()
	stats, err := record.DB.Stats(ctx)
	if err != nil || stats.Messages >= int64(b.Messages) {
		return stats.Messages, err
	}
	here, err := project.Of(b.work)
	if err != nil {
		return 0, err
	}
	messages := sample.Messages()
	for i := 0; int(n) < b.Messages; i++ {
		b.Progress.Tell(n, int64(b.Messages), "messages")
		in := here
		if i%10 > 0 {
			in = store.Project{Root: fmt.Sprintf("/elsewhere/%d", i%50)}
		}
		if err := record.Engine.Session(fmt.Sprintf("bench/%d", i), lcm.WithProject(in), lcm.WithAgent("claude")).Append(ctx, messages...); err != nil {
			return n, err
		}
		n += int64(len(messages))
	}
	b.Progress.Tell(n, n, "index")
	return n, record.DB.Reindex(ctx)
}

// grow adds the records of a turn to the transcript.
func (b *bench) grow() error {
	f, err := os.OpenFile(b.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, line := range []string{
		`{"type":"user","uuid":"%s","parentUuid":%s,"sessionId":"%s","cwd":%q,"timestamp":"%s","message":{"role":"user","content":"and what of part %d?"}}`,
		`{"type":"assistant","uuid":"%s","parentUuid":%s,"sessionId":"%s","cwd":%q,"timestamp":"%s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"It is part %d."}]}}`,
	} {
		parent := "null"
		if b.records > 0 {
			parent = fmt.Sprintf("%q", uuid(b.records-1))
		}
		if _, err := fmt.Fprintf(f, line+"\n", uuid(b.records), parent, session, b.work, time.Now().UTC().Format(time.RFC3339Nano), b.records); err != nil {
			return err
		}
		b.records++
	}
	return nil
}

func uuid(n int) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%08x%04x", n, os.Getpid()&0xffff)
}

// event is the input of a hook, with one field of its own.
func (b *bench) event(name, session, field, value string) string {
	return fmt.Sprintf(`{"hook_event_name":%q,"session_id":%q,"transcript_path":%q,"cwd":%q,%q:%q}`, name, session, b.transcript, b.work, field, value)
}

// prompts refer to messages of the bundled session.
var prompts = []string{
	"what rate did we agree on for Nordpil, and why not 10 per second?",
	"the webhook order test is flaky again, how did we fix the dispatcher last time?",
	"which change request did we file for the canary?",
	"remind me why we chose a lease per carrier",
	"did we decide to keep old cursors working for the shops?",
}

// taken has the durations and the processor times of the runs of a command.
type taken struct{ wall, cpu []time.Duration }

// run starts the program as a host does, with the event of a hook or else as `lcm
// version`, and notes its times. It reports whether a hook told the host something.
func (b *bench) run(ctx context.Context, t *taken, event string) (told bool, err error) {
	args := []string{"hook", "claude"}
	if event == "" {
		args = []string{"version"}
	}
	c := exec.CommandContext(ctx, b.Binary, args...)
	c.Dir, c.Stdin = b.work, strings.NewReader(event)
	c.Env = append(os.Environ(), "HOME="+b.home, "LCM_DATABASE_PATH="+b.db, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "CLAUDE_CONFIG_DIR=", "LCM_CHILD=")
	begun := time.Now()
	out, err := c.Output()
	if err != nil {
		return false, err
	}
	t.wall = append(t.wall, time.Since(begun))
	t.cpu = append(t.cpu, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
	return bytes.Contains(out, []byte("lcm-context")), nil
}
