package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// demoSteps are the commands of the demonstration, each with what it shows.
var demoSteps = []struct{ title, command string }{
	{"A bundled coding session is stored, every message word for word", "import session.jsonl --session demo"},
	{"What is known is not stored twice", "import session.jsonl --session demo"},
	{"Its older messages are folded into summaries, so that it fits a window", "compact 1 --budget 16000"},
	{"The summaries form a DAG over the messages", "show 1 --tree --depth 2"},
	{"What a model sees now: summaries, then the newest messages", "context 1 --budget 16000 --items"},
	{"Everything is still found", "grep -c 1 -n 3 --scope messages CHG-[0-9]+.filed"},
	{"Proof: hashes, their chain, and a view that leads to each message once", "verify 1"},
	{"The records come back as they arrived", "db export --raw -c 1 again.jsonl"},
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
		p.printf("%s\n%s\n", p.paint(bold, fmt.Sprintf("%d. %s", i+1, s.title)), p.paint(cyan, "$ lcm "+s.command))
		step := newProgram(p.in, p.out, p.err)
		step.terminal, step.colour, step.colours = p.terminal, p.colour, p.colours
		step.options = config.Options{Home: dir, Getenv: func(string) string { return "" }, ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
		args := strings.Fields(s.command)
		for i, arg := range args {
			if strings.HasSuffix(arg, ".jsonl") {
				args[i] = filepath.Join(dir, arg)
			}
		}
		if code := run(ctx, step, args); code != exitOK {
			return fmt.Errorf("`lcm %s` ended with %d", s.command, code)
		}
		p.printf("\n")
	}
	again, err := os.ReadFile(filepath.Join(dir, "again.jsonl"))
	if err != nil || !bytes.Equal(again, sample.JSONL()) {
		return errors.Join(errors.New("the records are not what was imported"), err)
	}
	p.printf("All of them equal the original file byte for byte: %s\n\n%s\n%s", p.paint(green, "ok"), p.paint(bold, "Next"), `lcm import FILE               keep a transcript of your own
lcm context --budget 32000    what a model would see of it
lcm --help                    everything else
`)
	return nil
}
