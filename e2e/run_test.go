//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runBed is a bed whose agent talks to a strict API, directly or through lcm.
type runBed struct {
	*bed
	agent agent
	api   *strictAPI
	// unreasoned leaves out the model's reasoning, unspoken the texts beside its calls.
	unreasoned, unspoken bool
	pace                 time.Duration // of the model

	mu      sync.Mutex
	results map[string]string // the outputs that the API was given, by play and step
}

// proxied is the command before that of an agent, for a budget of tokens.
func proxied(budget int) []string {
	return []string{os.Getenv(lcmEnv), "run", "--budget", fmt.Sprint(budget), "--"}
}

// newRunBed makes a bed with a strict API and an agent that is set up for it.
// wrap is the command before the agent's, or nil.
func newRunBed(t *testing.T, h agent, wrap []string, o apiOptions) *runBed {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	b := &runBed{bed: emptyBed(t, home, filepath.Join(home, "project")), agent: h, results: map[string]string{}}
	b.programs = programsOf(t, h)
	if o.Script == nil {
		o.Script = b.perform
	}
	seen := o.Seen
	o.Seen = func(r apiRecord, body []byte) {
		if seen != nil {
			seen(r, body)
		}
		if dir := os.Getenv("LCM_E2E_DUMP"); dir != "" {
			b.dump(dir, r, body)
		}
	}
	b.api = newStrictAPI(o)
	server := httptest.NewServer(b.api)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url, b.wrap = server.URL, wrap
	h.prepare(b.bed)
	b.env = append(b.env, "LCM_LOG_LEVEL=debug", "LCM_LOG_FILE="+filepath.Join(home, "lcm.log"))
	if dir := os.Getenv("LCM_E2E_DUMP"); dir != "" {
		t.Cleanup(func() {
			_ = os.CopyFS(filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-"), "home"), os.DirFS(home)) // as far as it goes
		})
	}
	return b
}

// dump keeps a request and its record, for a person to look at.
func (b *runBed) dump(dir string, r apiRecord, body []byte) {
	dir = filepath.Join(dir, strings.ReplaceAll(b.Name(), "/", "-"))
	_ = os.MkdirAll(dir, 0o755)
	n := len(b.dumped(dir))
	_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.json", n)), body, 0o600)
	f, err := os.OpenFile(filepath.Join(dir, "records"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%04d %s %s %s %s step %d items %d tokens %d prefix %d read %d written %d fault %d %s\n",
		n, r.Path, r.Kind, r.Agent, r.Play, r.Step, r.Items, r.Tokens, r.Prefix, r.Read, r.Written, r.Fault, r.Refused)
}

func (b *runBed) dumped(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	return found
}

// outcome is the part of a turn that a person sees.
type outcome struct {
	Code   int
	Answer string
	log    string // everything that was printed
}

// ask starts a session with a prompt; goOn continues the newest one.
func (b *runBed) ask(prompt string, more ...string) outcome {
	b.Helper()
	return b.turn(b.command(prompt, false, more...))
}

func (b *runBed) goOn(prompt string, more ...string) outcome {
	b.Helper()
	return b.turn(b.command(prompt, true, more...))
}

// runner is an added agent that `lcm run` can start.
type runner interface {
	agent
	// line is the command line of a turn, in a new session or in the newest one.
	line(b *bed, prompt string, goOn bool) []string
}

// claudeTools are the tools that Claude Code may use in a run. lcm's own are not among them.
const claudeTools = "Bash,Read,Agent"

// command is the command line of a turn.
func (b *runBed) command(prompt string, goOn bool, more ...string) []string {
	var args []string
	switch h := b.agent.(type) {
	case claudeAgent:
		args = []string{h.program(b.bed), "-p", prompt, "--output-format", "json"}
		if !slices.Contains(b.flags, "--permission-mode") && !slices.Contains(b.flags, "--allowedTools") {
			args = append(args, "--allowedTools", claudeTools)
		}
		if goOn {
			args = append(args, "--continue")
		}
	case codexAgent:
		args = []string{h.program(b.bed), "exec"}
		if goOn {
			args = append(args, "resume", "--last")
		}
		args = append(args, "--skip-git-repo-check", "-c", "tool_output_token_limit=9000", "-c", "model_context_window=200000", prompt)
	case opencodeAgent:
		args = []string{h.program(b.bed), "run"}
		if goOn {
			args = append(args, "--continue")
		}
		args = append(args, prompt)
	case engined:
		args = h.engineLine(b.bed, prompt, goOn)
	case runner:
		args = h.line(b.bed, prompt, goOn)
	default:
		b.Fatalf("unknown agent %s", b.agent.name())
	}
	return slices.Concat(b.wrap, args, b.flags, more)
}

// longPatience is how long a turn of many steps may take on a busy machine.
const longPatience = 15 * time.Minute

// turn runs a command line to its end.
func (b *runBed) turn(line []string) outcome {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), longPatience)
	defer cancel()
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Dir, c.Env = b.work, b.env
	return b.wait(c, c.Run)
}

// prepared is a command line with a process group of its own.
func (b *runBed) prepared(line []string) *exec.Cmd {
	b.Helper()
	c := exec.Command(line[0], line[1:]...)
	c.Dir, c.Env = b.work, b.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// start starts a command. Its process group ends with the test.
func (b *runBed) start(c *exec.Cmd) {
	b.Helper()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }) // it may have ended
}

// wait runs a command with the given function and returns its outcome.
func (b *runBed) wait(c *exec.Cmd, run func() error) outcome {
	b.Helper()
	var stdout, all bytes.Buffer
	var mu sync.Mutex
	c.Stdout, c.Stderr = writers{&mu, []*bytes.Buffer{&stdout, &all}}, writers{&mu, []*bytes.Buffer{&all}}
	err := run()
	o := outcome{Answer: b.answer(stdout.String()), log: all.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.Code = exit.ExitCode()
	case err != nil:
		b.Errorf("%s: %v", c.Path, err)
	}
	return o
}

// await waits for a request that fits.
func (b *runBed) await(fits func(apiRecord) bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if slices.ContainsFunc(b.api.Records(), fits) {
			return
		}
	}
	b.Fatal("the host does not send the request that the test waits for")
}

// writers is a writer to several buffers under one lock.
type writers struct {
	mu  *sync.Mutex
	all []*bytes.Buffer
}

func (w writers) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.all {
		b.Write(p)
	}
	return len(p), nil
}

var (
	escape = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// uncertain are the parts of an output that differ from run to run.
	uncertain = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|(?m:^(Chunk ID|Wall time|Process exited|Original token count).*\n?)|(?s)<system-reminder>.*</system-reminder>`)
)

// answer is the model's last text, as the host prints it.
func (b *runBed) answer(stdout string) string {
	if _, ok := b.agent.(claudeAgent); ok {
		var result struct{ Result string }
		if json.Unmarshal([]byte(stdout), &result) == nil {
			return result.Result
		}
	}
	lines := strings.Split(strings.TrimSpace(escape.ReplaceAllString(stdout, "")), "\n")
	return lines[len(lines)-1]
}

// note keeps the outputs that a host sent for a step.
func (b *runBed) note(s playStep) {
	if len(s.Results) == 0 {
		return
	}
	var all []string
	for _, r := range s.Results {
		text := strings.TrimSpace(uncertain.ReplaceAllString(strings.ReplaceAll(r.Text, b.home, "~"), ""))
		if strings.Contains(r.Tool, "gent") || r.Tool == "task" {
			text = "" // it tells times and tokens
		}
		all = append(all, fmt.Sprintf("%s %d bytes %x", r.Tool, len(text), sha256.Sum256([]byte(text)))[:60])
	}
	slices.Sort(all) // parallel commands end in any order
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[fmt.Sprintf("%s/%d", s.Play, s.Number)] = strings.Join(all, "; ")
}

// outputs are the outputs that the host sent, in the order of their steps.
func (b *runBed) outputs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for step, result := range b.results {
		all = append(all, step+": "+result)
	}
	slices.Sort(all)
	return all
}

// totals sums up the requests so far. It fails the test if one was refused.
func (b *runBed) totals() apiTotals {
	b.Helper()
	t := sumRecords(b.api.Records())
	b.Log(t)
	return t
}

// valid fails the test if the API refused a request.
func (b *runBed) valid() {
	b.Helper()
	for i, r := range b.api.Records() {
		if r.Refused != "" {
			b.Errorf("request %d (%s, play %s, step %d, %d tokens) is refused: %s", i, r.Kind, r.Play, r.Step, r.Tokens, r.Refused)
		}
	}
}

// apiTotals sums up records.
type apiTotals struct {
	Requests    int // main requests that were answered
	Compactions int
	Faults      int
	Refused     []string
	Largest     int // tokens of the largest accepted request
	Read        int
	Written     int
	Input       int
	Cost        float64
}

// sumRecords returns the totals of records.
func sumRecords(records []apiRecord) apiTotals {
	var t apiTotals
	for _, r := range records {
		switch {
		case r.Refused != "":
			t.Refused = append(t.Refused, r.Refused)
			continue
		case r.Fault != 0:
			t.Faults++
			continue
		case r.Kind == countRequest, r.Kind == otherRequest:
			continue
		case r.Kind == mainRequest:
			t.Requests++
		case r.Kind == compactionRequest:
			t.Compactions++
		}
		t.Largest = max(t.Largest, r.Tokens)
		t.Read, t.Written, t.Input, t.Cost = t.Read+r.Read, t.Written+r.Written, t.Input+r.Input(), t.Cost+r.Cost()
	}
	return t
}

func (t apiTotals) String() string {
	return fmt.Sprintf("%d requests, largest %d tokens, %d compactions, %d faults, %d refused, cost %.0f (input %d, read %d, written %d)",
		t.Requests, t.Largest, t.Compactions, t.Faults, len(t.Refused), t.Cost, t.Input, t.Read, t.Written)
}
