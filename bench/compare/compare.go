// Package compare runs two programs lcm in turns on the same generated sessions and compares
// what they cost: everything that a person or an agent waits for, as it is served.
//
// It counts processor time, of a command at its end and of a running server in /proc, so that
// other work on the machine matters little. Beside it stand the bytes that a program read,
// which tell whether it reads more messages.
package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
)

// Options adjust a run.
type Options struct {
	Base, Binary string // the programs
	Records      int    // of the sessions that are imported
	Rounds       int
	Only         string // rows whose name has this
	Progress     harness.Progress
}

// Cost is what one run of a row took.
type Cost struct {
	CPU  float64 `json:"ms"`     // milliseconds of processor time
	Read float64 `json:"readMB"` // from files and pipes, cached or not
}

// Row compares one thing that is waited for. A program that cannot do it has no cost.
type Row struct {
	Name  string   `json:"name"`
	Costs [2]*Cost `json:"costs"` // of the base and of this program
	Error string   `json:"error,omitempty"`
}

// Report is the result of a run.
type Report struct {
	Records int   `json:"records"`
	Bytes   int64 `json:"bytes"`
	Rounds  int   `json:"rounds"`
	Rows    []Row `json:"rows"`
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records, %.0f MB; processor time, the least of %d rounds in turns\n\n", r.Records, float64(r.Bytes)/1e6, r.Rounds)
	fmt.Fprintf(&b, "%-30s %9s %9s %6s %9s %8s\n", "", "base, ms", "this, ms", "ratio", "MB read", "MB read")
	for _, row := range r.Rows {
		cells := []string{"–", "–", "–", "–", "–"}
		for i, c := range row.Costs {
			if c != nil {
				cells[i], cells[i+3] = fmt.Sprintf("%.1f", c.CPU), fmt.Sprintf("%.1f", c.Read)
			}
		}
		if base, this := row.Costs[0], row.Costs[1]; base != nil && this != nil {
			cells[2] = fmt.Sprintf("%.2f", this.CPU/base.CPU)
		}
		fmt.Fprintf(&b, "%-30s %9s %9s %6s %9s %8s  %s\n", row.Name, cells[0], cells[1], cells[2], cells[3], cells[4], row.Error)
	}
	return b.String()
}

// Measure makes the sessions and runs every row.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	m, err := load()
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "lcm-bench-compare-*")
	if err != nil {
		return r, err
	}
	var sides []*side
	defer func() {
		for _, s := range sides {
			for _, p := range s.servers {
				p.end()
			}
		}
		time.Sleep(time.Second) // hooks leave work to processes that end by themselves
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	r = Report{Records: o.Records, Rounds: o.Rounds}
	for i, binary := range []string{o.Base, o.Binary} {
		if binary, err = filepath.Abs(binary); err == nil {
			_, err = exec.LookPath(binary)
		}
		if err != nil {
			return r, err
		}
		sides = append(sides, newSide(m, binary, filepath.Join(dir, fmt.Sprint(i))))
		if r.Bytes, err = sides[i].write(o.Records); err != nil {
			return r, err
		}
	}
	for _, t := range tasks {
		if !strings.Contains(t.name, o.Only) && t.name != importing {
			continue
		}
		row, failed := Row{Name: t.name}, [2]error{}
		for n := range 2 * o.Rounds {
			i := n % 2
			if failed[i] != nil {
				continue
			}
			o.Progress.Say("%s, round %d", t.name, n/2+1)
			var c Cost
			if c, failed[i] = t.run(ctx, sides[i]); failed[i] != nil {
				row.Costs[i], row.Error = nil, row.Error+"("+failed[i].Error()+") "
			} else if row.Costs[i] == nil || c.CPU < row.Costs[i].CPU {
				row.Costs[i] = &c
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r, ctx.Err()
}

// side is a program with a home directory of its own.
type side struct {
	material
	binary, home, work string
	open               *transcript // of the session whose hooks run
	events             int
	servers            map[string]*server
}

func newSide(m material, binary, home string) *side {
	return &side{material: m, binary: binary, home: home, work: filepath.Join(home, "work"), servers: map[string]*server{}}
}

// write writes the sessions: one with half of the records, and others with 400 each.
func (s *side) write(records int) (size int64, err error) {
	for n, left := uint64(1), records; left > 0 && err == nil; n++ {
		count := min(left, 400)
		if n == 1 {
			count = (records + 1) / 2
		}
		s.open = s.newTranscript(s.home, s.work, n, 100)
		if err = s.open.grow(count); err == nil {
			info, _ := os.Stat(s.open.path)
			size, left = size+info.Size(), left-count
		}
	}
	return size, errors.Join(err, os.MkdirAll(s.work, 0o700))
}

// command is the program as a shell in the project starts it.
func (s *side) command(ctx context.Context, database string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.binary, args...)
	c.Dir = s.work
	c.Env = []string{"PATH=" + s.home + ":" + os.Getenv("PATH"), "HOME=" + s.home, "LCM_DATABASE_PATH=" + filepath.Join(s.home, database), "LCM_BACKGROUND_COMPACTION=off"}
	return c
}

// run runs a command to its end.
func run(c *exec.Cmd) (cost Cost, err error) {
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return cost, err
	}
	_, _ = io.Copy(io.Discard, out)
	cost.Read = spent(c.Process.Pid).Read // until Wait the process is listed
	if err = c.Wait(); err != nil {
		line, _, _ := strings.Cut(said.String(), "\n")
		err = fmt.Errorf("%w: %s", err, line)
	}
	cost.CPU = float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime()) / 1e6
	return cost, err
}

// spent is what a process has taken so far. The times of its threads are finer than the
// hundredths of a second in its stat.
func spent(pid int) (c Cost) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		var ns float64
		text, _ := os.ReadFile(thread)
		_, _ = fmt.Sscan(string(text), &ns)
		c.CPU += ns / 1e6
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, _ = fmt.Sscanf(string(text), "rchar: %f", &c.Read)
	c.Read /= 1e6
	return c
}
