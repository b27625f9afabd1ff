//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// engined is an agent whose context lcm owns by an adapter (docs/ENGINE.md).
type engined interface {
	agent
	// engineLine is the command line of a turn, in a new session or in the newest one.
	engineLine(b *bed, prompt string, goOn bool) []string
	// adapter is the file of the adapter that setup writes.
	adapter(b *bed) string
}

// engineWindow is the window of the agents' model, and engineBudget what is left of it for
// the messages, with the system prompt and tools.
const (
	engineWindow = 128_000
	engineBudget = 100_000
)

// TestEngine plays long turns in the agents with an adapter, without lcm and with it, and what
// may go wrong with the engine. LCM_E2E_HOST names one of them.
func TestEngine(t *testing.T) {
	var chosen []engined
	for _, h := range slices.Concat(agents, added) {
		if e, ok := h.(engined); ok && (os.Getenv("LCM_E2E_HOST") == h.name() || os.Getenv("LCM_E2E_HOST") == "all") {
			chosen = append(chosen, e)
			programsOf(t, h) // while there is a network
		}
	}
	if len(chosen) == 0 {
		t.Skip("LCM_E2E_HOST names no agent with an adapter")
	}
	if !withoutNetwork(t) {
		return
	}
	for _, h := range chosen {
		t.Run(h.name()+"/long", func(t *testing.T) { engineLong(t, h) })
		t.Run(h.name()+"/faults", func(t *testing.T) { engineFaults(t, h) })
		if h.name() != "openclaw" { // it keeps a long turn to itself
			t.Run(h.name()+"/killed", func(t *testing.T) { engineKilled(t, h) })
		}
		switch h := h.(type) {
		case piAgent:
			t.Run("pi/open", func(t *testing.T) { enginePi(t, h) })
		case opencodeAgent:
			t.Run("opencode/open", func(t *testing.T) { engineOpencode(t, h) })
		}
	}
}

// newEngineBed makes a bed with an agent that is set up.
func newEngineBed(t *testing.T, h engined, setup bool, logs int) *runBed {
	t.Helper()
	b := newRunBed(t, h, nil, apiOptions{Window: func(string, http.Header) int { return engineWindow }})
	b.logs(logs, 28_000)
	b.smallWindow(h)
	if setup {
		b.run(b.lcm, "setup", h.name(), "--yes")
	}
	return b
}

// engineLong plays a session of 500,000 tokens.
func engineLong(t *testing.T, h engined) {
	if h.name() == "openclaw" {
		engineTurns(t, h)
		return
	}
	const logs = 75
	prompt := fmt.Sprintf("Read the logs, then say what opens the harbour gate. play:recall%d", logs)
	plain := newEngineBed(t, h, false, logs)
	o := plain.ask(prompt)
	t.Logf("without lcm: %d %q", o.Code, o.Answer)
	alone := plain.totals()
	b := newEngineBed(t, h, true, logs)
	o = b.ask(prompt)
	sum := b.totals()
	b.valid()
	if o.Code != 0 || o.Answer != "The gate opens with "+needle+", says lcm_grep." {
		t.Errorf("%d %q: %s", o.Code, o.Answer, tail(o.log))
	}
	if sum.Compactions > 0 || sum.Largest > engineBudget {
		t.Errorf("%d compactions, largest request %d tokens of %d", sum.Compactions, sum.Largest, engineBudget)
	}
	checkCache(t, b.api.Records())
	b.stored(h.records(b.bed))
	b.exported(h)
	t.Logf("cost %.2f of plain", sum.Cost/alone.Cost)
}

// engineTurns plays a session of several turns, in OpenClaw: the messages of the turn that is
// going on are not the engine's. The last turn alone does not fit the window: the API refuses a
// request of it, and the engine compacts.
func engineTurns(t *testing.T, h engined) {
	b := newEngineBed(t, h, true, 20)
	began := time.Now()
	for n := range 4 {
		prompt := fmt.Sprintf("Read the logs. play:read5%s", letters(n))
		if o := b.turn(b.command(prompt, n > 0)); o.Code != 0 || !strings.Contains(o.log, "That were 5 logs.") {
			t.Fatalf("turn %d: %d %s", n, o.Code, tail(o.log))
		}
	}
	sum := b.totals()
	b.valid()
	if sum.Compactions > 0 || sum.Largest > engineBudget {
		t.Errorf("%d compactions, largest request %d tokens of %d", sum.Compactions, sum.Largest, engineBudget)
	}
	o := b.turn(b.command("Read the logs, then say what opens the harbour gate. play:recall18", true))
	if o.Code != 0 || !strings.Contains(o.log, "The gate opens with "+needle) {
		t.Errorf("%d %s", o.Code, tail(o.log))
	}
	if sum = b.totals(); sum.Compactions > 0 || len(sum.Refused) > 2 {
		t.Errorf("%d compactions, refused: %q", sum.Compactions, sum.Refused)
	}
	t.Logf("%.0fs", time.Since(began).Seconds())
	b.stored(h.records(b.bed))
	b.exported(h)
}

const (
	fullDisk = "full disk"
	locked   = "locked"
)

// lockRecord keeps others from writing to the database until its result is called.
func (b *runBed) lockRecord() (unlock func()) {
	b.Helper()
	db, err := sqlite3.Open(filepath.Join(b.home, ".local", "share", "lcm", "lcm.db"))
	if err == nil {
		err = db.Exec("PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE")
	}
	if err != nil {
		b.Fatal(err)
	}
	return func() { _ = db.Close() }
}

var adapterCommand = regexp.MustCompile(`(?m)^const (COMMAND|ENGINE) = .*$`)

// engineFaults replaces the engine by programs that do not work: the agent goes on each time,
// the fault is said once, and nothing is missing when the engine works again.
func engineFaults(t *testing.T, h engined) {
	for name, command := range map[string]string{
		"hangs":    `["sleep","1000"]`,
		"rubbish":  `["sh","-c","while read l; do echo rubbish; done"]`,
		"missing":  `["/nowhere/lcm"]`,
		"dies":     `["sh","-c","read l; exit 1"]`,
		"half way": `["sh","-c","read l; echo '{\"id\":1,\"ok\":{\"tools\":[]}}'; sleep 1000"]`,
		fullDisk:   `["sh","-c","ulimit -f 0; exec \"$0\" engine","` + os.Getenv(lcmEnv) + `"]`, // no file grows
		locked:     `["` + os.Getenv(lcmEnv) + `","engine"]`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newEngineBed(t, h, true, 14)
			works := name == fullDisk || name == locked // but for writing
			if works {
				b.ask("Print a log. play:read1z") // there is a database
			}
			file := h.adapter(b.bed)
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := adapterCommand.ReplaceAllFunc(script, func(line []byte) []byte {
				if !strings.Contains(string(line), "\"engine\"") {
					return line
				}
				before, _, _ := strings.Cut(string(line), " = ")
				return []byte(before + " = " + command)
			})
			b.write(file, string(changed))
			unlock := func() {}
			if name == locked {
				unlock = b.lockRecord()
			}
			began := time.Now()
			o := b.ask("Print the logs. play:read14")
			unlock()
			if o.Code != 0 || !strings.Contains(o.log, "That were 14 logs.") {
				t.Errorf("%d %q: %s", o.Code, o.Answer, tail(o.log))
			}
			said := o.log
			if in, ok := h.(interface{ told(*bed) string }); ok {
				said = in.told(b.bed)
			}
			if n := strings.Count(said, "lcm is not used for now"); n > 1 || n == 0 && !works {
				t.Errorf("it is said %d times: %s", n, said)
			}
			b.valid()
			t.Logf("%.1fs for %d requests", time.Since(began).Seconds(), b.totals().Requests)
			b.write(file, string(script)) // it is mended
			if o := b.goOn("Go on. play:read1"); o.Code != 0 {
				t.Errorf("%d: %s", o.Code, tail(o.log))
			}
			b.stored(h.records(b.bed))
			b.exported(h)
		})
	}
}

// engineKilled kills the engine again and again in the middle of a turn: every request is
// valid, most are below the budget, and the record has each message once.
func engineKilled(t *testing.T, h engined) {
	b := newEngineBed(t, h, true, 40)
	b.pace = 200 * time.Millisecond
	done := make(chan outcome)
	go func() { done <- b.ask("Read the logs, then say what opens the harbour gate. play:recall40") }()
	killed := 0
	var o outcome
	for ended := false; !ended; {
		select {
		case o = <-done:
			ended = true
		case <-time.After(300 * time.Millisecond):
			if killed < kills && len(b.api.Records()) > 12 {
				killed += b.killEngines()
			}
		}
	}
	if o.Code != 0 || !strings.HasPrefix(o.Answer, "The gate opens with "+needle) {
		t.Errorf("%d %q: %s", o.Code, o.Answer, tail(o.log))
	}
	b.valid()
	sum := b.totals()
	above := 0
	for _, r := range b.api.Records() {
		if r.Tokens > engineBudget {
			above++
		}
	}
	t.Logf("killed %d times; %d of %d requests are above the budget", killed, above, sum.Requests)
	if killed < kills/2 || above > 0 {
		t.Errorf("killed %d times, %d requests above the budget", killed, above)
	}
	b.goOn("Go on. play:read1")
	b.stored(h.records(b.bed))
	b.exported(h)
}

// killEngines kills the engines of this bed, and returns how many these were.
func (b *runBed) killEngines() (n int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range found {
		line, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(line), b.lcm+"\x00engine\x00") {
			continue
		}
		if env, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ")); err != nil || !strings.Contains(string(env), "HOME="+b.home+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}
