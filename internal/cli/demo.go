package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/settings/config"
)

func newDemo(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch it work on a bundled session",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return demo(c.Context(), p) },
	}
}

// The question of the demonstration is about a rule of the third day, which the folded view has no
// word of.
const (
	demoQuestion = "When is a webhook job moved to the dead letter table?"
	demoFact     = "dead letter"
)

// demoSteps are the commands of the demonstration, each with what it shows.
var demoSteps = []struct {
	title   string
	command []string
	without string // that the output must not have; it is not printed
}{
	{title: "Nine days of a coding session are stored, every message word for word", command: []string{"import", "session.jsonl", "--session", "demo"}},
	{title: "A window of 16,000 tokens is too small for that: the older ones become summaries", command: []string{"compact", "1", "--budget", "16000"}},
	{title: "Lost: what the model sees now has no word of a rule from the third day", command: []string{"context", "1", "--budget", "16000"}, without: demoFact},
	{title: "Found: a question gets the exact message from the record", command: []string{"ask", demoQuestion, "-c", "1", "--max-tokens", "80"}},
	{title: "Proof: every message is there, unchanged", command: []string{"verify", "1"}},
}

// demoEnv is the environment of the demonstration: its import does not fold, so that the fold of
// the next step shows all there is.
func demoEnv(name string) string {
	if name == "LCM_BACKGROUND_COMPACTION" {
		return config.BackgroundOff
	}
	return ""
}

// demo runs commands on a database of its own, whatever the settings of this machine are.
func demo(ctx context.Context, p *program) error {
	dir, err := os.MkdirTemp("", "lcm-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), sample.JSONL(), 0o600); err != nil {
		return err
	}
	for i, s := range demoSteps {
		line := "$ lcm"
		args := slices.Clone(s.command)
		for i, arg := range args {
			switch {
			case strings.Contains(arg, " "):
				line += " '" + arg + "'"
			default:
				line += " " + arg
			}
			if strings.HasSuffix(arg, ".jsonl") {
				args[i] = filepath.Join(dir, arg)
			}
		}
		if s.without != "" {
			line += " | grep -c '" + s.without + "'"
		}
		p.printf("%s\n%s\n", p.paint(bold, fmt.Sprintf("%d. %s", i+1, s.title)), p.paint(cyan, line))
		if err := demoStep(ctx, p, dir, args, s.without); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		p.printf("\n")
	}
	p.printf("%s\n%s", p.paint(bold, "Now your own sessions"), `lcm import         keep what the agents on this machine have said
lcm setup --all    connect the agents: they recall by themselves from now on
lcm ui             look at everything in a browser
`)
	return nil
}

// demoStep runs one command. Of an output that must not have a text it prints the count of the
// lines that have it.
func demoStep(ctx context.Context, p *program, dir string, args []string, without string) error {
	var out bytes.Buffer
	step := newProgram(p.in, p.out, p.err)
	if without != "" {
		step.out = &out
	}
	step.terminal, step.colour, step.colours = p.terminal, p.colour, p.colours
	step.options = config.Options{Home: dir, Getenv: demoEnv, ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
	if code := run(ctx, step, args); code != exitOK {
		return fmt.Errorf("it ended with %d", code)
	}
	if without != "" {
		n := bytes.Count(out.Bytes(), []byte(without))
		p.printf("%d\n", n)
		if n > 0 {
			return errors.New("the view has it")
		}
	}
	return nil
}
