// Command bench measures lcm: what summaries keep, what search finds, and how
// it scales.
//
//	go run ./bench             lists the benchmarks
//	go run ./bench recall -h   explains one
//	go run ./bench scale --sizes 1000,10000 --json
//
// Each benchmark is a package in bench, on the harness there. Times
// depend on the machine and its other work; compare ratios of one run. The exit
// code is 1 if a target was missed or the run failed, and 2 if a flag is wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/lossless-context/lcm/bench/harness"
)

// A report is the outcome of a benchmark: its JSON, and a text for people. It
// may also have Checks, or Met, which says whether all targets were met.
type report interface{ Text() string }

// A benchmark declares its flags and returns the function that measures.
type benchmark struct {
	name, about string
	declare     func(*flag.FlagSet) func(context.Context, harness.Progress) (report, error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Stdout, os.Args[1:])
	switch {
	case err == nil:
		return
	case errors.Is(err, errUsage):
		os.Exit(2)
	case !errors.Is(err, errMissed):
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(1)
}

var (
	errUsage  = errors.New("wrong usage")
	errMissed = errors.New("a target was missed")
)

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) > 0 {
		for _, b := range benchmarks {
			if b.name == args[0] {
				return b.run(ctx, out, args[1:])
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: go run ./bench NAME [flags]")
	for _, b := range benchmarks {
		about, _, _ := strings.Cut(b.about, "\n")
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", b.name, about)
	}
	return errUsage
}

func (b benchmark) run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet(b.name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "%s\n\n", b.about)
		flags.PrintDefaults()
	}
	asJSON := flags.Bool("json", false, "print JSON")
	measure := b.declare(flags)
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s takes no arguments: %s\n", b.name, flags.Arg(0))
		return errUsage
	}
	r, err := measure(ctx, progress())
	if err != nil {
		return err
	}
	if err := show(out, r, *asJSON); err != nil {
		return err
	}
	if m, ok := r.(interface{ Met() bool }); ok && !m.Met() {
		return errMissed
	}
	return nil
}

func show(out io.Writer, r report, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprint(out, r.Text())
		return err
	}
	var v any = r
	if c, ok := r.(interface{ Checks() []harness.Check }); ok {
		v = map[string]any{"report": r, "checks": c.Checks()}
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// progress shows how far a benchmark has come, if standard error is a terminal.
func progress() harness.Progress {
	if !term.IsTerminal(os.Stderr.Fd()) {
		return nil
	}
	return func(done, total int64, what string) {
		if total > 0 {
			what = fmt.Sprintf("%3d%%  %s", 100*done/total, what)
		}
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s", what)
	}
}

// numbers is a flag of whole numbers separated by commas.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*n), " ", ","), "[]")
}

func (n *numbers) Set(text string) error {
	*n = nil
	for word := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(word)
		if err != nil || i < 1 {
			return errors.New("not positive whole numbers separated by commas")
		}
		*n = append(*n, i)
	}
	return nil
}
