//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/strictapi"
)

// runScene is something that users do. It returns what they see.
type runScene struct {
	name  string
	hosts string // those that it is played in
	play  func(b *runBed) []outcome
}

// The scenes have histories that are longer than sceneBudget.
const sceneBudget = 70_000

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
	{"529", "claude", func(b *runBed) []outcome { return faulty(b, 529) }},
	{"cut", "claude codex opencode", func(b *runBed) []outcome { return []outcome{b.ask("Print logs. play:cut1")} }},
	{"agents", "claude codex opencode", func(b *runBed) []outcome { return []outcome{b.ask("Delegate. play:agent10")} }},
	{"two", "claude", func(b *runBed) []outcome {
		outcomes := make([]outcome, 2)
		var wait sync.WaitGroup
		for i, prompt := range []string{"Print logs. play:read12a", "Print logs. play:read11b"} {
			line := b.command(prompt, false)
			wait.Go(func() { outcomes[i] = b.turn(line) })
		}
		wait.Wait()
		return outcomes
	}},
	{"interrupt", "claude codex", interrupted},
	{"compact", "claude", func(b *runBed) []outcome {
		return []outcome{b.ask("Print logs. play:read10a"), b.goOn("/compact"), b.goOn("Again. play:read10b")}
	}},
	{"rewind", "claude", rewound},
	{"clear", "claude", cleared},
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
		b := newRunBed(t, h, wrap, strictapi.Options{})
		b.logs(40, 28_000)
		if h.name() == "claude" {
			b.flags = []string{"--model", "claude-sonnet-4-6"}
		}
		outcomes = s.play(b)
		outputs = b.outputs()
		for i, o := range outcomes {
			t.Logf("turn %d: %d %q", i, o.Code, o.Answer)
			// Codex does not try again after 429.
			if o.Code != 0 && s.name != "interrupt" && h.name()+s.name != "codex429" {
				t.Errorf("turn %d failed: %s", i, tail(o.log))
			}
		}
		sum := b.totals()
		b.valid()
		if wrap == nil {
			return
		}
		if sum.Compactions > 0 {
			t.Errorf("the model was asked for %d compactions", sum.Compactions)
		}
		for i, r := range b.api.Records() {
			if r.Tokens > sceneBudget && r.Kind == strictapi.Main {
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
		b.await(func(r strictapi.Record) bool { return r.Step == 9 })
		time.Sleep(time.Second)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGINT) // as a terminal does: to the whole group
		return c.Wait()
	})
	return []outcome{first, b.goOn("Go on. play:read4b")}
}

// rewound goes back to the middle of a session and on from there.
func rewound(b *runBed) []outcome {
	b.Helper()
	first := b.ask("Print logs. play:read12a")
	var session, at string
	for _, line := range b.lines(".claude/projects/*/*.jsonl") {
		var record struct {
			Type, UUID, SessionID string
			Message               struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(line, &record); err != nil {
			b.Fatal(err)
		}
		if record.Type == "user" && strings.Contains(string(record.Message.Content), "_read12a_3_") {
			session, at = record.SessionID, record.UUID
		}
	}
	if at == "" {
		b.Fatal("the transcript has no result of the fourth step")
	}
	again := b.turn(b.command("Another way. play:read9b", false, "--resume", session, "--resume-session-at", at))
	return []outcome{first, again, b.turn(b.command("Go on. play:read2c", false, "--resume", session))}
}

// cleared gives one process several prompts, with /clear between them.
func cleared(b *runBed) []outcome {
	b.Helper()
	line := slices.Concat(b.wrap, []string{claudeAgent{}.program(b.bed), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}, b.flags)
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
