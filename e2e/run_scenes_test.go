//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runScene is something that users do. It returns the answers that they see.
type runScene struct {
	name  string
	hosts string // the hosts that can do it without a terminal
	play  func(b *runBed) []outcome
}

// The scenes have histories that are longer than sceneBudget.
const sceneBudget = 70_000

// In Claude Code /clear and /compact are prompts, and flags go back to a message. Codex and
// opencode have commands for them only in their own user interfaces: "compact", "rewind",
// "fork", "clear", "escape" and "sessions" drive the servers behind these. Claude Code's prompt mode
// has one session in a process, and Esc only as Ctrl-C, so that "escape" and "sessions" are
// not played in it.
var runScenes = []runScene{
	{"resume", "claude codex opencode", func(b *runBed) []outcome {
		return []outcome{b.ask("Print logs. play:read10a"), b.goOn("Again. play:read10b"), b.goOn("Once more. play:read3c")}
	}},
	{"parallel", "claude codex opencode", func(b *runBed) []outcome {
		return []outcome{b.ask("Print logs. play:parallel6")}
	}},
	{"image", "claude codex opencode", func(b *runBed) []outcome {
		return []outcome{b.ask("Look. play:image12")}
	}},
	{"429", "claude codex opencode", func(b *runBed) []outcome { return faulty(b, 429) }},
	{"500", "claude codex opencode", func(b *runBed) []outcome { return faulty(b, 500) }},
	{"529", "claude codex opencode", func(b *runBed) []outcome { return faulty(b, 529) }},
	{"cut", "claude codex opencode", func(b *runBed) []outcome { return []outcome{b.ask("Print logs. play:cut1")} }},
	{"agents", "claude codex opencode", func(b *runBed) []outcome { return []outcome{b.ask("Delegate. play:agent10")} }},
	{"two", "claude codex opencode", func(b *runBed) []outcome {
		first, second := b.command("Print logs. play:read12a", false), b.command("Print logs. play:read11b", false)
		return both(func() outcome { return b.turn(first) }, func() outcome { return b.turn(second) })
	}},
	{"sessions", "codex opencode", func(b *runBed) []outcome {
		s := b.openScreen()
		one, other := s.begin(), s.begin()
		outcomes := both(func() outcome { return s.say(one, "Print logs. play:read12a") }, func() outcome { return s.say(other, "Print logs. play:read11b") })
		return append(outcomes, s.say(one, "Again. play:read3c"), s.say(other, "Again. play:read2d"))
	}},
	{"interrupt", "claude codex opencode", interrupted},
	{"escape", "codex opencode", func(b *runBed) []outcome {
		s := b.openScreen()
		session := s.begin()
		first := s.interrupt(session, "Print logs. play:slow1a", func() { b.awaitStep(9) })
		return []outcome{first, s.say(session, "Go on. play:read4b")}
	}},
	{"compact", "claude codex opencode", compacted},
	{"rewind", "claude codex opencode", rewound},
	{"fork", "claude codex opencode", forked},
	{"clear", "claude codex opencode", cleared},
}

// both plays two turns at once.
func both(turns ...func() outcome) []outcome {
	outcomes := make([]outcome, len(turns))
	var wait sync.WaitGroup
	for i, turn := range turns {
		wait.Go(func() { outcomes[i] = turn() })
	}
	wait.Wait()
	return outcomes
}

// TestRunScenes plays each scene without lcm and with it. The user sees the same,
// the hosts run the same commands, and the API accepts each request.
func TestRunScenes(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		for _, s := range runScenes {
			if !slices.Contains(strings.Fields(s.hosts), h.name()) {
				continue
			}
			t.Run(h.name()+"/"+s.name, func(t *testing.T) {
				// A start of opencode takes ten seconds.
				if h.name() == "opencode" && s.name != "resume" && os.Getenv(longEnv) == "" {
					t.Skip(longEnv + " is not set")
				}
				plain, plainOutputs := playScene(t, h, s, nil)
				if os.Getenv(plainEnv) != "" {
					return
				}
				through, outputs := playScene(t, h, s, proxied(sceneBudget))
				for i := range plain {
					if s.name == "interrupt" && i == 0 {
						continue // Claude Code ends with 0 or 1, as it happens
					}
					if plain[i].Code != through[i].Code || plain[i].Answer != through[i].Answer {
						t.Errorf("turn %d ends with %d %q, and through lcm with %d %q\n%s", i, plain[i].Code, plain[i].Answer, through[i].Code, through[i].Answer, tail(through[i].log))
					}
				}
				if p, q := strings.Join(plainOutputs, "\n"), strings.Join(outputs, "\n"); p != q {
					t.Errorf("the outputs are\n%s\nand through lcm\n%s", p, q)
				}
			})
		}
	}
}

// plainEnv leaves out the runs through lcm.
const plainEnv = "LCM_E2E_PLAIN"

func playScene(t *testing.T, h agent, s runScene, wrap []string) ([]outcome, []string) {
	name := "plain"
	if wrap != nil {
		name = "lcm"
	}
	var outcomes []outcome
	var outputs []string
	t.Run(name, func(t *testing.T) {
		b := newRunBed(t, h, wrap, apiOptions{})
		b.logs(40, 28_000)
		if h.name() == "claude" {
			b.flags = []string{"--model", "claude-sonnet-4-6"}
		}
		outcomes = s.play(b)
		outputs = b.outputs()
		for i, o := range outcomes {
			t.Logf("turn %d: %d %q", i, o.Code, o.Answer)
			// Codex does not try again after 429.
			if o.Code != 0 && s.name != "interrupt" && s.name != "escape" && h.name()+s.name != "codex429" {
				t.Errorf("turn %d failed: %s", i, tail(o.log))
			}
		}
		sum := b.totals()
		b.valid()
		if wrap == nil {
			return
		}
		typed := 0
		if s.name == "compact" && h.name() != "claude" {
			typed = 1 // it asks the model
		}
		if sum.Compactions != typed {
			t.Errorf("the model was asked for %d compactions, not %d", sum.Compactions, typed)
		}
		for i, r := range b.api.Records() {
			if r.Tokens > sceneBudget && r.Kind == mainRequest {
				t.Errorf("request %d (play %s, step %d) has %d tokens", i, r.Play, r.Step, r.Tokens)
			}
		}
	})
	return outcomes, outputs
}

func tail(log string) string { return log[max(0, len(log)-3000):] }

// faulty has the API fail in the middle of a turn, then goes on.
func faulty(b *runBed, status int) []outcome {
	b.Helper()
	return []outcome{b.ask(fmt.Sprintf("Print logs. play:fault%d", status)), b.goOn("Again. play:read3b")}
}

// interrupted presses Ctrl-C while a command runs, then goes on.
func interrupted(b *runBed) []outcome {
	b.Helper()
	c := b.prepared(b.command("Print logs. play:slow1a", false))
	first := b.wait(c, func() error {
		b.start(c)
		b.awaitStep(9)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGINT) // as a terminal does: to the whole group
		return c.Wait()
	})
	return []outcome{first, b.goOn("Go on. play:read4b")}
}

// awaitStep waits until the host runs the command of a step.
func (b *runBed) awaitStep(n int) {
	b.Helper()
	b.await(func(r apiRecord) bool { return r.Step == n })
	time.Sleep(time.Second)
}

// compacted types /compact.
func compacted(b *runBed) []outcome {
	b.Helper()
	if b.agent.name() == "claude" {
		return []outcome{b.ask("Print logs. play:read10a"), b.goOn("/compact"), b.goOn("Again. play:read10b")}
	}
	s := b.openScreen()
	session := s.begin()
	return []outcome{s.say(session, "Print logs. play:read10a"), s.compact(session), s.say(session, "Again. play:read10b")}
}

// rewound goes back to the middle of a session and on from there.
func rewound(b *runBed) []outcome {
	b.Helper()
	if b.agent.name() != "claude" {
		s := b.openScreen()
		session := s.begin()
		outcomes := []outcome{s.say(session, "Print logs. play:read4a"), s.say(session, "Again. play:read3b"), s.say(session, "And again. play:read8c")}
		s.undo(session, 2)
		return append(outcomes, s.say(session, "Another way. play:read9d"), s.say(session, "Go on. play:read2e"))
	}
	first := b.ask("Print logs. play:read12a")
	session, at := b.onlySession(), ""
	for _, line := range b.lines(".claude/projects/*/*.jsonl") {
		var record struct {
			Type, UUID string
			Message    struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(line, &record); err != nil {
			b.Fatal(err)
		}
		if record.Type == "user" && strings.Contains(string(record.Message.Content), "_read12a_3_") {
			at = record.UUID
		}
	}
	if at == "" {
		b.Fatal("the transcript has no result of the fourth step")
	}
	again := b.turn(b.command("Another way. play:read9b", false, "--resume", session, "--resume-session-at", at))
	return []outcome{first, again, b.turn(b.command("Go on. play:read2c", false, "--resume", session))}
}

// onlySession is the id of the only session of Claude Code.
func (b *runBed) onlySession() string {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(b.home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		b.Fatalf("not one session: %v %v", found, err)
	}
	return strings.TrimSuffix(filepath.Base(found[0]), ".jsonl")
}

// forked starts a second session from the middle of one, and goes on with both.
func forked(b *runBed) []outcome {
	b.Helper()
	if b.agent.name() == "claude" {
		first := b.ask("Print logs. play:read8a")
		session := b.onlySession()
		return []outcome{
			first,
			b.turn(b.command("Another way. play:read6b", false, "--resume", session, "--fork-session")),
			b.turn(b.command("Go on. play:read4c", false, "--resume", session)),
		}
	}
	s := b.openScreen()
	session := s.begin()
	outcomes := []outcome{s.say(session, "Print logs. play:read4a"), s.say(session, "Again. play:read3b"), s.say(session, "And again. play:read8c")}
	other := s.fork(session, 2)
	return append(outcomes, s.say(other, "Another way. play:read9d"), s.say(session, "Go on. play:read2e"), s.say(other, "Go on. play:read3f"))
}

// cleared gives one process several prompts, with /clear between them.
func cleared(b *runBed) []outcome {
	b.Helper()
	if b.agent.name() != "claude" {
		s := b.openScreen()
		first := s.say(s.begin(), "Print logs. play:read8a")
		return []outcome{first, s.say(s.begin(), "Print logs. play:read9b")}
	}
	line := slices.Concat(b.wrap, []string{claudeAgent{}.program(b.bed), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", claudeTools}, b.flags)
	c := exec.CommandContext(b.Context(), line[0], line[1:]...)
	c.Dir, c.Env = b.work, b.env
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	var outcomes []outcome
	events := json.NewDecoder(out)
	for _, prompt := range []string{"Print logs. play:read8a", "/clear", "Print logs. play:read9b"} {
		if err := json.NewEncoder(in).Encode(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}}); err != nil {
			b.Fatal(err)
		}
		var event struct{ Type, Result string }
		for event.Type != "result" {
			event.Type = ""
			if err := events.Decode(&event); err != nil {
				b.Fatalf("%s: %v", prompt, err)
			}
		}
		outcomes = append(outcomes, outcome{Answer: event.Result})
	}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	if err := c.Wait(); err != nil {
		b.Errorf("the host ends with %v", err)
	}
	return outcomes
}
